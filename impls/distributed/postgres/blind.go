package postgres

import (
	"context"
	"fmt"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// blind is pg-version-blind: the optimistic update of which many believe that it may simply be tried again.
//
//	read --UPDATE ... WHERE version = v: 1 row--> written
//	read --0 rows--> somebody else wrote: read again
//	read --no reply--> read again: if the UPDATE was done after all, the change is made twice
//
// pg-version is what it takes to know: see the type optimistic.
type blind struct{ *optimistic }

var _ lock.Optimistic = blind{}

// noOperation is the number of a write that nobody can recognise.
const noOperation = 0

// Update implements lock.Optimistic. It breaks its promise: it may write more than once.
func (b blind) Update(ctx context.Context, key string, fn func(int64) int64) (attempts int, err error) {
	until := time.Now().Add(b.dial)
	sure := lock.ErrNotAcquired
	for {
		attempts++
		lock.TraceOf(ctx).Attempt()
		rows := 0
		value, version, err := b.read(ctx, key)
		if err == nil {
			if rows, err = b.send(ctx, key, version, fn(value), noOperation); err != nil && !surelyNot(err) {
				sure = lock.ErrUnknown
			}
		}
		switch {
		case rows == 1:
			return attempts, nil
		case err != nil && (sure == lock.ErrNotAcquired || ctx.Err() != nil || time.Now().After(until)):
			return attempts, fmt.Errorf("update %s: %w: %w", key, sure, err)
		}
		if err := lease.Rest(ctx, lease.Delay(retry, attempts), nil); err != nil {
			return attempts, fmt.Errorf("update %s: %w: %w", key, sure, ctx.Err())
		}
	}
}
