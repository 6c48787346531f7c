package locktest

import (
	"errors"
	"fmt"
	"strings"

	"lockbench/lock"
)

// checkInfo judges the catalogue line before anything runs, and fills in what
// the handle can do.
//
// It sees lines that are invalid or contradict the handle. Whether the claims
// are true is left to the checks named after them. A distributed lock is
// judged by its line alone.
func checkInfo(s *subject) error {
	if err := s.info.Validate(); err != nil {
		return err
	}
	var errs []error
	if s.info.Doc == "" || strings.Contains(s.info.Doc, "\n") {
		errs = append(errs, fmt.Errorf("description %q: want one line", s.info.Doc))
	}
	if s.info.New == nil {
		return errors.Join(errs...)
	}
	caps, err := s.info.Probe()
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	s.caps = caps
	if s.info.FIFO && !caps.Waiters {
		errs = append(errs, errors.New("claims FIFO, but neither lock nor handle is a lock.Waiter: arrivals cannot be staged"))
	}
	if s.info.FIFO && s.info.Control {
		errs = append(errs, errors.New("a Control claims FIFO, and is never judged"))
	}
	if caps.TryR && !caps.RW {
		errs = append(errs, errors.New("TryRLock without RLock"))
	}
	if m := s.info.MaxWorkers; m > 0 {
		if _, err := s.info.New(m + 1); err == nil {
			errs = append(errs, fmt.Errorf("New(%d) succeeds, though MaxWorkers is %d", m+1, m))
		}
	}
	// What a handle can do must not depend on the number of workers: plans
	// are made from a probe with one.
	n := s.workers(3)
	l, err := s.info.New(n)
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("New(%d): %w", n, err))...)
	}
	for id := range n {
		if got := lock.CapsOf(l, l.NewHandle(&lock.Worker{ID: id})); got != caps {
			errs = append(errs, fmt.Errorf("handle %d of %d can do %+v, the one of a lock for one worker %+v", id, n, got, caps))
		}
	}
	return errors.Join(errs...)
}
