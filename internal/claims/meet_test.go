package claims

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"lockbench/internal/clock"
)

// TestMeetingAtTheExit: whoever comes while a holder leaves is judged by the lease of that one,
// however the steps of both interleave, and is counted once.
func TestMeetingAtTheExit(t *testing.T) {
	const rounds = 16384
	for _, x := range []struct {
		name string
		over int64
	}{{"valid", 0}, {"over", 1}} {
		t.Run(x.name, func(t *testing.T) {
			a, _ := create(t, 1, 2, 0)
			var met, turn atomic.Int64
			var wg sync.WaitGroup
			// The second of each round comes when the first is about to leave, or has just left.
			wg.Go(func() {
				for i := range int64(rounds) {
					for turn.Load() != 2*i+1 {
						runtime.Gosched()
					}
					for range i / 64 % 64 {
						clock.Shared()
					}
					if e := a.Enter(1, 0, 0, false); e.Overlap >= 0 {
						if e.Overlap != 0 {
							t.Errorf("met worker %d, want 0", e.Overlap)
						}
						met.Add(1)
					}
					turn.Store(2*i + 2)
				}
			})
			for i := range int64(rounds) {
				e := a.Enter(0, 0, 0, false)
				turn.Store(2*i + 1)
				for range i % 64 { // both wait, so that each of them is the earlier one at times
					clock.Shared()
				}
				a.Exit(0, 0, e, x.over)
				for turn.Load() != 2*i+2 {
					runtime.Gosched()
				}
				a.keys[0].owner.Store(0) // the second's; its Exit says nothing about the first
			}
			wg.Wait()
			got, n := a.Audit(), met.Load()
			want := Audit{Stale: n}
			if x.over == 0 {
				want = Audit{Overlaps: n}
			}
			got.LostUpdates = 0
			if got != want || a.keys[0].pending.Load() != 0 {
				t.Errorf("got %+v, of which %d are undecided, want %+v", got, a.keys[0].pending.Load(), want)
			}
			t.Logf("%d of %d met", n, rounds)
		})
	}
}
