package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// plain is zookeeper-plain: the recipe as it was first written down, with nodes "lock-<sequence>" that do not say
// whose they are.
//
//	create is answered--> queued, by the name in the answer
//	create is not answered--> create again: if the first was done, its node stands before the own one in the
//	                          queue, nobody knows it, and it goes with the session only: a lock that its
//	                          own client waits for in vain
//
// The recipes call that a recoverable error and want a GUID in the name. All else is as it should be.
type plain struct{ d *driver }

var _ lease.Driver = plain{}

// plainPrefix begins the names of all nodes in a queue; the sequence follows, ten digits. Compared as texts they
// are in order until the sequence wraps.
const plainPrefix = "lock-"

// plainPlace is a node in a queue.
type plainPlace struct {
	s    *session
	dir  string
	name string
}

// Acquire implements lease.Driver.
func (p plain) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	lock.TraceOf(ctx).Attempt()
	s, err := p.d.session(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
	}
	at := &plainPlace{s: s, dir: p.d.dir(key)}
	if err := at.enter(ctx); err != nil {
		return nil, err
	}
	g, err := at.wait(ctx, o.Try)
	if err != nil {
		_ = at.remove(ctx) // it has tried until the session was over
		return nil, err
	}
	g.Key = key
	return g, nil
}

// enter makes the node: again and again, until a create is answered.
func (p *plainPlace) enter(ctx context.Context) error {
	for ctx.Err() == nil {
		lock.TraceOf(ctx).Trip()
		path, err := p.s.conn.Create(p.dir+"/"+plainPrefix, nil, zk.FlagEphemeral|zk.FlagSequence, p.s.d.acl)
		if errors.Is(err, zk.ErrNoNode) {
			lock.TraceOf(ctx).Trip()
			if err = p.s.parents(p.dir); err == nil {
				continue
			}
		}
		switch {
		case err == nil:
			p.name = path[len(p.dir)+1:]
			return nil
		case p.s.over():
			return fmt.Errorf("%w: %w", lock.ErrNotAcquired, errEnded)
		case answered(err):
			return fmt.Errorf("%w: join the queue: %w", lock.ErrNotAcquired, err)
		}
	}
	return fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
}

// wait waits until the node is the first.
func (p *plainPlace) wait(ctx context.Context, try bool) (*lease.Grant, error) {
	t := &ticket{s: p.s, dir: p.dir}
	for ctx.Err() == nil {
		again := p.s.reconnected()
		lock.TraceOf(ctx).Trip()
		l, err := t.list()
		if err == nil {
			names := slices.DeleteFunc(l.names, func(name string) bool { return !strings.HasPrefix(name, plainPrefix) })
			slices.Sort(names)
			i, own := slices.BinarySearch(names, p.name)
			switch {
			case p.s.over():
			case !own:
				return nil, fmt.Errorf("%w: the own node is gone from the queue", lock.ErrNotAcquired)
			case i == 0:
				return &lease.Grant{
					Sent: l.sent, TTL: p.s.ttl, Token: uint64(l.pzxid), HasToken: true, Session: p.s.keeper, Data: p,
				}, nil
			case try:
				return nil, fmt.Errorf("%w: it is held", lock.ErrNotAcquired)
			default:
				var ended <-chan zk.Event
				lock.TraceOf(ctx).Trip()
				if _, _, ended, err = p.s.conn.GetW(p.dir + "/" + names[i-1]); err == nil {
					if err := t.rest(ctx, ended, again); err != nil {
						return nil, err
					}
				} else if errors.Is(err, zk.ErrNoNode) {
					err = nil // it has just gone: list again
				}
			}
		}
		switch {
		case p.s.over():
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, errEnded)
		case err != nil && answered(err):
			return nil, fmt.Errorf("%w: wait in the queue: %w", lock.ErrNotAcquired, err)
		}
	}
	return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, ctx.Err())
}

// remove deletes the node, and tries until it is gone or the session is over.
func (p *plainPlace) remove(ctx context.Context) error {
	for {
		lock.TraceOf(ctx).Trip()
		err := p.s.conn.Delete(p.dir+"/"+p.name, -1)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("%w: its node is gone", lock.ErrNotHeld)
		case p.s.over():
			return fmt.Errorf("%w: %w", lock.ErrUnknown, errEnded)
		case answered(err):
			return fmt.Errorf("%w: delete its node: %w", lock.ErrUnknown, err)
		}
	}
}

// Release implements lease.Driver.
func (plain) Release(ctx context.Context, g *lease.Grant) error {
	return g.Data.(*plainPlace).remove(ctx)
}

// Close implements lease.Driver.
func (p plain) Close() error { return p.d.Close() }
