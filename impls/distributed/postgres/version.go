package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// optimistic is pg-version: no lock, but a write that is done only if the row
// still has the version that was read.
//
//	read --UPDATE ... WHERE version = v: 1 row--> written
//	read --0 rows--> somebody else wrote: read again, after a pause
//	read --no reply--> in doubt --the same UPDATE again: 1 row--> written
//	in doubt --0 rows, and the row's history names this operation--> written
//	in doubt --0 rows, and it names another one--> read again
//	in doubt --0 rows, and it is too long--> lock.ErrUnknown
//
// The same UPDATE can be sent twice, because the first that is done changes the
// version and so shuts out the other, even one that still runs in a session that
// this client has lost. What remains is to know whose the change was: each operation has
// a random number, and a row keeps those of its last 32 versions. A retry without
// that number would count twice, or not at all.
type optimistic struct {
	*store
	dial time.Duration
}

var _ lock.Optimistic = (*optimistic)(nil)

// retry is the back-off between attempts. A conflict means that somebody else got
// on, so that it may be short: a read and a write take this long.
var retry = lock.WaitPolicy{Min: 100 * time.Microsecond, Max: 20 * time.Millisecond, Jitter: 1}

// Update implements lock.Optimistic.
func (o *optimistic) Update(ctx context.Context, key string, fn func(int64) int64) (attempts int, err error) {
	operation := int64(rand.Uint64()>>1) + 1 // not 0, which stands for none
	for {
		attempts++
		lock.TraceOf(ctx).Attempt()
		value, version, err := o.read(ctx, key)
		if err != nil {
			return attempts, fmt.Errorf("update %s: %w: read: %w", key, lock.ErrNotAcquired, err)
		}
		written, err := o.write(ctx, key, version, fn(value), operation)
		if err != nil {
			return attempts, fmt.Errorf("update %s: %w", key, err)
		}
		if written {
			return attempts, nil
		}
		if err := lease.Rest(ctx, lease.Delay(retry, attempts), nil); err != nil {
			return attempts, fmt.Errorf("update %s: %w: %w", key, lock.ErrNotAcquired, ctx.Err())
		}
	}
}

// read returns what the row holds, and makes it if it is not there.
func (o *optimistic) read(ctx context.Context, key string) (value, version int64, err error) {
	for range 3 {
		found := false
		err = o.pool.once(ctx,
			func(c *conn) { c.put(o.table.read, c.text(o.names.cell, key)) },
			func(c *conn) { found, value, version = c.rows == 1, c.number(0), c.number(1) })
		if err != nil || found {
			return value, version, err
		}
		if err = o.Prepare(ctx, []string{key}); err != nil {
			return 0, 0, err
		}
	}
	return 0, 0, errors.New("the row disappears as soon as it is made")
}

// write writes the value over the version that was read. false: surely not written.
func (o *optimistic) write(ctx context.Context, key string, version, value, operation int64) (bool, error) {
	var doubt error
	until := time.Now().Add(o.dial)
	for n := 1; ; n++ {
		rows, err := o.send(ctx, key, version, value, operation)
		switch {
		case err == nil && rows == 1:
			return true, nil
		case err == nil && doubt == nil:
			return false, nil
		case err == nil:
			return o.resolve(ctx, key, version, operation, doubt)
		case doubt == nil && surelyNot(err):
			return false, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		}
		// The reply is lost, or was. The server may be away for a moment.
		if doubt == nil {
			doubt = err
		}
		if ctx.Err() != nil || time.Now().After(until) || lease.Rest(ctx, lease.Delay(retry, n), nil) != nil {
			return false, fmt.Errorf("%w: the reply to UPDATE is lost: %w", lock.ErrUnknown, doubt)
		}
	}
}

// errConnect marks a write that was not sent for want of a connection.
var errConnect = errors.New("no connection")

// surelyNot reports whether a write that failed with err was surely not done: it was
// not sent, or the server refused it. A fatal error leaves a doubt: it may have come
// after the commit.
func surelyNot(err error) bool {
	return errors.Is(err, errConnect) || errors.Is(err, errNotSent) || code(err) != "" && !fatal(err)
}

// send sends the UPDATE once, and returns how many rows it changed.
func (o *optimistic) send(ctx context.Context, key string, version, value, operation int64) (int, error) {
	c, err := o.pool.take(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errConnect, err)
	}
	c.put(o.table.write, c.text(o.names.cell, key), c.int8(version), c.int8(value), c.int8(operation))
	err = c.askAll(ctx)
	rows := c.rows
	o.pool.give(c)
	return rows, err
}

// resolve finds out whose the version after the one that was read is.
func (o *optimistic) resolve(ctx context.Context, key string, version, operation int64, doubt error) (bool, error) {
	var by int64
	err := o.pool.once(ctx,
		func(c *conn) { c.put(o.table.whose, c.text(o.names.cell, key), c.int8(version)) },
		func(c *conn) { by = c.number(0) })
	switch {
	case err != nil || by == 0:
		return false, fmt.Errorf("%w: the reply to UPDATE is lost: %w", lock.ErrUnknown, errors.Join(doubt, err))
	default:
		return by == operation, nil
	}
}

// Close implements lock.Client.
func (o *optimistic) Close() error { return o.pool.close() }
