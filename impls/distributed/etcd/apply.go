package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// Apply implements lease.Applier. Both the read and the write are under the condition
// that the own key is still there; it was the first of its queue once, and nothing can come
// before it later, so that it is proof of holding. The write is also under the condition that
// the value is the one that was read: it can therefore be sent again when no answer comes,
// and is done at most once.
func (d *driver) Apply(ctx context.Context, g *lease.Grant, delta int64) error {
	m := g.Data.(*member)
	m.mu.Lock()
	defer m.mu.Unlock()
	holds := clientv3.Compare(clientv3.CreateRevision(m.key), "=", m.rev)
	unsure := false // a write was sent, and no answer came
	var wrote int64 // the mod revision that it replaces
	for {
		err := ctx.Err()
		if err == nil {
			var done bool
			if done, err = d.applyOnce(ctx, m, holds, delta, &wrote, &unsure); done {
				return err
			}
		}
		if ctx.Err() != nil || !m.alive() || d.done.Err() != nil || err != nil && refused(err) && !passing(err) {
			known := lock.ErrNotHeld // nothing was sent that could change anything
			if unsure {
				known = lock.ErrUnknown
			}
			if err == nil {
				err = errLost
			}
			return fmt.Errorf("write under %s: %w: %w", g.Key, known, errors.Join(err, ctx.Err()))
		}
		d.pause(ctx, m.s.step/8)
	}
}

// applyOnce reads and writes once; done: err is the answer.
func (d *driver) applyOnce(ctx context.Context, m *member, holds clientv3.Cmp, delta int64, wrote *int64, unsure *bool) (done bool, err error) {
	gone := func() error {
		if *unsure { // written before the key went, or not
			return fmt.Errorf("write: %w: the own key is gone", lock.ErrUnknown)
		}
		return fmt.Errorf("write: %w: the own key is gone", lock.ErrNotHeld)
	}
	lock.TraceOf(ctx).Trip()
	r, err := d.txn(ctx, d.leader, m.s.step, []clientv3.Cmp{holds}, []clientv3.Op{clientv3.OpGet(m.value)}, nil)
	if err != nil {
		return false, err
	}
	if !r.Succeeded {
		return true, gone()
	}
	old, mod, err := parseValue(r.Responses[0].GetResponseRange().Kvs)
	if err != nil {
		return true, err
	}
	if *unsure && mod != *wrote {
		// While the own key is there nobody else can write: it was us.
		return true, nil
	}
	lock.TraceOf(ctx).Trip()
	r, err = d.txn(ctx, d.leader, m.s.step,
		[]clientv3.Cmp{holds, clientv3.Compare(clientv3.ModRevision(m.value), "=", mod)},
		[]clientv3.Op{clientv3.OpPut(m.value, strconv.FormatInt(old+delta, 10))}, nil)
	switch {
	case err != nil:
		if !refused(err) {
			*wrote, *unsure = mod, true
		}
		return false, err
	case r.Succeeded:
		return true, nil
	}
	return false, nil // the key or the value has changed: read which
}
