package locktest

import (
	"errors"
	"fmt"
	"time"

	"lockbench/lock"
)

// checkTryLock holds TryLock to its contract: it takes a free lock, fails on
// a held one, and a failure changes nothing. The last is where public locks
// went wrong: a failed attempt that advanced a ticket made the lock look free
// at once and stay locked later (CASES 1), so failures are repeated, and made
// both with and without a waiter.
//
// It cannot see a TryLock that fails while the lock is free only for an
// instant, such as during another worker's failed attempt: the staged part
// has nobody else in the lock.
func checkTryLock(s *subject) error {
	if err := stageTryLock(s); err != nil {
		return err
	}
	return stressTryLock(s)
}

// repeats is how often staged checks repeat an attempt that must fail.
const repeats = 5

// moment is a pause for others to get where the stage wants them. Nothing is
// asserted that would be false if they do not get there: less is tested then.
const moment = time.Millisecond

func stageTryLock(s *subject) error {
	n := s.workers(3)
	t, err := s.newTeam(n, 1)
	if err != nil {
		return err
	}
	defer t.close()
	const holder, other, third = 0, 1, 2

	for id := range 2 * n { // everybody, twice over
		err := t.play(
			step{id % n, "TryLock on a free lock", mustTry(true)},
			step{id % n, "Unlock after TryLock", unlock},
		)
		if err != nil {
			return err
		}
	}
	for _, acquire := range []func(*worker) error{mustLock, mustTry(true)} {
		steps := []step{{holder, "acquire a free lock", acquire}}
		for range repeats {
			steps = append(steps, step{other, "TryLock on a held lock", mustTry(false)})
		}
		steps = append(steps,
			step{holder, "Unlock after another's failed attempts", unlock},
			step{other, "TryLock after own failed attempts", mustTry(true)},
			step{other, "Unlock after TryLock", unlock},
		)
		if err := t.play(steps...); err != nil {
			return err
		}
	}
	if n > third {
		if err := stageTryBesideWaiter(t, holder, other, third); err != nil {
			return err
		}
	}
	return t.atRest()
}

// stageTryBesideWaiter: attempts on a held lock that somebody waits for
// neither let the waiter in nor make it miss its turn.
func stageTryBesideWaiter(t *team, holder, waiter, trier int) error {
	if err := t.play(step{holder, "Lock", mustLock}); err != nil {
		return err
	}
	waiting := t.start(waiter, "Lock behind a holder", mustLock)
	if err := t.queued(1); err != nil {
		return err
	}
	for range repeats {
		if err := t.play(step{trier, "TryLock on a held lock with a waiter", mustTry(false)}); err != nil {
			return err
		}
	}
	if waiting.returned() {
		return errors.New("exclusion violated: a failed TryLock let a waiter in beside the holder")
	}
	if err := t.play(step{holder, "Unlock", unlock}); err != nil {
		return err
	}
	if err := t.wait(waiting); err != nil {
		return err
	}
	return t.play(
		step{trier, "TryLock on a lock held by the former waiter", mustTry(false)},
		step{waiter, "Unlock by the former waiter", unlock},
		step{trier, "TryLock after the former waiter left", mustTry(true)},
		step{trier, "Unlock after TryLock", unlock},
	)
}

func stressTryLock(s *subject) error {
	const budget = 60 * time.Millisecond
	t, err := s.newTeam(s.workers(4), 1)
	if err != nil {
		return err
	}
	defer t.close()
	sec := t.newSection(0)
	err = t.stress("TryLock or Lock, section, Unlock", budget, unbounded, func(w *worker) error {
		try := w.h.(lock.TryLocker)
		if !try.TryLock() {
			if w.rng.Uint32()%4 != 0 {
				return nil
			}
			w.h.Lock()
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

// The steps that staged checks are made of.

func mustLock(w *worker) error { w.h.Lock(); return nil }

func unlock(w *worker) error { w.h.Unlock(); return nil }

// mustTry is a TryLock that must return want.
func mustTry(want bool) func(*worker) error {
	return func(w *worker) error {
		if got := w.h.(lock.TryLocker).TryLock(); got != want {
			return fmt.Errorf("returned %v, want %v", got, want)
		}
		return nil
	}
}

// queued returns when n workers wait for the team's lock. Locks that do not
// say how many wait are given a moment for it: what follows must be right
// either way, and usually tests what it means to.
func (t *team) queued(n int) error {
	waiter := lock.WaiterOf(t.locks[0], t.workers[0].h)
	if waiter == nil {
		time.Sleep(moment)
		return nil
	}
	return t.until(fmt.Sprintf("Waiters() to become %d", n), func() bool { return waiter.Waiters() >= n })
}
