package etcd

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// session is an etcd lease that keys are attached to.
//
//	alive --not renewed in time, or the server does not know it--> lost
//	alive --Close--> stopped
//
// A shared one is renewed for as long as the client lives, and carries any number of
// holders and waiters. A session of its own belongs to one acquisition without
// renewal: it is renewed while it waits in the queue, and once more when it is
// granted, so that its TTL begins there.
type session struct {
	id     int64
	ttl    time.Duration // as granted
	sent   time.Time     // when it was asked for
	step   time.Duration // for one request: TTL/6, so that two can fail before a deadline
	keeper *lease.Keeper
	own    bool
	// key is a key of the session, shared ones only; version is that of the key. Who joins a
	// queue does so under the condition that the version is what he believes, and
	// who gets no answer raises it: the request can then no longer come into effect.
	key     string
	version atomic.Int64
}

// slot is the place of a shared session.
type slot struct {
	s    atomic.Pointer[session]
	turn chan struct{} // held by whoever makes a new session
}

// maxStep bounds a request, however long the TTL: who waits for an answer for so long asks
// another member instead. Elections take 1 to 2 s by default.
const maxStep = 3 * time.Second

func (s *session) alive() bool {
	select {
	case <-s.keeper.Lost():
		return false
	default:
		return true
	}
}

// errLost is returned to waiters whose session has ended.
var errLost = errors.New("the session (etcd lease) was lost")

// seconds rounds up: etcd counts in whole seconds.
func seconds(ttl time.Duration) int64 { return max(1, int64((ttl+time.Second-1)/time.Second)) }

// session returns the shared session of a TTL, and makes a new one if the last was lost.
func (d *driver) session(ctx context.Context, ttl time.Duration) (*session, error) {
	sec := seconds(ttl)
	d.mu.Lock()
	sl := d.shared[sec]
	if sl == nil {
		sl = &slot{turn: make(chan struct{}, 1)}
		d.shared[sec] = sl
	}
	d.mu.Unlock()
	if s := sl.s.Load(); s != nil && s.alive() {
		return s, nil
	}
	select {
	case sl.turn <- struct{}{}:
		defer func() { <-sl.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := sl.s.Load(); s != nil && s.alive() {
		return s, nil
	}
	s, err := d.grant(ctx, sec, false)
	if err != nil {
		return nil, err
	}
	s.keeper = lease.Keep(s.sent, s.ttl, func(ctx context.Context) (time.Duration, error) { return d.renew(ctx, s) })
	sl.s.Store(s)
	if d.done.Err() != nil { // Close may have looked before
		s.keeper.Lose()
	}
	return s, nil
}

// ownSession returns a session for one acquisition.
func (d *driver) ownSession(ctx context.Context, ttl time.Duration) (*session, error) {
	s, err := d.grant(ctx, seconds(ttl), true)
	if err != nil {
		return nil, err
	}
	s.keeper = lease.Keep(s.sent, s.ttl, func(ctx context.Context) (time.Duration, error) { return d.renew(ctx, s) })
	return s, nil
}

// grant asks for a lease until it gets one, or a refusal; at most for the dial timeout.
func (d *driver) grant(ctx context.Context, sec int64, own bool) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, d.dialTimeout)
	defer cancel()
	defer context.AfterFunc(d.asking, cancel)()
	for {
		s, err := d.grantOnce(ctx, sec, own)
		if err == nil {
			return s, nil
		}
		if refused(err) && !passing(err) || ctx.Err() != nil {
			return nil, fmt.Errorf("make a session (etcd lease of %d s): %w", sec, err)
		}
		d.pause(ctx, 50*time.Millisecond)
	}
}

func (d *driver) grantOnce(ctx context.Context, sec int64, own bool) (*session, error) {
	// The id is ours, so that a lease of which no answer came can be revoked.
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	id := int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
	step := max(time.Duration(sec)*time.Second/6, 300*time.Millisecond)
	d.mu.Lock()
	d.leases[id] = struct{}{}
	d.mu.Unlock()
	s := &session{id: id, own: own, sent: time.Now()}
	r, err := d.grantLease(ctx, step, id, sec)
	if err == nil {
		s.ttl = time.Duration(r.GetTTL()) * time.Second
		s.step = min(s.ttl/6, maxStep)
		if !own {
			s.key = d.sessionKey(id)
			err = d.announce(ctx, s)
		}
	}
	if err != nil {
		d.drop(id, step)
		return nil, err
	}
	return s, nil
}

func (d *driver) grantLease(ctx context.Context, step time.Duration, id, sec int64) (*pb.LeaseGrantResponse, error) {
	lock.TraceOf(ctx).Trip()
	q := d.begin(ctx, d.asking, step)
	sv, i := d.c.current()
	r, err := sv.lease.LeaseGrant(q.ctx, &pb.LeaseGrantRequest{ID: id, TTL: sec})
	err = d.end(q, clientv3.ContextError(q.ctx, err))
	d.judge(ctx, d.asking, i, step, err)
	return r, err
}

// announce makes the session's key.
func (d *driver) announce(ctx context.Context, s *session) error {
	lock.TraceOf(ctx).Trip()
	r, err := d.txn(ctx, d.asking, s.step, nil,
		[]clientv3.Op{clientv3.OpPut(s.key, "", clientv3.WithLease(clientv3.LeaseID(s.id))), clientv3.OpGet(s.key)}, nil)
	if err != nil {
		return err
	}
	s.learn(r, 1)
	return nil
}

// learn takes the version of the session's key from a reply; false: there is none, so
// that the session is lost.
func (s *session) learn(r *clientv3.TxnResponse, op int) bool {
	kvs := r.Responses[op].GetResponseRange().Kvs
	if len(kvs) == 0 {
		s.keeper.Lose()
		return false
	}
	for v := kvs[0].Version; ; {
		old := s.version.Load()
		if old >= v || s.version.CompareAndSwap(old, v) {
			return true
		}
	}
}

// renew asks one server, once. It asks in a stream of its own, not in one that is
// kept open, which would hang with the member that it leads to.
func (d *driver) renew(ctx context.Context, s *session) (time.Duration, error) {
	sv, i := d.c.current()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel() // ends the stream
	ttl, err := sv.keepAlive(ctx, s.id)
	if err != nil {
		if !errors.Is(err, context.Canceled) { // the keeper was stopped
			d.judge(d.done, d.done, i, s.step, err)
		}
		return 0, fmt.Errorf("renew an etcd lease: %w", err)
	}
	if ttl <= 0 {
		d.forget(s.id)
		return 0, fmt.Errorf("renew an etcd lease: %w: the server does not know it", lock.ErrNotHeld)
	}
	if d.meter != nil && !s.own {
		d.meter.Renewals.Add(1)
	}
	return ttl, nil
}

// keepAlive extends a lease and returns its TTL, 0 if there is no such lease.
func (sv *server) keepAlive(ctx context.Context, id int64) (time.Duration, error) {
	st, err := sv.lease.LeaseKeepAlive(ctx)
	if err == nil {
		err = st.Send(&pb.LeaseKeepAliveRequest{ID: id})
	}
	if err != nil {
		return 0, clientv3.ContextError(ctx, err)
	}
	r, err := st.Recv()
	if err != nil {
		return 0, clientv3.ContextError(ctx, err)
	}
	return time.Duration(r.GetTTL()) * time.Second, nil
}

// revoke ends a lease, and deletes all keys attached to it.
func (d *driver) revoke(caller, base context.Context, step time.Duration, id int64) error {
	q := d.begin(caller, base, step)
	sv, i := d.c.current()
	_, err := sv.lease.LeaseRevoke(q.ctx, &pb.LeaseRevokeRequest{ID: id})
	err = d.end(q, clientv3.ContextError(q.ctx, err))
	d.judge(caller, base, i, step, err)
	if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) {
		d.forget(id)
	}
	return err
}

// drop revokes a lease in the background. Should that fail, it is Close's to revoke;
// nobody renews it.
func (d *driver) drop(id int64, step time.Duration) {
	d.bg.start(func() { _ = d.revoke(context.Background(), d.leader, step, id) })
}

func (d *driver) forget(id int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.leases, id)
}
