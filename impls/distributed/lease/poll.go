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
	if shift := n - 1; shift < 40 && p.Min<<shift < p.Max && p.Min<<shift > 0 {
		d = p.Min << shift
	}
	return time.Duration(float64(d) * (1 - p.Jitter*rand.Float64()))
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
	k, _ := ctx.Value(callKey{}).(*call)
	if k != nil && !k.state.CompareAndSwap(working, resting) {
		return fmt.Errorf("%w: %w", lock.ErrNotAcquired, context.Canceled)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
	if k != nil && !k.state.CompareAndSwap(resting, working) || ctx.Err() != nil {
		return fmt.Errorf("%w: %w", lock.ErrNotAcquired, context.Canceled)
	}
	return nil
}
