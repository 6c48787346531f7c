package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// napper is a driver over a library that waits by itself until its context ends.
type napper struct {
	idle bool
	woke chan bool // what Busy said when the wait was over
}

var _ lease.Driver = (*napper)(nil)

func (n *napper) Acquire(ctx context.Context, _ string, _ lock.AcquireOptions) (*lease.Grant, error) {
	if n.idle && !lease.Idle(ctx) {
		return nil, lock.ErrNotAcquired
	}
	<-ctx.Done()
	n.woke <- lease.Busy(context.WithoutCancel(ctx))
	return nil, lock.ErrNotAcquired
}
func (*napper) Release(context.Context, *lease.Grant) error { return nil }
func (*napper) Close() error                                { return nil }

// TestIdle: who leaves while the library waits knows that nothing is held, and the
// driver knows at the next attempt that there must be none.
func TestIdle(t *testing.T) {
	for idle, want := range map[bool]error{true: lock.ErrNotAcquired, false: lock.ErrUnknown} {
		synctest.Test(t, func(t *testing.T) {
			n := &napper{idle, make(chan bool, 1)}
			c := newClient(t, n, nil)
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan error)
			go func() {
				_, err := c.Acquire(ctx, "k", lock.AcquireOptions{TTL: 1})
				got <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-got; !errors.Is(err, want) || !errors.Is(err, context.Canceled) {
				t.Errorf("idle %v: %v, want %v", idle, err, want)
			}
			if <-n.woke {
				t.Errorf("idle %v: Busy says that the caller is there", idle)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if !lease.Idle(t.Context()) || !lease.Busy(t.Context()) {
		t.Error("outside of an Acquire there is nobody to leave")
	}
}
