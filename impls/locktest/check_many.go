package locktest

import (
	"fmt"
	"time"
)

// checkMany shares four locks of one kind among the same workers. Algorithms
// that keep state per worker and not per handle (Hemlock's Grant word, a
// thread's queue node) must keep the locks apart, also when a worker holds
// two of them, and whichever it releases first.
//
// Nested acquisitions go from the lower to the higher index, so that only a
// lock that confuses its instances can deadlock.
func checkMany(s *subject) error {
	const (
		locks  = 4
		budget = 60 * time.Millisecond
	)
	t, err := s.newTeam(s.workers(3), locks)
	if err != nil {
		return err
	}
	defer t.close()
	sections := make([]*section, locks)
	for i := range sections {
		sections[i] = t.newSection(i)
	}
	err = t.stress("one or two of several locks", budget, unbounded, func(w *worker) error {
		low, high := w.rng.IntN(locks), w.rng.IntN(locks)
		if low > high {
			low, high = high, low
		}
		w.hs[low].Lock()
		err := sections[low].pass(w)
		if low == high || err != nil {
			w.hs[low].Unlock()
			return err
		}
		w.hs[high].Lock()
		err = sections[high].pass(w)
		if w.rng.Uint32()%2 == 0 {
			low, high = high, low
		}
		w.hs[high].Unlock()
		w.hs[low].Unlock()
		return err
	})
	if err != nil {
		return err
	}
	for i, sec := range sections {
		if err := sec.settle(t); err != nil {
			return fmt.Errorf("lock %d of %d: %w", i, locks, err)
		}
	}
	return t.atRest()
}
