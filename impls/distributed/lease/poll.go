package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lockbench/lock"
)

// Delay returns how long to wait after attempt n (1, 2, ...): see lock.WaitPolicy.
func Delay(p lock.WaitPolicy, n int) time.Duration {
	d := p.Max
	if shift := n - 1; p.Min <= p.Max>>shift { // so that the shift to the left does not overflow
		d = p.Min << shift
	}
	return d - time.Duration(float64(d)*p.Jitter*rand.Float64())
}

// Poll tries until it is granted, with the back-off of o.Wait, or once with
// o.Try. try returns lock.ErrNotAcquired for a lock that somebody else has; any other
// error ends the polling.
func Poll(ctx context.Context, o lock.AcquireOptions, try func(context.Context) (*Grant, error)) (*Grant, error) {
	for n := 1; ; n++ {
		lock.TraceOf(ctx).Attempt()
		g, err := try(ctx)
		if err == nil || o.Try || !errors.Is(err, lock.ErrNotAcquired) {
			return g, err
		}
		if err := Rest(ctx, Delay(o.Wait, n), nil); err != nil {
			return nil, err
		}
	}
}

// Rest waits for a time, or until wake is ready (nil: never). Meanwhile nothing is
// held and nothing under way: a caller that leaves then knows that. Its error
// wraps lock.ErrNotAcquired. To be called by a driver's Acquire, with its context.
func Rest(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if !Idle(ctx) {
		return fmt.Errorf("%w: %w", lock.ErrNotAcquired, context.Canceled)
	}
	var quit <-chan struct{} // of an inline call
	if k, _ := ctx.Value(callKey{}).(*call); k != nil {
		quit = k.quit
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	case <-quit:
		return fmt.Errorf("%w: %w", lock.ErrNotAcquired, ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
	}
	if !Busy(ctx) {
		return fmt.Errorf("%w: %w", lock.ErrNotAcquired, context.Canceled)
	}
	return nil
}

// Idle tells that from now on nothing is held and nothing under way, and Busy that
// this ends: what Rest does, for drivers over a library that waits by itself, which
// call them where they see its requests. They return false if the caller has left;
// after Busy has, nothing may be sent any more that could win the lock. Without a change
// of state, and with a context that is not of a driver's Acquire, they return true.
func Idle(ctx context.Context) bool { return swap(ctx, working, resting) }

// Busy is described at Idle.
func Busy(ctx context.Context) bool { return swap(ctx, resting, working) }

func swap(ctx context.Context, from, to int32) bool {
	k, _ := ctx.Value(callKey{}).(*call)
	return k == nil || k.state.CompareAndSwap(from, to) || k.state.Load() != left
}
