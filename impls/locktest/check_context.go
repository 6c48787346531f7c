package locktest

import (
	"context"
	"fmt"
	"time"

	"lockbench/lock"
)

// checkContext plays the scenes of checkTimed with a context in place of the
// duration, and asks for the errors that the contract names: exactly the
// context's own, also when the context had ended before and the lock is free.
func checkContext(s *subject) error {
	ended := endedContext()
	if err := stageAborts(s, "LockContext", aborter{
		free: mustLockContext(fixed(context.Background()), nil),
		held: []func(*worker) error{
			mustLockContext(fixed(ended), context.Canceled),
			mustLockContext(cancelledIn(2*time.Millisecond), context.Canceled),
			mustLockContext(deadlineIn(2*time.Millisecond), context.DeadlineExceeded),
		},
		abort: mustLockContext(deadlineIn(4*time.Millisecond), context.DeadlineExceeded),
	}); err != nil {
		return err
	}
	if err := stageEnded(s, ended); err != nil {
		return err
	}
	return stressAborts(s, "LockContext", func(w *worker, patience time.Duration) bool {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return w.h.(lock.ContextLocker).LockContext(ctx) == nil
	})
}

// stageEnded: an ended context is refused even by a free lock, which stays free.
func stageEnded(s *subject, ended context.Context) error {
	t, err := s.newTeam(s.workers(2), 1)
	if err != nil {
		return err
	}
	defer t.close()
	refuse := mustLockContext(fixed(ended), context.Canceled)
	for range repeats {
		if err := t.play(step{0, "LockContext with an ended context on a free lock", refuse}); err != nil {
			return err
		}
	}
	return t.atRest()
}

// mustLockContext is a LockContext that must return want.
func mustLockContext(make func() (context.Context, context.CancelFunc), want error) func(*worker) error {
	return func(w *worker) error {
		ctx, cancel := make()
		defer cancel()
		if got := w.h.(lock.ContextLocker).LockContext(ctx); got != want {
			return fmt.Errorf("returned %v, want %v", got, want)
		}
		return nil
	}
}

func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// fixed is for contexts that need no cleaning up.
func fixed(ctx context.Context) func() (context.Context, context.CancelFunc) {
	return func() (context.Context, context.CancelFunc) { return ctx, func() {} }
}

// cancelledIn makes contexts that are cancelled, without a deadline, after d.
func cancelledIn(d time.Duration) func() (context.Context, context.CancelFunc) {
	return func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(d, cancel)
		return ctx, cancel
	}
}

func deadlineIn(d time.Duration) func() (context.Context, context.CancelFunc) {
	return func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), d)
	}
}
