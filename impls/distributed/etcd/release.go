package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// Release implements lease.Driver. The key is deleted under the condition of its
// create revision; no other key is ever touched.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	there, err := d.withdraw(ctx, g.Data.(*member))
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("%w: its key was gone", lock.ErrNotHeld)
	}
	return nil
}

// leave withdraws in the background.
func (d *driver) leave(m *member) {
	d.bg.start(func() { _, _ = d.withdraw(d.leader, m) })
}

// withdraw takes the member from its queue and sees to it that a put still under way does not
// bring it back; there says that the key was there. It tries until it knows,
// or until the session has ended, with which the key goes. If the caller's time is up before,
// it goes on in the background: a key that is renewed with its session and that nobody
// holds would block the lock for as long as the client lives.
func (d *driver) withdraw(ctx context.Context, m *member) (there bool, err error) {
	for first := true; ; first = false {
		lock.TraceOf(ctx).Trip()
		there, err = d.withdrawOnce(m)
		switch {
		case err == nil:
			// Not there at the second try: the first has done it, and its answer was lost.
			return there || !first, nil
		case refused(err) && !passing(err), !m.alive(), d.done.Err() != nil:
			return false, fmt.Errorf("%w: delete the own key: %w", lock.ErrUnknown, err)
		case ctx.Done() != nil && ctx.Err() != nil && hasDeadline(ctx):
			d.leave(m)
			return false, fmt.Errorf("%w: delete the own key: %w", lock.ErrUnknown, err)
		}
		pause(d.done, m.s.step/8)
	}
}

// hasDeadline tells the context of a release, which bounds it, from that of an
// acquisition, which ends when its caller has left.
func hasDeadline(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return ok
}

func (d *driver) withdrawOnce(m *member) (there bool, err error) {
	switch {
	case m.s.own:
		if m.until.IsZero() {
			m.s.keeper.Stop()
			m.until = time.Now().Add(m.s.ttl) // at the latest
		}
		err := d.revoke(d.leader, m.s.step, m.s.id)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return false, nil
		}
		return err == nil, err
	case m.rev != 0:
		r, err := d.txn(d.leader, m.s.step,
			[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(m.key), "=", m.rev)},
			[]clientv3.Op{clientv3.OpDelete(m.key)}, nil)
		return err == nil && r.Succeeded, err
	}
	// The put may have come into effect, may come into effect later, or never. Raising
	// the version of the session's key makes the late one fail.
	r, err := d.txn(d.leader, m.s.step,
		[]clientv3.Cmp{clientv3.Compare(clientv3.Version(m.s.key), ">", 0)},
		[]clientv3.Op{
			clientv3.OpPut(m.s.key, "", clientv3.WithLease(clientv3.LeaseID(m.s.id))),
			clientv3.OpDelete(m.key),
			clientv3.OpGet(m.s.key),
		}, nil)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !r.Succeeded {
		m.s.keeper.Lose()
		return false, nil
	}
	m.s.learn(r, 2)
	return r.Responses[1].GetResponseDeleteRange().Deleted > 0, nil
}
