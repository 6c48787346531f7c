package locktest

import (
	"fmt"
	"time"
)

// checkProgress looks for lost wake-ups and deadlocks: every worker does a
// bounded number of operations and leaves, and then the lock is free.
//
// A wake-up is lost when it comes between a waiter's last look at the lock
// and its sleep, so the arrivals vary: sections and pauses of random length,
// yields inside and between, and now and then a pause long enough for the
// others to fall asleep. Two workers come first: with two, a lost wake-up has
// nobody who repairs it by accident, and the loser is stuck for good.
//
// It cannot see starvation, which ends when the others leave, nor a wake-up
// that is lost once in a longer time than the stress lasts. It does not look
// at exclusion at all, so that it names a lock which only hangs.
func checkProgress(s *subject) error {
	for _, n := range s.crews(2, 8) {
		if err := stressProgress(s, n); err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
	}
	return nil
}

func stressProgress(s *subject, workers int) error {
	const (
		operations = 20_000
		budget     = 40 * time.Millisecond
		nap        = 50 * time.Microsecond
	)
	t, err := s.newTeam(workers, 1)
	if err != nil {
		return err
	}
	defer t.close()
	err = t.stress("Lock, Unlock", budget, operations, func(w *worker) error {
		w.h.Lock()
		w.dawdle()
		w.h.Unlock()
		if w.rng.Uint32()%256 == 0 {
			time.Sleep(nap)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.atRest()
}

// crews returns the numbers of workers, cut to what the lock takes, each once.
func (s *subject) crews(numbers ...int) []int {
	var crews []int
	for _, n := range numbers {
		n = s.workers(n)
		if len(crews) == 0 || crews[len(crews)-1] < n {
			crews = append(crews, n)
		}
	}
	return crews
}
