package cell

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock/arch"
)

// interval is one warm-up, throughput or probe interval. Its states:
//
//	gathering --last worker arrives--> running, phase 0
//	phase k   --its end passes-------> phase k+1   (all stop words raised)
//	last phase --its end passes------> stopped     (all stop words raised)
//	any       --abort----------------> stopped
//
// The end of a phase is noticed by whichever worker finishes a batch (some
// 50 us of operations) first after it; that worker stamps the time and raises
// the stop words. If no worker finishes a batch, because the lock has
// collapsed, the controller does it when its timer fires, which Go's
// scheduler may delay by tens of milliseconds when all processors spin. The
// stamp is the instant of the stop either way, so that lateness makes an interval
// longer, not wrong.
//
// A stop word is raised for every worker at every end of a phase: each then
// leaves its batch with the operations that it completed before, and goes on
// in the next phase if it is active there. The lock's queue is not drained
// in between, so that a collapse carries over.
type interval struct {
	clk     clock.Clock
	workers []*worker
	sample  bool // probe loop

	ends   []int64 // of each phase, in ticks after the start; empty with fixed work
	active []int   // workers active in each phase
	quota  int64   // fixed work: operations in all; 0: fixed time

	// Gathering.
	arrived atomic.Int32
	open    atomic.Bool
	start   int64 // ticks
	atStart usage

	// Running.
	cur      atomic.Int32 // phase; len(active) = stopped
	stamps   []int64      // when each phase ended, in ticks
	finished atomic.Int32
	atStop   usage

	aborted atomic.Bool
	done    sync.WaitGroup
}

// newInterval prepares an interval of the given length with the load's phases,
// or of quota operations in all.
func newInterval(c *child, length time.Duration, quota int64, sample bool) *interval {
	iv := &interval{clk: c.clk, workers: c.workers, sample: sample, quota: quota}
	n := len(c.workers)
	phases := c.spec.Load.Phases
	switch {
	case quota > 0:
		iv.active = []int{n}
	case len(phases) == 0:
		iv.active = []int{n}
		iv.ends = []int64{c.clk.ToTicks(length)}
	default:
		total, sum := 0.0, 0.0
		for _, p := range phases {
			total += p.Share
		}
		for _, p := range phases {
			sum += p.Share
			iv.ends = append(iv.ends, c.clk.ToTicks(time.Duration(float64(length)*sum/total)))
			iv.active = append(iv.active, min(n, max(1, int(float64(n)*p.ActivePct/100+0.5))))
		}
	}
	iv.stamps = make([]int64, len(iv.active))
	return iv
}

// gather waits until all workers are there, so that they start together.
func (iv *interval) gather() {
	if int(iv.arrived.Add(1)) == len(iv.workers) {
		iv.atStart = readUsage()
		iv.start = iv.clk.Now()
		iv.open.Store(true)
		return
	}
	// Poll with the pause hint as long as every worker can have a processor of its own, else
	// let the others run.
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
func (iv *interval) stopped() bool { return int(iv.cur.Load()) >= len(iv.active) }

// check ends the current phase if its end has passed.
func (iv *interval) check(now int64) {
	if iv.quota > 0 {
		return
	}
	if k := iv.cur.Load(); int(k) < len(iv.ends) && now-iv.start >= iv.ends[k] {
		iv.advance(k, now)
	}
}

// advance ends phase k at now, once.
func (iv *interval) advance(k int32, now int64) {
	if !iv.cur.CompareAndSwap(k, k+1) {
		return
	}
	iv.stamps[k] = now
	// The phase is stored before the stop words are raised, and a worker lowers
	// its word before it reads the phase: it cannot miss both.
	for _, w := range iv.workers {
		w.stop.Set()
	}
	if int(k)+1 == len(iv.active) {
		iv.atStop = readUsage()
	}
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

// elapsed returns the length of the interval in ticks, from the start to the
// stop.
func (iv *interval) elapsed() int64 { return iv.stopTicks() - iv.start }

func (iv *interval) stopTicks() int64 { return iv.stamps[len(iv.stamps)-1] }

// share returns a worker's share of fixed work.
func (iv *interval) share(worker int) int64 {
	n := int64(len(iv.workers))
	q := iv.quota / n
	if int64(worker) < iv.quota%n {
		q++
	}
	return q
}

// waitPhase sleeps until the phase is no longer k.
func (iv *interval) waitPhase(k int32) {
	for iv.cur.Load() == k {
		time.Sleep(200 * time.Microsecond)
		// Somebody has to notice the end of a phase in which nobody finishes a batch.
		iv.check(iv.clk.Now())
	}
}
