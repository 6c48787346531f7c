package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// member is one acquisition: a key in a queue.
//
//	joining --put, nobody before it--> holding
//	joining --put, somebody before it--> waiting
//	joining --no answer--> withdrawn, then joining again
//	waiting --predecessor gone, nobody else before it, own key still there--> holding
//	waiting --session lost, own key gone, caller left--> withdrawn
//	holding --Release--> withdrawn
type member struct {
	s     *session
	queue string // directory of the lock
	key   string // own key in it
	n     uint64 // of its name
	doubt bool   // a request about the key got no answer, and may come into effect later
	rev   int64  // create revision of the own key; 0: not known, perhaps not there
	value string // key of the protected value
	// within bounds a release: the lease, had it not been renewed, ends by itself.
	within time.Duration
	// until is when a session of its own ends, once it is no longer renewed.
	until time.Time
	mu    sync.Mutex // one Apply at a time
}

// alive reports whether the member can still be in the queue, by the local clock.
func (m *member) alive() bool {
	if m.s.own && !m.until.IsZero() {
		return time.Now().Before(m.until)
	}
	return m.s.alive()
}

// Errors that say that nothing is held or queued, and that it is worth another try:
// errAgain after a pause; errRaised at once, because another member of the session
// has got no answer, and has raised the version of its key.
var (
	errAgain  = errors.New("try again")
	errRaised = errors.New("the session's key has another version")
)

// Acquire implements lease.Driver.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	lock.TraceOf(ctx).Attempt()
	for {
		var s *session
		var err error
		if o.Renew {
			s, err = d.session(ctx, o.TTL)
		} else {
			s, err = d.ownSession(ctx, o.TTL)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		}
		q := d.queue(key)
		n := d.names.take()
		m := &member{s: s, queue: q, n: n, key: d.names.member(q, n), value: d.valueKey(key), within: max(o.TTL, time.Second)}
		sent := time.Now()
		waited, err := d.join(ctx, m, o.Try)
		if errors.Is(err, errAgain) || errors.Is(err, errRaised) {
			if why := d.left(ctx); why != nil {
				return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, why)
			}
			if errors.Is(err, errAgain) {
				d.pause(ctx, s.step/8)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		g := &lease.Grant{Key: key, Sent: sent, TTL: s.ttl, Token: uint64(m.rev), HasToken: true, Session: s.keeper, Data: m}
		if s.own {
			if err := d.start(ctx, m, g, waited); err != nil {
				return nil, err
			}
		}
		return g, nil
	}
}

// start lets the TTL of a session of its own begin.
func (d *driver) start(ctx context.Context, m *member, g *lease.Grant, waited bool) error {
	g.Session, g.Sent = nil, m.s.sent
	m.s.keeper.Stop()
	if waited {
		lock.TraceOf(ctx).Trip()
		g.Sent = time.Now()
		q := d.begin(ctx, d.asking, m.s.step)
		ttl, err := d.renew(q.ctx, m.s)
		err = d.end(q, err)
		if err != nil {
			return d.giveUp(ctx, m, err)
		}
		g.TTL = ttl
	}
	m.until = g.Sent.Add(g.TTL)
	// Close revokes what it can, but not this: the holder knows of no end but its deadline.
	d.forget(m.s.id)
	return nil
}

// giveUp withdraws a member that its caller does not wait for any more, in the background if
// he has left. It returns what Acquire returns.
func (d *driver) giveUp(ctx context.Context, m *member, cause error) error {
	if why := d.left(ctx); why != nil {
		d.abandon(m, true)
		return fmt.Errorf("%w: %w", lock.ErrUnknown, why)
	}
	if _, err := d.withdraw(ctx, m, 0); err != nil {
		return fmt.Errorf("%w: %w", err, cause) // lock.ErrUnknown
	}
	return fmt.Errorf("%w: %w", lock.ErrNotAcquired, cause)
}

// condition is that of joining: see session.version.
func (m *member) condition(version int64) []clientv3.Cmp {
	if m.s.own {
		return nil // a key cannot be attached to a lease that was revoked
	}
	return []clientv3.Cmp{clientv3.Compare(clientv3.Version(m.s.key), "=", version)}
}

// joining is what is done if the condition holds, and what if not.
func (m *member) joining() (then, els []clientv3.Op) {
	then = []clientv3.Op{
		clientv3.OpGet(m.queue, append(clientv3.WithLastCreate(), clientv3.WithKeysOnly())...),
		clientv3.OpPut(m.key, "", clientv3.WithLease(clientv3.LeaseID(m.s.id))),
	}
	if !m.s.own {
		els = []clientv3.Op{clientv3.OpGet(m.s.key)}
	}
	return then, els
}

// join queues the member and returns when it holds the lock. In the best case that
// is one transaction: it reads who is last in the queue, and puts the own key behind;
// if nobody was there, the lock is held.
//
// If the caller leaves before the answer is there, or none comes, it is open what became of the
// put: see notJoined.
func (d *driver) join(ctx context.Context, m *member, try bool) (waited bool, err error) {
	lock.TraceOf(ctx).Trip()
	believed := m.s.version.Load()
	cmps := m.condition(believed)
	if try { // only an empty queue is joined: nothing has to be undone
		cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(m.queue), "=", 0).WithPrefix())
	}
	then, els := m.joining()
	r, err := d.txn(ctx, d.asking, m.s.step, cmps, then, els)
	switch {
	case err != nil:
		return false, d.notJoined(ctx, m, err)
	case !r.Succeeded && m.s.own: // try, and somebody is there
		d.abandon(m, false)
		return false, errHeld
	case !r.Succeeded && !m.s.learn(r, 0):
		return false, errAgain
	case !r.Succeeded && m.s.version.Load() != believed:
		return false, errRaised
	case !r.Succeeded:
		return false, errHeld
	}
	m.rev = r.Header.Revision
	kvs := r.Responses[0].GetResponseRange().Kvs
	if len(kvs) > 0 {
		return true, d.wait(ctx, m, string(kvs[0].Key), m.rev)
	}
	if !m.alive() { // the deadline passed while the answer was on its way
		d.abandon(m, false)
		return false, errAgain
	}
	return false, nil
}

var errHeld = fmt.Errorf("%w: it is held", lock.ErrNotAcquired)

// notJoined deals with a put that failed, or of which no answer came.
func (d *driver) notJoined(ctx context.Context, m *member, cause error) error {
	if errors.Is(cause, rpctypes.ErrLeaseNotFound) {
		m.s.keeper.Lose()
		d.forget(m.s.id)
		return errAgain
	}
	sure := refused(cause)
	if sure && !m.s.own && passing(cause) {
		return errAgain
	}
	switch why := d.left(ctx); {
	case why != nil && (!sure || m.s.own):
		d.abandon(m, !sure)
		if sure {
			return fmt.Errorf("%w: %w", lock.ErrNotAcquired, why)
		}
		return fmt.Errorf("%w: %w", lock.ErrUnknown, why)
	case !sure || m.s.own:
		if _, err := d.withdraw(ctx, m, 0); err != nil {
			return fmt.Errorf("join the queue: %w; %w", cause, err)
		}
	}
	if sure && !passing(cause) {
		return fmt.Errorf("%w: join the queue: %w", lock.ErrNotAcquired, cause)
	}
	return errAgain
}

// wait returns when nobody is before the member any more, or an error: errLost, or why it
// is to be given up. Only the predecessor is
// watched, so that a release wakes one waiter. last is the key of the predecessor
// as of revision rev.
func (d *driver) wait(ctx context.Context, m *member, last string, rev int64) error {
	for {
		err := d.watch(ctx, m, last, rev)
		if err == nil {
			last, rev, err = d.recheck(ctx, m)
		}
		switch {
		case err == nil && last == "":
			return nil
		case err == nil:
		case errors.Is(err, errLost):
			// At once, without asking a server that perhaps does not answer.
			d.abandon(m, false)
			return fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		default:
			d.abandon(m, true)
			return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
		}
	}
}

// recheck reads, in one transaction, whether the own key is still there, and who is
// before it: "" for nobody. It asks until it knows, the session is lost, or the caller
// has left.
func (d *driver) recheck(ctx context.Context, m *member) (last string, rev int64, err error) {
	opts := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(m.rev-1), clientv3.WithKeysOnly())
	for {
		lock.TraceOf(ctx).Trip()
		r, err := d.txn(ctx, d.asking, m.s.step,
			[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(m.key), "=", m.rev)},
			[]clientv3.Op{clientv3.OpGet(m.queue, opts...)}, nil)
		why := d.left(ctx)
		switch {
		case why != nil:
			return "", 0, why
		case !m.s.alive():
			return "", 0, errLost
		case err != nil:
			d.pause(ctx, m.s.step/8)
			continue
		case !r.Succeeded:
			// Keys go with their lease; the session learns of that by itself, or keeps
			// the others if somebody has deleted this one.
			return "", 0, fmt.Errorf("%w: the own key is gone", errLost)
		}
		if kvs := r.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			return string(kvs[0].Key), r.Header.Revision, nil
		}
		return "", 0, nil
	}
}
