package locktest

import (
	"fmt"
	"slices"
	"sync"

	"lockbench/lock"
)

// skipUnlessFIFO leaves out locks without the claim: an unfair order is a trait.
func skipUnlessFIFO(s *subject) string {
	if reason := skipUnjudged(s); reason != "" {
		return reason
	}
	if !s.info.FIFO {
		return "does not claim FIFO"
	}
	if s.workers(3) < 3 {
		return "an order takes a holder and two waiters"
	}
	return ""
}

// checkFIFO judges the claim that workers are granted the lock in the order
// in which they arrive. Arrivals that overlap have no order to keep, so they
// are staged: one worker holds, the next one starts only when Waiters() shows
// that the one before has its place. Then the holder leaves, and the grants
// are logged inside the section.
//
// It also sees a Waiters() that is wrong while it matters: at rest, with a
// holder alone, or overshooting. It cannot see what order arrivals at the
// same instant get, and nobody may claim one.
func checkFIFO(s *subject) error {
	const rounds = 4
	t, err := s.newTeam(s.workers(5), 1)
	if err != nil {
		return err
	}
	defer t.close()
	rng := t.workers[0].rng // idle between the calls
	for range rounds {
		cast := rng.Perm(len(t.workers))
		if err := stageArrivals(t, cast[0], cast[1:]); err != nil {
			return err
		}
	}
	return t.atRest()
}

func stageArrivals(t *team, holder int, arrivals []int) error {
	waiter := lock.WaiterOf(t.locks[0], t.workers[holder].h)
	expect := func(when string, want int) error {
		if got := waiter.Waiters(); got != want {
			return fmt.Errorf("Waiters() is %d %s, want %d", got, when, want)
		}
		return nil
	}
	if err := expect("at rest", 0); err != nil {
		return err
	}
	if err := t.play(step{holder, "Lock", mustLock}); err != nil {
		return err
	}
	if err := expect("with a holder alone", 0); err != nil {
		return err
	}
	var (
		mu     sync.Mutex // not left to the lock under test
		grants []int
		calls  []*call
	)
	for i, id := range arrivals {
		calls = append(calls, t.start(id, "Lock in a queue", func(w *worker) error {
			w.h.Lock()
			mu.Lock()
			grants = append(grants, w.id)
			mu.Unlock()
			w.h.Unlock()
			return nil
		}))
		if err := t.queued(i + 1); err != nil {
			return err
		}
		if err := expect("after as many staged arrivals", i+1); err != nil {
			return err
		}
	}
	if err := t.play(step{holder, "Unlock", unlock}); err != nil {
		return err
	}
	if err := t.wait(calls...); err != nil {
		return err
	}
	if !slices.Equal(grants, arrivals) {
		return fmt.Errorf("FIFO violated: workers arrived in the order %v and were granted the lock in the order %v", arrivals, grants)
	}
	return nil
}
