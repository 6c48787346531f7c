package loop

import (
	"runtime"
	"sync/atomic"
	"time"

	"lockbench/lock/arch"
)

// Outcome says what the general loop does after an attempt to acquire.
type Outcome uint8

const (
	Refused  Outcome = iota // not acquired: the operation is over
	Leave                   // acquired, but the stop came first: release and leave the loop
	Admitted                // acquired: Inside, release, After
)

// general is the state of the general loop.
type general struct {
	pos    uint32
	op     Op
	probe  bool // sample latencies and log the order
	chosen bool // the current operation is sampled
	shared bool // the current hold is shared with other readers

	due    int64 // planned arrival of the next operation, in ticks
	late   int64 // how long after it the operation began; -1: it was behind already
	offset int64 // of the first one
	gpos   uint32

	// Counters since they were last read.
	tryFailed, timedOut, reads int64
}

func (g *general) init(cfg *Config) {
	if len(cfg.Ops) == 0 {
		cfg.Ops = []Op{{}}
	}
}

// Sampling switches sampling and the order log of the general loop on or off.
func (s *Section) Sampling(on bool) { s.gen.probe = on }

// OpenAt makes start, in ticks, the beginning of the schedule of planned
// arrivals.
func (s *Section) OpenAt(start int64) {
	if len(s.cfg.Gaps) > 0 {
		s.gen.due = start + s.gen.offset
	}
}

// OpenOffset delays the schedule by so many ticks, so that constant arrivals
// of several workers do not coincide.
func (s *Section) OpenOffset(ticks int64) { s.gen.offset = ticks }

func (s *Section) gap() int64 {
	g := s.cfg.Gaps[s.gen.gpos&uint32(len(s.cfg.Gaps)-1)]
	s.gen.gpos++
	return g
}

// Backlog hands out the planned arrivals at or before until that were not
// served, at most about keep of them (keep >= 1), each with the number that it
// stands for, and returns how many there were.
func (s *Section) Backlog(until int64, keep int64, each func(arrival, weight int64)) int64 {
	if len(s.cfg.Gaps) == 0 {
		return 0
	}
	due, pos, n := s.gen.due, s.gen.gpos, int64(0)
	for s.gen.due <= until {
		s.gen.due += s.gap()
		n++
	}
	after := s.gen
	s.gen.due, s.gen.gpos = due, pos
	stride := max(1, n/keep)
	for i := int64(0); i < n; i++ {
		if i%stride == 0 {
			each(s.gen.due, min(stride, n-i))
		}
		s.gen.due += s.gap()
	}
	s.gen = after
	return n
}

// Counters returns and clears what happened since the last call: tries and
// timed acquisitions that failed, read sections among the operations, and
// readings of the clock.
func (s *Section) Counters() (tryFailed, timedOut, reads, clockReads int64) {
	g := &s.gen
	tryFailed, timedOut, reads, clockReads = g.tryFailed, g.timedOut, g.reads, s.reads
	g.tryFailed, g.timedOut, g.reads, s.reads = 0, 0, 0, 0
	return tryFailed, timedOut, reads, clockReads
}

// Handle returns the chosen lock's handle, of the type whose loop runs.
func (s *Section) Handle() any { return s.cfg.Handles[s.gen.op.Lock] }

// TimedWait returns how long timed acquisitions wait.
func (s *Section) TimedWait() time.Duration { return s.cfg.TimedWait }

// Next chooses the next operation and, in an open loop, waits for its planned
// arrival. OpLeave means that the stop came before the operation began.
//
//go:noinline
func (s *Section) Next() Kind {
	g := &s.gen
	if s.stop.IsSet() || g.probe && len(s.obs) == cap(s.obs) {
		return OpLeave
	}
	g.op = s.cfg.Ops[g.pos&uint32(len(s.cfg.Ops)-1)]
	g.pos++
	g.chosen = g.probe && s.Tick()
	p := s.cfg.Protected[g.op.Lock]
	s.prot = p
	if len(s.cfg.Gaps) > 0 {
		if !s.awaitDue() {
			if g.chosen {
				s.left = 1
			}
			return OpLeave
		}
		if g.chosen {
			s.arrive(p)
			s.now.arrival = g.due
		}
		g.due += s.gap()
		return g.op.Kind
	}
	if g.chosen {
		s.arrive(p)
	}
	return g.op.Kind
}

// sleepSlack is how long before a planned arrival a worker stops sleeping and
// begins to poll: Go's timers are late by up to about this much on a busy
// machine, and the harness's own lateness would count as the lock's.
const sleepSlack = 2 * time.Millisecond

// yieldEvery is how many turns a worker polls before it lets others run, if
// every worker can have a processor. Yielding at each turn made Go park and
// wake threads all the time, and the kernel put both pollers on one processor
// for whole ticks: the 90th percentile of the null lock at 20,000 arrivals a
// second was 0.5 to 2.6 ms, without it below a microsecond (measured, 2 cores).
const yieldEvery = 1000

// awaitDue waits until the planned arrival and reports whether the stop did
// not come first. It polls, because a sleep is not exact to microseconds, and
// yields, because other workers may want the processor. How late it came after
// a wait is the harness's own doing and kept, so that nobody takes it for the
// lock's.
func (s *Section) awaitDue() bool {
	s.gen.late = -1
	for turn := 1; ; turn++ {
		wait := s.gen.due - s.Now()
		if wait <= 0 {
			if turn > 1 {
				s.gen.late = -wait
			}
			return true
		}
		if s.stop.IsSet() {
			return false
		}
		if d := time.Duration(float64(wait) * s.cfg.NSPerTick); d > sleepSlack {
			time.Sleep(min(d-sleepSlack, 10*time.Millisecond))
			continue
		}
		arch.Pause()
		if s.cfg.Crowded || turn%yieldEvery == 0 {
			runtime.Gosched()
		}
	}
}

// Attempted says what to do after an attempt to acquire that returned ok.
//
//go:noinline
func (s *Section) Attempted(ok bool) Outcome {
	g := &s.gen
	if !ok {
		s.refused()
		return Refused
	}
	if g.chosen {
		s.acquired(s.prot)
	}
	if s.stop.IsSet() {
		if g.chosen {
			s.OpenWait()
		}
		return Leave
	}
	return Admitted
}

// refused ends an operation that did not acquire. A sampled one is an arrival
// like any other; it has no acquisition latency, but a timed one that gave up
// had waited at least so long.
func (s *Section) refused() {
	g := &s.gen
	if g.op.Kind == OpTry {
		g.tryFailed++
	} else {
		g.timedOut++
	}
	if g.chosen {
		g.chosen = false
		now := s.Now()
		if s.cfg.Meets {
			atomic.AddUint32(&s.prot.want, ^uint32(0))
		}
		o := Obs{Acquire: -1, Handoff: -1, Inside: -1, Think: -1, Late: g.late, Weight: s.weight, Contended: !raceEnabled, Open: true}
		if g.op.Kind == OpTimed {
			o.Acquire = now - s.now.arrival
		}
		s.obs = append(s.obs, o)
		s.next()
	}
	s.Think()
}

// Inside does the section of the general loop: exclusion check, order log,
// work. shared says that the hold admits other readers.
//
//go:noinline
func (s *Section) Inside() (sound bool) {
	g, p := &s.gen, s.prot
	g.shared = g.op.Kind == OpRead && s.cfg.Shared
	var passes uint64
	if g.shared {
		passes = p.CountNow()
		if other := p.Owner(); other != 0 {
			s.found(int(g.op.Lock), other, false)
			return false
		}
	} else {
		if !p.Enter(s.me) {
			s.found(int(g.op.Lock), p.Owner(), false)
			return false
		}
		if g.probe && p.ring != nil {
			p.Log(s.me)
		}
	}
	n := s.section[s.sectionPos&uint32(len(s.section)-1)]
	s.sectionPos++
	s.sink = Spin(s.sink, n)
	if r, w := s.cfg.ReadLines, s.cfg.WriteLines; g.op.Kind == OpRead {
		s.touch(p, r+w, 0)
	} else if r+w > 0 {
		s.touch(p, r, w)
	}
	if g.chosen {
		s.Leaving()
	}
	if g.shared {
		// Only exclusive holders count passes: one that came and went while the
		// readers were inside has left the owner word as it was.
		if other := p.Owner(); other != 0 || p.CountNow() != passes {
			s.found(int(g.op.Lock), other, true)
			return false
		}
		g.reads++
		return true
	}
	if g.probe && p.Wanted() {
		s.stamp(p)
	}
	if !p.Exit(s.me) {
		s.found(int(g.op.Lock), p.Owner(), true)
		return false
	}
	if g.op.Kind == OpRead {
		g.reads++
	}
	return true
}

// After ends the operation, think time included, and reports whether the
// batch may go on.
//
//go:noinline
func (s *Section) After() bool {
	s.Think()
	if s.gen.chosen {
		return s.Done()
	}
	return true
}
