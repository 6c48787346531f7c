package locktest

import (
	"fmt"
	"testing"

	"lockbench/lock"
)

// skipAlloc leaves out locks that say so, and builds that cannot tell.
func skipAlloc(s *subject) string {
	switch {
	case s.info.New == nil:
		return "not an in-process lock"
	case s.info.Allocates:
		return "says that it allocates"
	case raceEnabled:
		return "the race detector allocates too"
	}
	return ""
}

// checkAlloc counts the allocations of uncontended acquisitions, by every way
// in that the handle has. A lock that allocates brings the garbage collector
// into the measurement.
//
// It cannot see allocations of the contended paths; a run of the harness
// counts collections, which shows those.
func checkAlloc(s *subject) error {
	t, err := s.newTeam(1, 1)
	if err != nil {
		return err
	}
	defer t.close()
	h := t.workers[0].h
	ways := map[string]func(){"Lock": func() { h.Lock(); h.Unlock() }}
	if l, ok := h.(lock.TryLocker); ok {
		ways["TryLock"] = func() { l.TryLock(); h.Unlock() }
	}
	if l, ok := h.(lock.TimedLocker); ok {
		ways["LockFor"] = func() { l.LockFor(1); h.Unlock() }
	}
	if l, ok := h.(lock.RWHandle); ok {
		ways["RLock"] = func() { l.RLock(); l.RUnlock() }
	}
	for name, way := range ways {
		err := t.play(step{0, name, func(*worker) error {
			// An average is rounded down, so the few allocations of other
			// goroutines in a hundred runs are not seen.
			if n := testing.AllocsPerRun(100, way); n > 0 {
				return fmt.Errorf("%v allocations an operation, want 0", n)
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}
