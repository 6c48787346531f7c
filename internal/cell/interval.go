package cell

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock/arch"
)

// phase is a stage of an interval.
type phase struct {
	length int64 // ticks; 0: ends when the fixed work is done
	active int   // workers
	warm   bool  // warm-up, not measured
	sample bool  // probing
	// settle: belongs to no figure, and goes on until need workers that were
	// not active before have begun. Under a spinning lock a worker that wakes
	// up gets a processor only when Go preempts another one, after 10 ms.
	settle bool
	need   int
}

// interval is a stretch in which the workers run without a break. With a
// duration there is one: warm-up, throughput phases, probe phases. With fixed
// work there are three, each of one phase. Its states:
//
//	gathering --last worker arrives--> running, phase 0
//	phase k   --its end passes-------> phase k+1   (all stop words raised)
//	a phase that settles goes on until its workers have begun, at most maxSettle longer
//	last phase --its end passes------> stopped     (all stop words raised)
//	any       --abort----------------> stopped
//
// The end of a phase is noticed by whichever worker finishes a batch (some
// 50 us of operations) first after it; that worker stamps the time and raises
// the stop words. If no worker finishes a batch, because the lock has
// collapsed, the controller does it when its timer fires, which Go's
// scheduler may delay by tens of milliseconds when all processors spin. The
// stamp is the instant of the stop either way, so that lateness makes a phase
// longer, not wrong.
//
// A stop word is raised for every worker at every end of a phase: each then
// leaves its batch with the operations that it completed before, and goes on
// in the next phase if it is active there. The lock's queue is not drained in
// between: a lock that collapsed in the warm-up or in a burst is measured
// collapsed, and does not get a fresh start that no program would give it.
type interval struct {
	clk     clock.Clock
	workers []*worker
	phases  []phase
	quota   int64 // fixed work: operations in all; 0: fixed time

	// Gathering.
	arrived atomic.Int32
	open    atomic.Bool
	start   int64 // ticks

	// Running.
	begun    []atomic.Int32  // workers that began in each phase
	changed  []chan struct{} // each closed when its phase ends
	cur      atomic.Int32    // phase; len(phases) = stopped
	stamps   []int64         // when each phase ended, in ticks
	uses     []usage         // at the start, and at the end of each phase
	finished atomic.Int32

	aborted atomic.Bool
	done    sync.WaitGroup
}

// maxSettle bounds how long a phase waits for workers that have not begun,
// beyond its length: eight spinning workers on two processors take 40 ms, four
// preemptions of 10 ms each.
const maxSettle = 250 * time.Millisecond

func newInterval(c *child, quota int64, phases ...phase) *interval {
	iv := &interval{
		clk: c.clk, workers: c.workers, phases: phases, quota: quota,
		stamps: make([]int64, len(phases)), uses: make([]usage, len(phases)+1),
		begun: make([]atomic.Int32, len(phases)),
	}
	for range phases {
		iv.changed = append(iv.changed, make(chan struct{}))
	}
	return iv
}

// stages returns the load's phases over a length, after a phase with before
// active workers; one with all workers if the load has none. Where the number
// of workers grows, a phase of settling comes first.
func (c *child) stages(length int64, sample bool, before int) []phase {
	n := len(c.workers)
	if len(c.spec.Load.Phases) == 0 {
		return []phase{{length: length, active: n, sample: sample}}
	}
	total := 0.0
	for _, p := range c.spec.Load.Phases {
		total += p.Share
	}
	var out []phase
	for _, p := range c.spec.Load.Phases {
		active := min(n, max(1, int(float64(n)*p.ActivePct/100+0.5)))
		if active > before {
			out = append(out, phase{length: 1, active: active, settle: true, need: active - before})
		}
		out = append(out, phase{length: max(1, int64(float64(length)*p.Share/total)), active: active, sample: sample})
		before = active
	}
	return out
}

// gather waits until all workers are there, so that they start together.
func (iv *interval) gather() {
	if int(iv.arrived.Add(1)) == len(iv.workers) {
		iv.uses[0] = readUsage()
		iv.start = iv.clk.Now()
		iv.open.Store(true)
		return
	}
	// Poll with the pause hint as long as every worker can have a processor of
	// its own, else let the others run.
	crowded := len(iv.workers) > runtime.GOMAXPROCS(0)
	for turn := 0; !iv.open.Load(); turn++ {
		if crowded || turn > 1000 {
			runtime.Gosched()
		} else {
			arch.Pause()
		}
	}
}

// stopped reports whether the interval is over.
func (iv *interval) stopped() bool { return int(iv.cur.Load()) >= len(iv.phases) }

// from returns when phase k began, in ticks.
func (iv *interval) from(k int) int64 {
	if k == 0 {
		return iv.start
	}
	return atomic.LoadInt64(&iv.stamps[k-1])
}

// left returns how many ticks the current phase has left; ok is false for a
// phase that does not end by time.
func (iv *interval) left(now int64) (ticks int64, ok bool) {
	k := int(iv.cur.Load())
	if k >= len(iv.phases) || iv.phases[k].length == 0 {
		return 0, false
	}
	from := iv.from(k)
	if k > 0 && from == 0 {
		return 0, false // the stamp is being written
	}
	return from + iv.phases[k].length - now, true
}

// check ends the current phase if its end has passed.
func (iv *interval) check(now int64) {
	k := iv.cur.Load()
	left, ok := iv.left(now)
	if !ok || left > 0 {
		return
	}
	if p := iv.phases[k]; p.settle && int(iv.begun[k].Load()) < p.need && -left < iv.clk.ToTicks(maxSettle) {
		return
	}
	iv.advance(k, now)
}

// advance ends phase k at now, once.
func (iv *interval) advance(k int32, now int64) {
	if !iv.cur.CompareAndSwap(k, k+1) {
		return
	}
	atomic.StoreInt64(&iv.stamps[k], now)
	// Before anybody is told: whoever ends the next phase writes the next one.
	iv.uses[k+1] = readUsage()
	// The phase is stored before the stop words are raised, and a worker lowers
	// its word before it reads the phase: it cannot miss both.
	for _, w := range iv.workers {
		w.stop.Set()
	}
	close(iv.changed[k])
}

// finish notes that a worker did its share of fixed work; the last one ends
// the interval.
func (iv *interval) finish(now int64) {
	if int(iv.finished.Add(1)) == len(iv.workers) {
		iv.advance(0, now)
	}
}

// abort ends the interval early.
func (iv *interval) abort() {
	iv.aborted.Store(true)
	now := iv.clk.Now()
	for !iv.stopped() {
		iv.advance(iv.cur.Load(), now)
	}
}

// share returns a worker's share of fixed work.
func (iv *interval) share(worker int) int64 {
	n := int64(len(iv.workers))
	q := iv.quota / n
	if int64(worker) < iv.quota%n {
		q++
	}
	return q
}

// stage names the current phase.
func (iv *interval) stage() string {
	k := int(iv.cur.Load())
	switch {
	case k >= len(iv.phases):
		return "drain"
	case iv.phases[k].settle:
		return "warm-up"
	case iv.phases[k].sample:
		return "probe"
	}
	return "throughput"
}

// waitPhase waits until the phase is no longer k. The controller ends phases in
// which nobody finishes a batch.
func (iv *interval) waitPhase(k int32) { <-iv.changed[k] }

// probeBegan returns when the first sampled phase after k began, 0 if none has.
func (iv *interval) probeBegan(k int) int64 {
	for j := k + 1; j < len(iv.phases) && j <= int(iv.cur.Load()); j++ {
		if iv.phases[j].sample {
			return iv.from(j)
		}
	}
	return 0
}

// sampledUntil returns when the last sampled phase from k on ended that has
// ended, 0 if none has.
func (iv *interval) sampledUntil(k int) int64 {
	end := int64(0)
	for j := k; j < len(iv.phases) && j < int(iv.cur.Load()); j++ {
		if iv.phases[j].sample {
			end = iv.from(j + 1)
		}
	}
	return end
}
