package rueidislock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/peers/wire"
	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

type driver struct {
	locker rueidislock.Locker
	client *counted
}

var _ lease.Inline = (*driver)(nil)

// Dial connects to the server, or to the primary that the sentinels name.
func Dial(ctx context.Context, t lock.Target) (lock.Client, error) { return dial(ctx, t, 0) }

// dial gives an attempt some time; 0: the library's default, of 20 ms.
func dial(ctx context.Context, t lock.Target, attempt time.Duration) (lock.Client, error) {
	o, err := options(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.DialTimeout)
	defer cancel()
	type made struct {
		d   *driver
		err error
	}
	ch := make(chan made, 1)
	go func() { // the library's constructor knows no context
		d, err := open(t, o, attempt)
		ch <- made{d, err}
	}()
	select {
	case m := <-ch:
		if m.err != nil {
			return nil, fmt.Errorf("connect to Redis with rueidis: %w", m.err)
		}
		return lease.New(m.d, t.Meter), nil
	case <-ctx.Done():
		go func() {
			if m := <-ch; m.err == nil {
				m.d.locker.Close()
			}
		}()
		return nil, fmt.Errorf("connect to Redis with rueidis: %w", ctx.Err())
	}
}

func options(t lock.Target) (rueidis.ClientOption, error) {
	o := rueidis.ClientOption{InitAddress: t.Addrs, Username: t.User, Password: t.Password}
	if t.Master == "" && len(t.Addrs) != 1 {
		return o, fmt.Errorf("rueidislock with one key works with one server, not %d", len(t.Addrs))
	}
	if t.Database != "" {
		db, err := strconv.Atoi(t.Database)
		if err != nil || db < 0 {
			return o, fmt.Errorf("redis database %q: want a number", t.Database)
		}
		o.SelectDB = db
	}
	tc, err := tlsfile.Config(t.TLS, "")
	if err != nil {
		return o, err
	}
	o.TLSConfig = tc
	o.Dialer.Timeout = t.DialTimeout
	if t.Master != "" {
		o.Sentinel = rueidis.SentinelOption{MasterSet: t.Master, TLSConfig: tc, Dialer: o.Dialer}
	} else {
		o.ForceSingleClient = true
	}
	o.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, tc *tls.Config) (net.Conn, error) {
		c, err := wire.Dial(ctx, t, tc, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return wire.Redis(c, t.Meter), nil
	}
	return o, nil
}

func open(t lock.Target, o rueidis.ClientOption, attempt time.Duration) (*driver, error) {
	d := &driver{client: &counted{deletions: map[string]*deletion{}}}
	var err error
	d.locker, err = rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: o,
		ClientBuilder: func(o rueidis.ClientOption) (rueidis.Client, error) {
			var err error
			d.client.Client, err = rueidis.NewClient(o)
			return d.client, err
		},
		KeyPrefix:    t.Prefix,
		KeyMajority:  1,
		KeyValidity:  t.TTL,
		TryNextAfter: attempt,
	})
	return d, err
}

// held is a grant's data.
type held struct {
	op     *op
	cancel context.CancelFunc // releases; it returns when the library is done
	unlose func() bool        // false: the library's context had ended before
}

// Inline implements lease.Inline: the library is called as its users call it.
func (*driver) Inline() {}

// Acquire implements lease.Driver.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	h := &held{op: &op{}}
	// The library's context is that of the lease: it ends with the caller's wait only
	// until the lock is granted.
	src, end := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), opKey{}, h.op))
	stay := context.AfterFunc(ctx, end)
	get := d.locker.WithContext
	if o.Try {
		get = d.locker.TryWithContext
	}
	held, cancel, err := get(src, key)
	left := !stay()
	if err != nil {
		end()
		switch {
		case errors.Is(err, rueidislock.ErrNotLocked), errors.Is(err, rueidislock.ErrLockerClosed), h.op.idle():
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		}
		return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	h.cancel = func() { cancel(); end() }
	keeper := lease.Session()
	h.unlose = func() bool { return true }
	if !left { // else the library is releasing it already
		h.unlose = context.AfterFunc(held, keeper.Lose)
	}
	return &lease.Grant{Key: key, Session: keeper, Data: h}, nil
}

// Release implements lease.Driver.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	h := g.Data.(*held)
	kept := h.unlose()
	del, done := d.client.expect(h.op, lock.TraceOf(ctx))
	defer done()
	h.cancel()
	switch {
	case !kept:
		return fmt.Errorf("%w: the library had cancelled its context", lock.ErrNotHeld)
	case del.err != nil:
		return fmt.Errorf("%w: %w", lock.ErrUnknown, del.err)
	case del.sent && del.n == 0:
		return fmt.Errorf("%w: its key is gone", lock.ErrNotHeld)
	}
	return nil
}

// Close implements lease.Driver.
func (d *driver) Close() error {
	d.locker.Close()
	return nil
}
