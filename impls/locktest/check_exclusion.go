package locktest

import (
	"fmt"
	"time"
)

// checkExclusion lets workers pass through a guarded section for a while: see
// section for what it sees. One worker alone shows that passes are counted
// right; two and three fit algorithms whose bugs need few; eight are more than
// most test machines have processors, so that holders get preempted.
//
// It cannot see a violation that needs an interleaving which the scheduler
// did not produce. The race detector, which reasons about order and not about
// time, sees many of those: run the suite with -race too.
func checkExclusion(s *subject) error {
	for _, n := range s.crews(1, 2, 3, 8) {
		if err := stressExclusion(s, n); err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
	}
	return nil
}

func stressExclusion(s *subject, workers int) error {
	const budget = 40 * time.Millisecond
	t, err := s.newTeam(workers, 1)
	if err != nil {
		return err
	}
	defer t.close()
	sec := t.newSection(0)
	err = t.stress("Lock, section, Unlock", budget, unbounded, func(w *worker) error {
		w.h.Lock()
		err := sec.pass(w)
		w.h.Unlock()
		return err
	})
	if err != nil {
		return err
	}
	return sec.settle(t)
}
