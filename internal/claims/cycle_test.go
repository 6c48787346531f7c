package claims

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// circle makes workers 0 to n-1 hold the key of their number and wait for the next one's.
func circle(a *Arena, n int) []Entry {
	var in []Entry
	for w := range n {
		in = append(in, a.Enter(w, w, 0, false))
	}
	for w := range n {
		a.Waiting(w, (w+1)%n)
	}
	return in
}

// Each member of a circle sees all of it, by the same id, and it is reported once.
func TestCycle(t *testing.T) {
	for _, n := range []int{2, 3, 7} {
		a, _ := create(t, 8, 8, 0)
		in := circle(a, n)
		reported, first := 0, uint64(0)
		for w := range n {
			members, id := a.Cycle(w, (w+1)%n)
			if first == 0 {
				first = id
			}
			if len(members) != n || members[0] != w || id != first || id == 0 {
				t.Errorf("%d: worker %d sees %v as %d, want itself first, %d members, and %d", n, w, members, id, n, first)
			}
			slices.Sort(members)
			for i, m := range members {
				if m != i {
					t.Errorf("%d: the members are %v", n, members)
				}
			}
			if a.Report(id) {
				reported++
			}
		}
		if reported != 1 {
			t.Errorf("%d: reported %d times", n, reported)
		}
		// One that waits for a member is in no circle.
		a.Waiting(7, 0)
		if members, _ := a.Cycle(7, 0); members != nil {
			t.Errorf("%d: one outside sees %v", n, members)
		}
		// Ended and made again, it is another one.
		for w, e := range in {
			a.Waiting(w, -1)
			a.Exit(w, w, e, 0)
		}
		circle(a, n)
		if _, id := a.Cycle(0, 1); id == first || id == 0 || !a.Report(id) {
			t.Errorf("%d: the second circle is not reported: %d and %d", n, first, id)
		}
	}
}

func TestNoCycle(t *testing.T) {
	for name, prepare := range map[string]func(a *Arena) (worker, key int){
		"nobody holds the key": func(*Arena) (int, int) { return 0, 0 },
		"the holder does not wait": func(a *Arena) (int, int) {
			circle(a, 3)
			a.Waiting(2, -1)
			return 0, 1
		},
		"the last waits for a free key": func(a *Arena) (int, int) {
			circle(a, 3)
			a.Waiting(2, 3)
			return 0, 1
		},
		"its own key": func(a *Arena) (int, int) {
			a.Enter(0, 0, 0, false)
			a.Waiting(0, 0)
			return 0, 0
		},
		"a member has left": func(a *Arena) (int, int) {
			in := circle(a, 3)
			a.Exit(1, 1, in[1], 0)
			return 0, 1
		},
	} {
		a, _ := create(t, 4, 4, 0)
		if members, id := a.Cycle(prepare(a)); members != nil || id != 0 {
			t.Errorf("%s: got %v, %d", name, members, id)
		}
	}
}

// Members of one circle that report it at the same instant count it once, also while other
// circles are reported.
func TestReportAtOnce(t *testing.T) {
	const workers, rounds = 4, 2000
	a, _ := create(t, 1, 1, 0)
	var wg sync.WaitGroup
	var at [rounds]atomic.Int64
	var counted atomic.Int64
	for range workers {
		wg.Go(func() {
			for i := range rounds {
				at[i].Add(1)
				for at[i].Load() < workers { // all at once
					runtime.Gosched()
				}
				if a.Report(mix(uint64(i + 1))) {
					counted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := counted.Load(); n != rounds {
		t.Errorf("%d reports of %d circles", n, rounds)
	}
}
