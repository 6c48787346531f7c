package locktest

import (
	"errors"
	"fmt"
	"time"

	"lockbench/lock"
)

// checkTimed holds LockFor to its contract. What goes wrong in practice is
// the way out: a waiter that gave up but stays queued is granted the lock and
// nobody releases it; one that leaves takes its successor's place along, or a
// wake-up that was meant for another.
//
// It cannot tell how late a LockFor gives up, and does not want to: a test on
// a busy machine that judges time judges the machine.
func checkTimed(s *subject) error {
	if err := stageAborts(s, "LockFor", aborter{
		free: mustLockFor(time.Hour, true),
		held: []func(*worker) error{
			mustLockFor(-time.Second, false),
			mustLockFor(0, false),
			mustLockFor(2*time.Millisecond, false),
		},
		abort: mustLockFor(4*time.Millisecond, false),
	}); err != nil {
		return err
	}
	return stressAborts(s, "LockFor", func(w *worker, patience time.Duration) bool {
		return w.h.(lock.TimedLocker).LockFor(patience)
	})
}

// mustLockFor is a LockFor that must return want.
func mustLockFor(d time.Duration, want bool) func(*worker) error {
	return func(w *worker) error {
		if got := w.h.(lock.TimedLocker).LockFor(d); got != want {
			return fmt.Errorf("LockFor(%v) returned %v, want %v", d, got, want)
		}
		return nil
	}
}

// An aborter is what LockFor and LockContext have in common.
type aborter struct {
	free  func(*worker) error   // acquires, however long it takes
	held  []func(*worker) error // give up on a held lock
	abort func(*worker) error   // gives up after a wait that is long enough to be queued
}

// stageAborts plays the scenes, of which each needs at most three workers.
func stageAborts(s *subject, name string, a aborter) error {
	n := s.workers(3)
	t, err := s.newTeam(n, 1)
	if err != nil {
		return err
	}
	defer t.close()
	const holder, leaver = 0, 1

	for id := range n {
		err := t.play(
			step{id, name + " on a free lock", a.free},
			step{id, "Unlock after " + name, unlock},
		)
		if err != nil {
			return err
		}
	}
	if err := stagePatience(t, name, a, holder, leaver); err != nil {
		return err
	}
	// Who gave up is not queued: the holder can leave, everybody can have the
	// lock after it, and so can who gave up.
	for _, giveUp := range a.held {
		steps := []step{
			{holder, "Lock", mustLock},
			{leaver, name + " on a held lock", giveUp},
			{leaver, name + " on a held lock, again", giveUp},
			{holder, "Unlock", unlock},
		}
		for id := range n {
			steps = append(steps,
				step{id, "Lock after an abort", mustLock},
				step{id, "Unlock", unlock},
			)
		}
		steps = append(steps,
			step{leaver, name + " after an abort", a.free},
			step{leaver, "Unlock after " + name, unlock},
		)
		if err := t.play(steps...); err != nil {
			return err
		}
	}
	if n == 3 {
		for _, waiterFirst := range []bool{false, true} {
			if err := stageNeighbour(t, name, a, waiterFirst); err != nil {
				return fmt.Errorf("beside a waiter (which came first: %v): %w", waiterFirst, err)
			}
		}
	}
	return t.atRest()
}

// stagePatience: who waits long enough gets the lock, and not before.
func stagePatience(t *team, name string, a aborter, holder, leaver int) error {
	if err := t.play(step{holder, "Lock", mustLock}); err != nil {
		return err
	}
	waiting := t.start(leaver, name+" without hurry", a.free)
	if err := t.queued(1); err != nil {
		return err
	}
	if waiting.returned() {
		return errors.Join(fmt.Errorf("exclusion violated: %s without hurry returned while the lock was held", name), waiting.err)
	}
	if err := t.play(step{holder, "Unlock", unlock}); err != nil {
		return err
	}
	if err := t.wait(waiting); err != nil {
		return err
	}
	return t.play(step{leaver, "Unlock after " + name, unlock})
}

// stageNeighbour: worker 0 holds, worker 1 gives up, worker 2 waits before or
// behind it, and must get the lock when worker 0 leaves.
func stageNeighbour(t *team, name string, a aborter, waiterFirst bool) error {
	const holder, leaver, waiter = 0, 1, 2
	if err := t.play(step{holder, "Lock", mustLock}); err != nil {
		return err
	}
	var leaving, waiting *call
	if waiterFirst {
		waiting = t.start(waiter, "Lock before one that gives up", mustLock)
		if err := t.queued(1); err != nil {
			return err
		}
		leaving = t.start(leaver, name+" behind a waiter", a.abort)
	} else {
		leaving = t.start(leaver, name+" before a waiter", a.abort)
		time.Sleep(moment)
		waiting = t.start(waiter, "Lock behind one that gives up", mustLock)
	}
	if err := t.wait(leaving); err != nil {
		return err
	}
	if waiting.returned() {
		return errors.Join(errors.New("exclusion violated: the waiter entered beside the holder"), waiting.err)
	}
	if err := t.play(step{holder, "Unlock", unlock}); err != nil {
		return err
	}
	if err := t.wait(waiting); err != nil {
		return err
	}
	return t.play(step{waiter, "Unlock", unlock})
}

// stressAborts mixes patient and impatient acquisitions.
func stressAborts(s *subject, name string, lockWithin func(w *worker, patience time.Duration) bool) error {
	const (
		budget   = 60 * time.Millisecond
		patience = 200 * time.Microsecond // long enough to be queued, short enough to give up often
	)
	t, err := s.newTeam(s.workers(4), 1)
	if err != nil {
		return err
	}
	defer t.close()
	sec := t.newSection(0)
	err = t.stress(name+" or Lock, section, Unlock", budget, unbounded, func(w *worker) error {
		switch r := w.rng.Uint32(); {
		case r%4 == 0:
			w.h.Lock()
		case !lockWithin(w, time.Duration(r>>8)%patience):
			return nil
		}
		err := sec.pass(w)
		w.h.Unlock()
		return err
	})
	if err != nil {
		return err
	}
	if err := sec.settle(t); err != nil {
		return err
	}
	return t.atRest()
}
