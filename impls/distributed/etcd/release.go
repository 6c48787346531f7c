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

// Release implements lease.Driver.
//
// A shared session's key is deleted with a plain delete. Nobody else's can be hit: its name
// is this client's alone, and given to no other member before the delete has been
// answered; nor after it, if another request to delete it got no answer and may be late. A
// transaction under the condition of the create revision would say nothing more.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	m := g.Data.(*member)
	there, err := d.withdraw(ctx, m, m.within)
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("%w: its key was gone", lock.ErrNotHeld)
	}
	return nil
}

// abandon withdraws in the background. counted: the member may have been granted the
// lock without anybody knowing, and is an orphan then.
func (d *driver) abandon(m *member, counted bool) {
	d.bg.start(func() {
		if counted && d.leads(m) {
			d.meter.Orphan()
		}
		// An error leaves nothing to be done: the session ends, and the key with it.
		_, _ = d.withdraw(context.Background(), m, 0)
	})
}

// leads reads whether the member's key is the first of its queue. A put still under way is
// not seen: it is made to fail, as likely as not, and has not let anybody wait.
func (d *driver) leads(m *member) bool {
	r, err := d.txn(context.Background(), d.leader, m.s.step, nil,
		[]clientv3.Op{clientv3.OpGet(m.queue, append(clientv3.WithFirstCreate(), clientv3.WithKeysOnly())...)}, nil)
	if err != nil {
		return false
	}
	kvs := r.Responses[0].GetResponseRange().Kvs
	return len(kvs) > 0 && string(kvs[0].Key) == m.key
}

// withdraw takes the member from its queue and sees to it that a put still under way does not
// bring it back; there says that the key was there. It tries until it knows,
// or until the session has ended, with which the key goes. If the caller leaves before, or
// within is over (0: an acquisition is withdrawn, without a bound), it goes on in the background: a key that is
// renewed with its session and that nobody holds would block the lock for as long as the
// client lives.
func (d *driver) withdraw(ctx context.Context, m *member, within time.Duration) (there bool, err error) {
	began := time.Now()
	step := m.s.step
	for first := true; ; first = false {
		if within > 0 {
			step = min(step, within-time.Since(began))
		}
		lock.TraceOf(ctx).Trip()
		there, err = d.withdrawOnce(ctx, m, step)
		if err == nil && m.rev != 0 && !m.doubt {
			d.names.give(m.n)
		}
		m.doubt = m.doubt || err != nil
		switch {
		case err == nil:
			// Not there at the second try: the first has done it, and its answer was lost.
			return there || !first, nil
		case refused(err) && !passing(err), !m.alive(), d.done.Err() != nil:
			return false, fmt.Errorf("%w: delete the own key: %w", lock.ErrUnknown, err)
		}
		if ctx.Err() == nil {
			d.pause(ctx, m.s.step/8)
		}
		if why := ctx.Err(); why != nil || within > 0 && time.Since(began) >= within {
			d.abandon(m, within == 0)
			return false, fmt.Errorf("%w: delete the own key: %w", lock.ErrUnknown, errors.Join(why, err))
		}
	}
}

func (d *driver) withdrawOnce(caller context.Context, m *member, step time.Duration) (there bool, err error) {
	switch {
	case m.s.own:
		if m.until.IsZero() {
			m.s.keeper.Stop()
			m.until = time.Now().Add(m.s.ttl) // at the latest
		}
		err := d.revoke(caller, d.leader, step, m.s.id)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return false, nil
		}
		return err == nil, err
	case m.rev != 0:
		return d.remove(caller, step, m.key)
	}
	// The put may have come into effect, may come into effect later, or never. Raising
	// the version of the session's key makes the late one fail.
	r, err := d.txn(caller, d.leader, step,
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

// remove deletes one key.
func (d *driver) remove(caller context.Context, step time.Duration, key string) (there bool, err error) {
	s, i := d.c.current()
	q := d.begin(caller, d.leader, step)
	r, err := s.kv.Delete(q.ctx, key)
	err = d.end(q, err)
	d.judge(caller, d.leader, i, step, err)
	return err == nil && r.Deleted > 0, err
}
