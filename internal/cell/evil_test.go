package cell

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/lock"
	"lockbench/lock/loop"
	"lockbench/results"
	"lockbench/workloads"
)

// Locks that are wrong in ways that a careless harness overlooks.

// lateRW excludes writers from each other and readers from a writer that is
// inside, but a writer never waits for readers.
type lateRW struct{ mu *sync.Mutex }

func (h *lateRW) Lock()    { h.mu.Lock() }
func (h *lateRW) Unlock()  { h.mu.Unlock() }
func (h *lateRW) RLock()   { h.mu.Lock(); h.mu.Unlock() } //nolint:staticcheck // that is the bug
func (h *lateRW) RUnlock() {}

// noRW does nothing at all.
type noRW struct{}

func (noRW) Lock()    { runtime.Gosched() }
func (noRW) Unlock()  {}
func (noRW) RLock()   { runtime.Gosched() }
func (noRW) RUnlock() {}

// neverTry refuses although the lock is free.
type neverTry struct{ muHandle }

func (*neverTry) TryLock() bool { return false }

// favour gives the lock to worker 1 only when worker 0 has not wanted it for a
// while.
type favour struct {
	mu     *sync.Mutex
	wanted *atomic.Int64 // when worker 0 last did, in ns
	id     int
}

func (h *favour) Lock() {
	if h.id == 0 {
		h.wanted.Store(loop.Monotonic())
		h.mu.Lock()
		return
	}
	for loop.Monotonic()-h.wanted.Load() < int64(20*time.Millisecond) {
		time.Sleep(time.Millisecond)
	}
	h.mu.Lock()
}

func (h *favour) Unlock() { h.mu.Unlock() }

func readMostly(workers int) *Spec {
	spec := baseSpec("evil", workers)
	spec.Load.ReadPct, spec.Load.Section.A = 90, 300
	spec.DurationNS = 60e6
	return spec
}

func TestReadersSeeWritersThatCameAndWent(t *testing.T) {
	if raceOn {
		t.Skip("-race builds do not look from outside, and report the race itself")
	}
	mu := new(sync.Mutex)
	for name, h := range map[string]func() lock.Handle{
		"writers never wait for readers": func() lock.Handle { return &lateRW{mu} },
		"no lock":                        func() lock.Handle { return noRW{} },
	} {
		s := sampleOf(t, readMostly(3), info("evil", false, h))
		if s.Outcome != results.OutcomeViolation || s.Violations == 0 {
			t.Errorf("%s: outcome %s (%s)", name, s.Outcome, s.Reason)
		}
		if s.ReadOps > s.Ops {
			t.Errorf("%s: %d reads of %d operations", name, s.ReadOps, s.Ops)
		}
	}
	rw := new(sync.RWMutex)
	s := sampleOf(t, readMostly(3), info("evil", false, func() lock.Handle { return rightRW{rw} }))
	if s.Outcome != results.OutcomeOK || s.RW != "shared" || s.ReadOps == 0 {
		t.Errorf("sync.RWMutex: outcome %s (%s), rw %q, %d reads", s.Outcome, s.Reason, s.RW, s.ReadOps)
	}
	if s.ContendedPct != nil || s.Handoff != nil {
		t.Error("contention of shared readers, which leave no trace, is reported")
	}
}

type rightRW struct{ *sync.RWMutex }

func TestRefusalOfAFreeLockIsAViolation(t *testing.T) {
	spec := baseSpec("evil", 1)
	spec.Load.TryPct = 50
	s := sampleOf(t, spec, lock.Info{Name: "evil", Family: "test", Source: "test", New: func(int) (lock.Lock, error) {
		mu := new(sync.Mutex)
		return makeLock(func(*lock.Worker) lock.Handle { return &neverTry{muHandle{mu}} }), nil
	}})
	if s.Outcome != results.OutcomeViolation || !strings.Contains(s.Reason, "free lock") {
		t.Errorf("outcome %s (%s)", s.Outcome, s.Reason)
	}
}

// TestStarvedWorkerIsNotCensored: a worker that waits from before the probe to
// its end has no sampled arrival; its wait counts all the same.
func TestStarvedWorkerIsNotCensored(t *testing.T) {
	spec := baseSpec("evil", 2)
	spec.DurationNS, spec.ProbeNS, spec.WarmupNS = 30e6, 30e6, 5e6
	l := lock.Info{Name: "evil", Family: "test", Source: "test", New: func(int) (lock.Lock, error) {
		mu, wanted := new(sync.Mutex), new(atomic.Int64)
		return makeLock(func(w *lock.Worker) lock.Handle { return &favour{mu, wanted, w.ID} }), nil
	}}
	s := sampleOf(t, spec, l)
	if s.Outcome != results.OutcomeOK || s.Acquire == nil {
		t.Fatalf("outcome %s (%s)", s.Outcome, s.Reason)
	}
	// Worker 1 starves from worker 0's first operation on.
	if s.PerWorkerOps[1] > s.PerWorkerOps[0]/100 {
		t.Skipf("nobody starved: %v", s.PerWorkerOps)
	}
	if s.Acquire.Max < s.ProbeElapsedNS*8/10 {
		t.Errorf("worker 1 did %d operations and waited through a probe of %d ns, but the longest wait is %d", s.PerWorkerOps[1], s.ProbeElapsedNS, s.Acquire.Max)
	}
}

// TestRefusedArrivalsCount: sampling takes refused and successful operations
// alike, whatever the pattern.
func TestRefusedArrivalsCount(t *testing.T) {
	p := loop.NewProtected(0, false)
	s := loop.New(loop.Config{Protected: []*loop.Protected{p}, Handles: []any{nil}, Every: 16, NSPerTick: 1,
		Ops: []loop.Op{{Kind: loop.OpTry}}, Jitter: []int32{-3, 2, 5, -4}}, new(loop.Stop))
	s.Sampling(true)
	var after, other, refused int64
	const rounds = 30_000
	take := func(to *int64) {
		for _, o := range s.Take() {
			*to += int64(o.Weight)
		}
	}
	for range rounds {
		for range 8 {
			s.Next()
			s.Attempted(false)
			take(&refused)
		}
		for _, to := range []*int64{&after, &other} {
			s.Next()
			s.Attempted(true)
			s.Inside()
			s.After()
			take(to)
		}
	}
	for name, x := range map[string]struct{ got, want int64 }{
		"refused": {refused, 8 * rounds}, "success after a refusal": {after, rounds}, "success after a success": {other, rounds},
	} {
		if r := float64(x.got) / float64(x.want); r < 0.9 || r > 1.1 {
			t.Errorf("%s: samples stand for %d of %d", name, x.got, x.want)
		}
	}
}

// TestBurstsHaveTheirWorkers: in a phase all its workers take part, or the
// record says that some did not.
func TestBurstsHaveTheirWorkers(t *testing.T) {
	spec := baseSpec("mu", 6)
	spec.DurationNS = 60e6
	spec.Load.Section.A, spec.Load.Think.A = 100, 300
	spec.Load.Think.Kind = "fixed"
	spec.Load.Phases = []workloads.Phase{{ActivePct: 17, Share: 1}, {ActivePct: 100, Share: 1}, {ActivePct: 17, Share: 1}}
	s := sampleOf(t, spec, mutexInfo())
	if s.Outcome != results.OutcomeOK || len(s.Phases) != 3 {
		t.Fatalf("outcome %s (%s), phases %+v", s.Outcome, s.Reason, s.Phases)
	}
	idle := slices.Contains(s.PerWorkerOps[1:], 0)
	if idle && !hasFlag(s, results.FlagIdle) {
		t.Errorf("operations %v, flags %v", s.PerWorkerOps, s.Flags)
	}
	if s.Fairness.Jain == nil || s.Fairness.LWSSMedian != nil {
		t.Errorf("fairness %+v: want the burst's counts and no order", s.Fairness)
	}
}

func TestFixedWorkComparesRates(t *testing.T) {
	spec := baseSpec("mu", 2)
	spec.Ops, spec.DurationNS, spec.ProbeNS = 4000, 0, 0
	hog := workloads.Lengths{Kind: "fixed", A: 20000}
	spec.Load.Hog, spec.Load.Think = &hog, workloads.Lengths{Kind: "fixed", A: 1}
	spec.Load.Locks, spec.Load.Zipf = 64, 0 // hardly ever the same lock
	s := sampleOf(t, spec, mutexInfo())
	if s.Fairness.Jain == nil || *s.Fairness.Jain > 0.99 {
		t.Errorf("a worker with sections a thousand times longer is as fast as the other: %v, %v", s.Fairness.Jain, s.PerWorkerNS)
	}
}
