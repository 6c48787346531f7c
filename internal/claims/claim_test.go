package claims

import (
	"sync"
	"testing"

	"lockbench/internal/clock"
)

// audit fails the test if what is wrong is not as wanted.
func audit(t *testing.T, a *Arena, want Audit) {
	t.Helper()
	if got := a.Audit(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// pass is a stay in a section of nobody else.
func pass(a *Arena, worker, key int) {
	e := a.Enter(worker, key, 0, false)
	a.Exit(worker, key, e, 0)
	a.Free(key)
}

func TestEnterAndExit(t *testing.T) {
	a, _ := create(t, 2, 3, 0)
	before := clock.Shared()
	e := a.Enter(1, 0, 0, false)
	if e.Overlap != -1 || e.Releaser != -1 || e.Released != 0 || e.Regressed || e.At < before {
		t.Errorf("the first: got %+v", e)
	}
	if !a.Busy(0) || a.Busy(1) {
		t.Error("key 0 is claimed, and key 1 is not")
	}
	a.SetReleaseTrips(0, 3)
	at := a.Exit(1, 0, e, 0)
	if !a.Busy(0) {
		t.Error("the release has not returned yet")
	}
	next := a.Enter(2, 0, 0, false) // it may be granted before
	a.Free(0)
	if next.Overlap != -1 || next.Releaser != 1 || next.Released != at || next.ReleaseTrips != 3 || next.At < at || at < e.At {
		t.Errorf("the second: got %+v, and the first left at %d", next, at)
	}
	a.Exit(2, 0, next, 0)
	a.Free(0)
	if a.Busy(0) {
		t.Error("nobody has it")
	}
	audit(t, a, Audit{})
}

// Two claims at once are the lock's fault if the holder's lease was valid when the second
// began, and the holder's if not.
func TestOverlapOrStale(t *testing.T) {
	for _, x := range []struct {
		name string
		over func(before, after int64) int64 // of the second's Enter
		want Audit
	}{
		{"no end", func(int64, int64) int64 { return 0 }, Audit{Overlaps: 1, LostUpdates: 1}},
		{"over after the second came", func(_, after int64) int64 { return after + 1 }, Audit{Overlaps: 1, LostUpdates: 1}},
		{"over before", func(before, _ int64) int64 { return before }, Audit{Stale: 1}},
		{"lost, nobody knows since when", func(int64, int64) int64 { return 1 }, Audit{Stale: 1}},
	} {
		a, _ := create(t, 1, 2, 0)
		first := a.Enter(0, 0, 0, false)
		before := clock.Shared()
		second := a.Enter(1, 0, 0, false)
		after := clock.Shared()
		if first.Overlap != -1 || second.Overlap != 0 {
			t.Errorf("%s: overlaps with %d and %d, want none and 0", x.name, first.Overlap, second.Overlap)
		}
		if got := a.Settled(); got != (Audit{}) {
			t.Errorf("%s: nothing is decided yet: got %+v", x.name, got)
		}
		a.Exit(0, 0, first, x.over(before, after))
		if got := a.Settled(); got.Overlaps != x.want.Overlaps || got.Stale != x.want.Stale {
			t.Errorf("%s: settled %+v, want %+v", x.name, got, x.want)
		}
		a.Exit(1, 0, second, 0)
		// Both read the same counter, and one update is lost; a stale holder's damage is his own.
		t.Run(x.name, func(t *testing.T) { audit(t, a, x.want) })
	}
}

// A holder that does not leave any more has not said that its lease was over.
func TestContestedForEver(t *testing.T) {
	a, _ := create(t, 1, 3, 0)
	a.Enter(0, 0, 0, false)
	a.Exit(1, 0, a.Enter(1, 0, 0, false), 1) // its own lease says nothing about the first
	a.Exit(2, 0, a.Enter(2, 0, 0, false), 0)
	if got := a.Settled(); got.Violations() != 0 {
		t.Errorf("settled: got %+v", got)
	}
	audit(t, a, Audit{Overlaps: 2})
}

// Several that meet one holder count each, and the next holder is not blamed.
func TestSeveralMeetOne(t *testing.T) {
	a, _ := create(t, 1, 4, 0)
	first := a.Enter(0, 0, 0, false)
	var met []Entry
	for w := 1; w < 4; w++ {
		met = append(met, a.Enter(w, 0, 0, false))
	}
	a.Exit(0, 0, first, 1)
	for i, e := range met {
		a.Exit(i+1, 0, e, 0)
	}
	pass(a, 1, 0)
	audit(t, a, Audit{Stale: 3})
	met = nil
	first = a.Enter(0, 0, 0, false)
	met = append(met, a.Enter(1, 0, 0, false))
	a.Exit(0, 0, first, 0)
	a.Exit(1, 0, met[0], 0)
	audit(t, a, Audit{Stale: 3, Overlaps: 1})
}

// An update of the plain counter that is lost is found, though no claims met.
func TestLostUpdate(t *testing.T) {
	a, _ := create(t, 2, 2, 0)
	stale := a.Enter(0, 0, 0, false)
	a.Exit(0, 0, stale, 0)
	pass(a, 1, 0)
	pass(a, 1, 0)
	a.Exit(0, 0, stale, 0) // writes what it had read
	pass(a, 1, 1)
	audit(t, a, Audit{LostUpdates: 3})
}

func TestTokens(t *testing.T) {
	a, _ := create(t, 2, 1, 0)
	for i, x := range []struct {
		key   int
		token uint64
		has   bool
		want  bool // regressed
	}{
		{0, 0, true, false}, // the first may be 0
		{0, 0, true, true},
		{0, 1, true, false},
		{0, 7, true, false},
		{0, 7, true, true},
		{0, 3, true, true},
		{0, 0, false, false}, // has none
		{0, 8, true, false},
		{1, 2, true, false}, // each key has its own
		{1, 1, true, true},
		{0, 9, true, false},
		{1, 1 << 63, true, false},
		{1, 5, true, true},
	} {
		e := a.Enter(0, x.key, x.token, x.has)
		if e.Regressed != x.want {
			t.Errorf("%d: token %d of key %d: regressed %v, want %v", i, x.token, x.key, e.Regressed, x.want)
		}
		a.Exit(0, x.key, e, 0)
	}
	audit(t, a, Audit{Regressions: 5})
}

func TestRing(t *testing.T) {
	a, _ := create(t, 3, 2, 0)
	if got := a.Ring(1); len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
	// A transfer has two claims, which are given up in any order.
	x, y := a.Enter(0, 1, 11, true), a.Enter(0, 2, 22, true)
	at := a.Exit(0, 1, x, 0)
	got := a.Ring(0)
	if len(got) != 2 || got[0] != (Claim{1, 11, x.At, at}) || got[1] != (Claim{2, 22, y.At, 0}) {
		t.Errorf("got %+v", got)
	}
	at = a.Exit(0, 2, y, 0)
	if got := a.Ring(0); got[1] != (Claim{2, 22, y.At, at}) {
		t.Errorf("got %+v", got)
	}
	for i := range 2 * RingSize {
		a.Exit(0, 0, a.Enter(0, 0, uint64(i+1), true), 0)
	}
	got = a.Ring(0)
	if len(got) != RingSize || got[0].Token != RingSize+1 || got[RingSize-1].Token != 2*RingSize {
		t.Errorf("got %d claims, from %d to %d", len(got), got[0].Token, got[len(got)-1].Token)
	}
	if got := a.Ring(1); len(got) != 0 {
		t.Errorf("another worker's ring: got %+v", got)
	}
}

func TestWrittenAndBalances(t *testing.T) {
	a, _ := create(t, 3, 1, 0)
	a.Acknowledged(0, 5)
	a.Acknowledged(0, -2)
	a.Unknown(0, 4)
	a.Unknown(0, -3)
	a.Acknowledged(1, 1)
	for key, want := range [][2]int64{{3, 7}, {1, 0}, {0, 0}} {
		if acked, unknown := a.Written(key); acked != want[0] || unknown != want[1] {
			t.Errorf("key %d: got %d and %d, want %v", key, acked, unknown, want)
		}
	}
	a.Move(0, 1, 70)
	a.Move(1, 2, Initial+100)
	audit(t, a, Audit{})
	a.keys[1].balance += 9 // what a lost update does
	audit(t, a, Audit{LostUpdates: 9})
}

// Goroutines with a mutex: no violation, also for the race detector, whose business the
// plain words are as well.
func TestMutex(t *testing.T) {
	const workers, rounds = 4, 20000
	a, _ := create(t, 2, workers, 0)
	var mu sync.Mutex
	var wg sync.WaitGroup
	token := uint64(0)
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				mu.Lock()
				e := a.Enter(w, 0, token, true)
				token++
				a.Move(i%2, 1-i%2, int64(i))
				a.Exit(w, 0, e, 0)
				mu.Unlock()
				a.Free(0)
			}
		})
	}
	wg.Wait()
	audit(t, a, Audit{})
	if n := a.keys[0].sections.Load(); n != workers*rounds || a.Busy(0) {
		t.Errorf("%d sections, want %d; busy %v", n, workers*rounds, a.Busy(0))
	}
}
