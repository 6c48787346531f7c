package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// ticket is a place in the queue of a key.
//
//	new --create is answered--> queued
//	new --create is not answered, and sync and list show its id--> queued
//	new --the same, and do not show it--> new, doubtful
//	queued --listed first--> held
//	queued --not listed, or the session is over--> gone
//	queued, held, new and doubtful --remove--> gone, or the session is over, which removes it
type ticket struct {
	s    *session
	dir  string // path of the key's node
	id   string // hexadecimal, idLen long
	name string // of the node in dir: id, "-", sequence

	// doubtful: there may be more nodes of the id than name, so that remove looks for them.
	// A create got no answer, and its node was not to be seen then.
	doubtful bool
	creates  int

	mu     sync.Mutex // one write at a time
	writes int
}

const idLen = 32

// parse takes a node's name apart; ok is false for a node that is none of ours.
func parse(name string) (id string, seq int32, ok bool) {
	if len(name) < idLen+2 || name[idLen] != '-' {
		return "", 0, false
	}
	n, err := strconv.ParseInt(name[idLen+1:], 10, 32)
	return name[:idLen], int32(n), err == nil
}

// place finds the node of an id among the children of a key, and the one right before it.
// own is empty if the id is not there, before if it is the first. extra are further
// nodes of the id: the late fruit of a create that was not answered.
//
// a is before b if b-a, which wraps as the sequences do, is positive.
func place(names []string, id string) (own, before string, extra []string) {
	var ownSeq int32
	for _, name := range names {
		i, seq, ok := parse(name)
		switch {
		case !ok || i != id:
		case own == "":
			own, ownSeq = name, seq
		case ownSeq-seq > 0:
			extra = append(extra, own)
			own, ownSeq = name, seq
		default:
			extra = append(extra, name)
		}
	}
	if own == "" {
		return "", "", nil
	}
	nearest := int32(math.MaxInt32)
	for _, name := range names {
		if _, seq, ok := parse(name); ok {
			if d := ownSeq - seq; d > 0 && d <= nearest {
				nearest, before = d, name
			}
		}
	}
	return own, before, extra
}

// listing is the queue as a server showed it.
type listing struct {
	names []string
	sent  time.Time // when it was asked for
	pzxid int64     // of the latest change
}

func (t *ticket) list() (*listing, error) {
	l := &listing{sent: time.Now()}
	names, stat, err := t.s.conn.Children(t.dir)
	if err != nil {
		return nil, err
	}
	l.names, l.pzxid = names, stat.Pzxid
	return l, nil
}

// enter makes the node and lists the queue with it; first is nil if it has yet to be listed.
// errEnded: there is no node, with the session.
func (t *ticket) enter(ctx context.Context) (first *listing, err error) {
	for {
		lock.TraceOf(ctx).Trip()
		first, err := t.join()
		switch {
		case err == nil:
			return first, nil
		case errors.Is(err, zk.ErrNoNode):
			lock.TraceOf(ctx).Trip()
			err = t.s.parents(t.dir)
		default:
			t.doubtful = t.doubtful || !answered(err)
		}
		if t.doubtful {
			var own []string
			if own, err = t.find(ctx); len(own) > 0 {
				t.name = own[0]
				t.doubtful = t.creates > 1 // of one create there is one node
				return nil, nil
			}
		}
		switch {
		case t.s.over():
			return nil, errEnded
		case err != nil && answered(err):
			return nil, fmt.Errorf("%w: join the queue: %w", lock.ErrNotAcquired, err)
		case ctx.Err() != nil:
			// Not to be seen a moment ago; what comes later is removed.
			_ = t.remove(ctx)
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, ctx.Err())
		}
	}
}

// join sends a create and, right behind it, the request for the list: a server answers what a
// session sends in that order, and the list has the new node in it (programmer's guide, Consistency
// Guarantees; the paper's FIFO client order). The library has no such pair, and of
// two calls at a time either may go first: the link tells when the create has left.
// The list is worth nothing if the create got no answer.
func (t *ticket) join() (*listing, error) {
	type reply struct {
		path string
		err  error
	}
	t.creates++
	created := make(chan reply, 1)
	written := t.s.expect(t.id)
	defer t.s.forget(t.id)
	go func() {
		path, err := t.s.conn.Create(t.dir+"/"+t.id+"-", nil, zk.FlagEphemeral|zk.FlagSequence, t.s.d.acl)
		created <- reply{path, err}
	}()
	var first *listing
	var r reply
	select {
	case <-written:
		// Its error comes again, if it lasts: then the caller lists.
		first, _ = t.list()
		r = <-created
	case r = <-created:
	}
	if r.err != nil {
		return nil, r.err
	}
	t.name = r.path[len(t.dir)+1:]
	return first, nil
}

// find returns the names of the ticket's nodes, as the leader knows them: the
// server that is asked may be another than the one that took the create.
func (t *ticket) find(ctx context.Context) (own []string, err error) {
	for !t.s.over() {
		lock.TraceOf(ctx).Trip()
		if _, err = t.s.conn.Sync(t.dir); err == nil {
			var names []string
			lock.TraceOf(ctx).Trip()
			if names, _, err = t.s.conn.Children(t.dir); err == nil {
				first, _, extra := place(names, t.id)
				if first == "" {
					return nil, nil
				}
				return append([]string{first}, extra...), nil
			}
		}
		if answered(err) {
			return nil, err
		}
	}
	return nil, errEnded
}

// wait waits for its turn; l is the first listing, or nil.
func (t *ticket) wait(ctx context.Context, l *listing, try bool) (*lease.Grant, error) {
	for ; ctx.Err() == nil; l = nil {
		again := t.s.reconnected()
		var err error
		if l == nil {
			lock.TraceOf(ctx).Trip()
			l, err = t.list()
		}
		if err == nil {
			own, before, extra := place(l.names, t.id)
			for _, name := range extra {
				// Of the same session: a request that is lost is made up for by remove.
				t.doubtful = true
				go func() { _ = t.s.conn.Delete(t.dir+"/"+name, -1) }()
			}
			switch {
			case t.s.over():
			case own == "":
				return nil, fmt.Errorf("%w: the own node is gone from the queue", lock.ErrNotAcquired)
			case before == "":
				t.name = own
				return &lease.Grant{
					Sent: l.sent, TTL: t.s.ttl, Token: uint64(l.pzxid), HasToken: true, Session: t.s.keeper, Data: t,
				}, nil
			case try:
				return nil, fmt.Errorf("%w: it is held", lock.ErrNotAcquired)
			default:
				t.name = own
				var ended <-chan zk.Event
				lock.TraceOf(ctx).Trip()
				if _, _, ended, err = t.s.conn.GetW(t.dir + "/" + before); err == nil {
					if err := t.rest(ctx, ended, again); err != nil {
						return nil, err
					}
				} else if errors.Is(err, zk.ErrNoNode) {
					err = nil // it has just gone: list again
				}
			}
		}
		switch {
		case t.s.over():
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, errEnded)
		case err != nil && answered(err):
			return nil, fmt.Errorf("%w: wait in the queue: %w", lock.ErrNotAcquired, err)
		}
	}
	return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, ctx.Err())
}

// rest waits until the predecessor's node has changed, the session is connected again, or
// it is over. Its error wraps lock.ErrNotAcquired: the caller has left.
func (t *ticket) rest(ctx context.Context, ended <-chan zk.Event, again <-chan struct{}) error {
	wake, leave := make(chan struct{}), make(chan struct{})
	defer close(leave)
	go func() {
		defer close(wake)
		select {
		case <-ended:
		case <-again:
		case <-t.s.keeper.Lost():
		case <-leave:
		}
	}()
	return lease.Rest(ctx, math.MaxInt64, wake)
}

// remove deletes the node, and tries until it is gone or the session is over. nil: it
// is gone by our doing; lock.ErrNotHeld: it was gone before; lock.ErrUnknown: it goes with
// the session, if it has not.
func (t *ticket) remove(ctx context.Context) error {
	if !t.doubtful {
		lock.TraceOf(ctx).Trip()
		err := t.s.conn.Delete(t.dir+"/"+t.name, -1)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("%w: its node is gone", lock.ErrNotHeld)
		case answered(err):
			return fmt.Errorf("%w: delete its node: %w", lock.ErrUnknown, err)
		}
	}
	for {
		own, err := t.find(ctx)
		if err == nil && len(own) == 0 || errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		for _, name := range own {
			lock.TraceOf(ctx).Trip()
			if e := t.s.conn.Delete(t.dir+"/"+name, -1); e != nil && answered(e) && !errors.Is(e, zk.ErrNoNode) {
				err = e
			}
		}
		if err != nil {
			return fmt.Errorf("%w: delete its node: %w", lock.ErrUnknown, err)
		}
	}
}

// parents makes the node at path and those above it, from below: most exist, and at
// the top the right to look may be missing. Others may remove empty ones meanwhile.
// The topmost is shared with other runs, so that it belongs to nobody.
func (s *session) parents(path string) error {
	cut := strings.LastIndexByte(path, '/')
	acl := s.d.acl
	if cut == 0 {
		acl = zk.WorldACL(zk.PermAll)
	}
	for {
		_, err := s.conn.Create(path, nil, zk.FlagPersistent, acl)
		switch {
		case err == nil || errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode) || cut <= 0:
			return fmt.Errorf("create %s: %w", path, err)
		}
		if err := s.parents(path[:cut]); err != nil {
			return err
		}
	}
}
