package loop

import (
	"sync/atomic"
	"time"

	"lockbench/lock/arch"
)

// Stop is a worker's stop word, alone on its lines: read by its worker once
// an operation, written when an interval or a phase ends.
type Stop struct {
	_    [cacheLine - 4]byte
	Word uint32 // 1 = leave; exported for the plain loop, see Protected
	_    [cacheLine]byte
}

// Set raises the stop word.
func (s *Stop) Set() { atomic.StoreUint32(&s.Word, 1) }

// Clear lowers the stop word.
func (s *Stop) Clear() { atomic.StoreUint32(&s.Word, 0) }

// IsSet reports whether the stop word is raised.
func (s *Stop) IsSet() bool { return atomic.LoadUint32(&s.Word) != 0 }

// Config is what one worker's section does. All lengths are in work units.
// Tables are walked in a circle; each has a power-of-two length >= 1, which
// stands for a distribution: drawing from a table costs one load, drawing
// from a generator several nanoseconds.
type Config struct {
	Worker  int // 0-based
	Workers int // of the cell; 0 counts as 1
	Section []uint32
	Think   []uint32
	// ReadLines and WriteLines are the 64-byte lines of the lock's data that a
	// section reads and writes; >= 0.
	ReadLines, WriteLines int

	// For the general loop.
	Ops       []Op          // what to do next; empty: Lock of lock 0
	Handles   []any         // one a lock, of the type whose loop runs
	Protected []*Protected  // one a lock
	Shared    bool          // RLock really is shared: the handle has it
	TimedWait time.Duration // of timed acquisitions
	Gaps      []int64       // open loop: ticks between planned arrivals; empty: closed loop

	Meets     bool    // others use the same locks: handoffs are timed
	Crowded   bool    // more workers than processors: pollers yield at each turn
	Ticks     bool    // stamps are arch.Ticks; else the monotonic clock
	NSPerTick float64 // > 0; 1 for the monotonic clock

	// Every samples one operation in so many, >= 1, once the worker has done
	// enough of them; see Section.Tick.
	Every int
	// Jitter varies the sampling stride, so that it cannot beat with a period
	// of the workload; a power-of-two length, values -Every/2 to Every/2.
	Jitter []int32
}

// Op is one operation of the general loop.
type Op struct {
	Lock uint16
	Kind Kind
}

// Kind of an operation.
type Kind uint8

const (
	OpLock  Kind = iota // exclusive, waits
	OpRead              // for reading, waits
	OpTry               // exclusive, does not wait
	OpTimed             // exclusive, waits for Config.TimedWait
	OpLeave             // none: the worker is to leave the loop
)

// Section is one worker's side of the measured loops. It is used by that
// worker alone; the cell reads it between intervals.
type Section struct {
	_    [cacheLine]byte
	stop *Stop
	prot *Protected
	me   uint32 // worker + 1
	busy bool   // work inside
	idle bool   // think time outside
	// Sampling: operations until the next sampled one.
	left int32

	sink       uint64 // keeps the arithmetic alive
	section    []uint32
	think      []uint32
	sectionPos uint32
	thinkPos   uint32

	cold
	_ [cacheLine]byte
}

// cold is the part of a Section that the plain loop does not touch.
type cold struct {
	cfg Config

	// Sampling.
	now     sampling
	obs     []Obs
	weight  int32 // of the next sample: the stride it stands for
	sampled int64 // operations sampled since Reset
	jpos    uint32

	// General loop.
	gen general

	finding   Finding
	openWaits []Obs // waits that the stop cut short

	reads int64 // readings of the clock
}

// Finding is a failed exclusion check.
type Finding struct {
	Count  int64  // how many; 0 = none
	Other  uint32 // of the first: worker + 1 found inside, 0 = the section had been left under the worker's feet
	AtExit bool   // of the first: found on exit, not on entry
	Lock   int    // of the first: which lock of the cell
}

// New returns a worker's section. stop is the worker's own.
func New(cfg Config, stop *Stop) *Section {
	s := &Section{stop: stop, prot: cfg.Protected[0], me: uint32(cfg.Worker) + 1}
	s.cfg = cfg
	s.section, s.think = orZero(cfg.Section), orZero(cfg.Think)
	s.idle = anyNonZero(cfg.Think)
	s.busy = s.hasWork()
	s.obs = make([]Obs, 0, min(obsCap, max(obsLeast, obsOfAll/max(1, cfg.Workers))))
	s.gen.init(&s.cfg)
	s.gen.late = -1
	s.Reset()
	return s
}

func orZero(t []uint32) []uint32 {
	if len(t) == 0 {
		return []uint32{0}
	}
	return t
}

func anyNonZero(t []uint32) bool {
	for _, v := range t {
		if v != 0 {
			return true
		}
	}
	return false
}

// wideUnits is the section of a widened warm-up, some 80 ns.
const wideUnits = 64

// Widen gives empty sections some work, for warm-ups, which are not measured.
// In an empty section the check on exit follows the store on entry within a
// nanosecond and is answered from the processor's store buffer; a lock that
// rarely admits two would rarely be seen.
func (s *Section) Widen(on bool) {
	s.section, s.busy = orZero(s.cfg.Section), s.hasWork()
	if on && !s.busy {
		s.section, s.busy = []uint32{wideUnits}, true
	}
}

func (s *Section) hasWork() bool {
	return anyNonZero(s.cfg.Section) || s.cfg.ReadLines+s.cfg.WriteLines > 0
}

// Hot returns what the loops keep in registers.
func (s *Section) Hot() (*Stop, *Protected, uint32) { return s.stop, s.prot, s.me }

// Bare reports that there is neither work inside nor think time outside, so
// that the loop's short form can run.
func (s *Section) Bare() bool { return !s.busy && !s.idle }

// Work does the section's work.
func (s *Section) Work() {
	if s.busy {
		s.work()
	}
}

// Think does the work between two operations.
func (s *Section) Think() {
	if s.idle {
		s.doThink()
	}
}

//go:noinline
func (s *Section) work() {
	n := s.section[s.sectionPos&uint32(len(s.section)-1)]
	s.sectionPos++
	s.sink = Spin(s.sink, n)
	if s.cfg.ReadLines+s.cfg.WriteLines > 0 {
		s.touch(s.prot, s.cfg.ReadLines, s.cfg.WriteLines)
	}
}

//go:noinline
func (s *Section) doThink() {
	n := s.think[s.thinkPos&uint32(len(s.think)-1)]
	s.thinkPos++
	s.sink = Spin(s.sink, n)
}

// touch reads the first r data lines of p and writes the w after them.
func (s *Section) touch(p *Protected, r, w int) {
	x := s.sink
	for i := 0; i < r; i++ {
		x += p.lines[i*lineWords]
	}
	for i := r; i < r+w; i++ {
		p.lines[i*lineWords] = x
	}
	s.sink = x
}

// Spin is the work unit, n times: one step of a linear congruential
// generator (Knuth's MMIX constants; TAOCP vol. 2, 3.3.4). Each step needs the
// last one's result, a multiplication and an addition, so that the time is
// latency and does not depend on what else the processor could overlap. It is
// one function, never inlined, so that all locks run the same instructions at
// the same address.
//
//go:noinline
func Spin(x uint64, n uint32) uint64 {
	for ; n > 0; n-- {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// FoundEnter notes that other (worker + 1) was in the section on entry. It
// returns done, the operations of the batch so far: a loop that passes its
// counter through need not keep it in memory for the sake of this call.
//
//go:noinline
func (s *Section) FoundEnter(other uint32, done int) int {
	s.found(0, other, false)
	return done
}

// FoundExit notes that the section was other's on exit (0: nobody's).
//
//go:noinline
func (s *Section) FoundExit(other uint32, done int) int {
	s.found(0, other, true)
	return done
}

func (s *Section) found(lock int, other uint32, atExit bool) {
	if s.finding.Count == 0 {
		s.finding.Other, s.finding.AtExit, s.finding.Lock = other, atExit, lock
	}
	s.finding.Count++
	if s.gen.chosen { // the general loop was sampling this operation
		s.gen.chosen = false
		s.left = 1
	}
}

// Found returns the failed exclusion checks so far.
func (s *Section) Found() Finding { return s.finding }

// Now reads the cell's clock, in its ticks, and counts the reading.
//
//go:noinline
func (s *Section) Now() int64 {
	s.reads++
	if s.cfg.Ticks {
		return arch.Ticks()
	}
	return Monotonic()
}

var epoch = time.Now()

// Monotonic returns nanoseconds since the process started, on Go's monotonic
// clock: the clock of cells whose processor counter cannot be trusted.
func Monotonic() int64 { return int64(time.Since(epoch)) }
