package zookeeper

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// driver implements lease.Driver over one session at a time.
type driver struct {
	t   lock.Target
	tls *tls.Config
	acl []zk.ACL

	done context.Context // ended by Close
	quit context.CancelFunc

	mu      sync.Mutex
	current *session // nil: none was opened yet
	opening *opening // nil: none is being opened
}

// opening is the attempt at a session that all who need one wait for.
type opening struct {
	done chan struct{}
	s    *session
	err  error
}

var (
	_ lease.Driver  = (*driver)(nil)
	_ lease.Applier = (*driver)(nil)
)

func newDriver(t lock.Target, tc *tls.Config) *driver {
	d := &driver{t: t, tls: tc, acl: zk.WorldACL(zk.PermAll)}
	if t.User != "" {
		d.acl = zk.AuthACL(zk.PermAll)
	}
	d.done, d.quit = context.WithCancel(context.Background())
	return d
}

// dir returns the path of a key's node, whose children are the queue.
func (d *driver) dir(key string) string { return "/" + d.t.Prefix + key }

// session returns the current session, or opens one.
func (d *driver) session(ctx context.Context) (*session, error) {
	d.mu.Lock()
	if s := d.current; s != nil && !s.over() {
		d.mu.Unlock()
		return s, nil
	}
	o := d.opening
	if o == nil {
		o = &opening{done: make(chan struct{})}
		d.opening = o
		go d.reopen(o)
	}
	d.mu.Unlock()
	select {
	case <-o.done:
		return o.s, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *driver) reopen(o *opening) {
	o.s, o.err = d.open(d.done)
	d.mu.Lock()
	defer d.mu.Unlock()
	defer close(o.done)
	d.opening = nil
	if o.err != nil {
		return
	}
	d.current = o.s
	if d.done.Err() != nil {
		o.s.keeper.Lose()
	}
}

// Close implements lease.Driver.
func (d *driver) Close() error {
	d.quit()
	d.mu.Lock()
	o, s := d.opening, d.current
	d.mu.Unlock()
	if o != nil {
		<-o.done // d.done has ended it
		if o.s != nil {
			s = o.s
		}
	}
	if s != nil {
		s.keeper.Lose()
		<-s.closed
	}
	return nil
}

// ask runs a request that is none of an acquisition, again if its connection is lost.
func (d *driver) ask(ctx context.Context, request func(*session) error) error {
	s, err := d.session(ctx)
	if err != nil {
		return err
	}
	return within(ctx, func() error {
		for {
			err := request(s)
			switch {
			case err == nil || answered(err) || errors.Is(err, errValue):
				return err
			case s.over():
				return errors.Join(errEnded, err)
			case ctx.Err() != nil:
				return ctx.Err()
			}
		}
	})
}

// Acquire implements lease.Driver.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	lock.TraceOf(ctx).Attempt()
	for {
		s, err := d.session(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		}
		t := &ticket{s: s, dir: d.dir(key), id: newID()}
		first, err := t.enter(ctx)
		switch {
		case errors.Is(err, errEnded):
			// It had ended before, unnoticed: no place in the queue is lost.
			continue
		case err != nil:
			return nil, err
		}
		g, err := t.wait(ctx, first, o.Try)
		if err != nil {
			// What remove cannot do now it does until the session is over: there is no
			// better use for its error.
			_ = t.remove(ctx)
			return nil, err
		}
		g.Key = key
		return g, nil
	}
}

// Release implements lease.Driver.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	return g.Data.(*ticket).remove(ctx)
}

// Apply implements lease.Applier.
func (d *driver) Apply(ctx context.Context, g *lease.Grant, delta int64) error {
	err := within(ctx, func() error { return g.Data.(*ticket).write(ctx, delta) })
	switch {
	case err == nil || errors.Is(err, lock.ErrNotHeld) || errors.Is(err, lock.ErrUnknown):
	default: // ctx has ended
		err = fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	if err != nil {
		return fmt.Errorf("write under %s: %w", g.Key, err)
	}
	return nil
}

// newID returns the name of an acquisition, which no other has.
func newID() string {
	var b [idLen / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
