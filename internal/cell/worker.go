package cell

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/lock"
	"lockbench/lock/loop"
)

// Batches are sized to last about targetBatch: long enough that the one clock
// reading and the one interface call a batch vanish (25 ns in 50,000), short
// enough that a stop is noticed in time.
const (
	targetBatch = 50 * time.Microsecond
	maxBatch    = 1 << 14
)

// worker is one goroutine of a cell.
type worker struct {
	id    int
	c     *child
	stop  *loop.Stop
	sec   *loop.Section
	batch lock.Batcher
	pin   int // processor, or -1
	bound bool

	size    int // of the next batch
	target  int64
	longest int64 // ticks that one operation may take without waiting

	// Of the current interval.
	phases []phaseCount
	first  int64 // ticks when it began to work
	left   int64 // ticks when it had left the loop

	progress atomic.Int64 // batches and operations so far, for the hang guard
	_        [lock.CacheLine]byte
}

// phaseCount is what a worker did in a phase.
type phaseCount struct {
	ops, tryFailed, timedOut, reads int64
	clockReads                      int64
}

func newWorker(c *child, id int) *worker {
	return &worker{id: id, c: c, stop: new(loop.Stop), pin: -1, size: 1, target: c.clk.ToTicks(targetBatch)}
}

// equip gives the worker its section; handles are its own, one a lock.
func (w *worker) equip(handles []lock.Handle, prot []*loop.Protected, rng *rand.Rand) {
	spec := w.c.spec
	t := spec.Load.Tables(w.id+spec.Client*spec.Workers, spec.Workers*spec.Clients, spec.Seed)
	hs := make([]any, len(handles))
	for i, h := range handles {
		b, ok := h.(lock.Batcher)
		if !ok || spec.Dispatch == DispatchInterface {
			b = box(h)
		}
		hs[i] = b
		if i == 0 {
			w.batch = b
		}
	}
	_, shared := handles[0].(lock.RWHandle)
	cfg := loop.Config{
		Worker: w.id, Workers: spec.Workers, Section: t.Section, Think: t.Think,
		ReadLines: spec.Load.ReadLines, WriteLines: spec.Load.WriteLines,
		Ops: t.Ops, Handles: hs, Protected: prot, Shared: shared,
		TimedWait: time.Duration(spec.Load.TimedWaitNS),
		Meets:     spec.Workers > 1 && !w.c.info.Control,
		Crowded:   spec.Workers > spec.Procs,
		Ticks:     w.c.clk.Ticks(), NSPerTick: w.c.clk.NSPerTick(),
		Every: spec.Every, Jitter: jitter(spec.Every, rng),
	}
	// A unit may take twice as long as calibrated, on a slower processor.
	units := float64(slices.Max(t.Section)) + float64(slices.Max(t.Think))
	w.longest = w.c.clk.ToTicks(time.Duration(2*units*spec.UnitNS) + 100*time.Microsecond)
	for _, ns := range t.GapsNS {
		cfg.Gaps = append(cfg.Gaps, w.c.clk.ToTicks(time.Duration(ns)))
	}
	w.sec = loop.New(cfg, w.stop)
	w.sec.OpenOffset(w.c.clk.ToTicks(time.Duration(t.OffsetNS)))
}

// jitter returns how much sampling strides vary: up to half a stride.
func jitter(every int, rng *rand.Rand) []int32 {
	if every < 3 {
		return nil
	}
	t := make([]int32, 64)
	for i := range t {
		t[i] = int32(rng.IntN(every+1) - every/2)
	}
	return t
}

// main runs the intervals that it is sent.
func (w *worker) main(intervals <-chan *interval) {
	if w.bound {
		runtime.LockOSThread()
		if w.pin >= 0 {
			if err := pinThread(w.pin); err != nil {
				w.c.fail(err)
			}
		}
	}
	for iv := range intervals {
		w.run(iv)
		iv.done.Done()
	}
}

// run takes part in one interval.
func (w *worker) run(iv *interval) {
	w.phases = make([]phaseCount, len(iv.phases))
	w.sec.Reset()
	w.stop.Clear()
	w.progress.Add(1)
	iv.gather()
	w.first = w.c.clk.Now()
	w.sec.OpenAt(iv.start)
	quota := iv.share(w.id)
	now, sampling, seen := w.first, false, int32(-1)
	for {
		// Lower the word, then read the phase: see interval.advance.
		w.stop.Clear()
		k := iv.cur.Load()
		if int(k) >= len(iv.phases) {
			break
		}
		p, n := iv.phases[k], w.size
		if w.id >= p.active {
			iv.waitPhase(k)
			now = w.sec.Now()
			continue
		}
		if k != seen {
			seen = k
			if w.id >= p.active-p.need {
				iv.begun[k].Add(1)
			}
		}
		if p.sample && !sampling {
			sampling = true
			w.sec.Reset()
		}
		w.sec.Widen(p.warm && !w.c.info.Control)
		count := &w.phases[k]
		if iv.quota > 0 {
			if n = int(min(int64(n), quota-count.ops)); n == 0 {
				break
			}
		}
		before := now
		done := w.do(p.sample, n)
		now = w.sec.Now()
		count.ops += int64(done)
		refused := w.tally(count)
		w.progress.Add(int64(done) + 1)
		if p.sample {
			w.collect()
			w.closeWaits(iv, int(k))
		} else if w.c.spec.Load.Arrivals == "" {
			w.sinceBefore(iv, int(k), now)
		}
		w.resize(n, done+refused, now-before)
		if iv.quota > 0 && count.ops == quota {
			w.left = now
			iv.finish(now)
			return
		}
		iv.check(now)
	}
	w.left = w.c.clk.Now()
}

// tally moves the section's counters into a phase's and returns how many
// operations of the batch were refused.
func (w *worker) tally(c *phaseCount) (refused int) {
	tryFailed, timedOut, reads, clockReads := w.sec.Counters()
	c.tryFailed += tryFailed
	c.timedOut += timedOut
	c.reads += reads
	c.clockReads += clockReads
	return int(tryFailed + timedOut)
}

// do runs one batch.
func (w *worker) do(sample bool, n int) int {
	switch {
	case w.c.general:
		w.sec.Sampling(sample)
		return w.batch.BatchGeneral(w.sec, n)
	case sample:
		return w.batch.BatchProbe(w.sec, n)
	}
	return w.batch.BatchPlain(w.sec, n)
}

// resize sizes the next batch by how long the last one took. A batch that was
// cut short says nothing.
func (w *worker) resize(n, attempts int, ticks int64) {
	if attempts < n {
		return
	}
	switch {
	case ticks < w.target/2:
		w.size = min(maxBatch, w.size*2)
	case ticks > w.target*2:
		w.size = max(1, w.size/2)
	}
}

// closeWaits records the waits that the end of phase k cut short, with the
// length that they had by then, or, if the worker was still waiting in later
// phases of the probe, by the end of the last of these.
func (w *worker) closeWaits(iv *interval, k int) {
	open := w.sec.OpenWaits()
	end := iv.sampledUntil(k)
	kept := open[:0]
	for _, o := range open {
		arrival := o.Acquire
		if end == 0 {
			// The stop word was late, and was for the phase before: nothing has
			// ended, and the wait was over just now.
			o.Acquire = w.c.clk.Now() - arrival
		} else if o.Acquire = end - arrival; o.Acquire <= 0 {
			continue // it came after the end
		}
		kept = append(kept, o)
	}
	if len(kept) > 0 {
		w.c.hists.record(w.id, w.c.clk, kept)
	}
}

// sinceBefore is for a worker that was in a batch of phase k, in which nothing
// is sampled, when the probe began, and comes out of it only now. It records
// what the worker waited since then. Section and think time of the operation
// are taken off, so that the rest is waiting: unless the worker was not running
// at all. With more workers than processors that is what most of them do, and
// cannot be told from waiting; they are counted instead.
func (w *worker) sinceBefore(iv *interval, k int, now int64) {
	begin := iv.probeBegan(k)
	if begin == 0 {
		return
	}
	if end := iv.sampledUntil(k); end != 0 && end < now {
		now = end
	}
	wait := now - begin - w.longest
	switch {
	case wait <= 0:
	case w.c.spec.Workers > w.c.spec.Procs || w.c.info.Control:
		w.c.unsampled.Add(1)
	default:
		w.c.hists.record(w.id, w.c.clk, []loop.Obs{{Acquire: wait, Handoff: -1, Inside: -1, Think: -1, Late: -1, Weight: 1, Contended: true, Open: true}})
	}
}

// collect moves the samples of a batch into the cell's histograms.
func (w *worker) collect() {
	obs := w.sec.Take()
	if len(obs) == 0 {
		return
	}
	w.c.hists.record(w.id, w.c.clk, obs)
}
