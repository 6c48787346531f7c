package etcd

import (
	"context"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// watch returns nil when the key, which was there at revision rev, is perhaps gone: it
// was deleted, or it is time to read again, because a watch is only as good as the
// member that serves it, and one that is paused says nothing. errLost: the session ended;
// other errors: the caller has left, or Close has begun.
func (d *driver) watch(ctx context.Context, m *member, key string, rev int64) error {
	wctx, cancel := context.WithCancel(d.asking)
	defer cancel()
	lock.TraceOf(ctx).Trip()
	sv, i := d.c.current()
	gone := make(chan error, 1)
	if !d.bg.start(func() { gone <- sv.awaitDelete(wctx, key, rev+1) }) {
		return lease.ErrClosed
	}
	// T/3: a silent member costs no more than the time in which a session notices it, too.
	t := time.NewTimer(min(m.s.ttl/3, 2*maxStep))
	defer t.Stop()
	select {
	case err := <-gone:
		if err != nil && d.left(ctx) == nil {
			d.judge(ctx, d.asking, i, m.s.step, err)
			d.pause(ctx, m.s.step/8)
		}
	case <-t.C:
	case <-m.s.keeper.Lost():
		return errLost
	case <-ctx.Done():
	case <-d.asking.Done():
	}
	return d.left(ctx)
}

// awaitDelete returns nil when the key is deleted, at revision rev or later. It
// has a stream of its own: in the client library's, watches that share a stream are
// set up one after the other.
func (sv *server) awaitDelete(ctx context.Context, key string, rev int64) error {
	st, err := sv.watch.Watch(ctx)
	if err == nil {
		err = st.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
			Key: []byte(key), StartRevision: rev, Filters: []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT},
		}}})
	}
	for err == nil {
		var r *pb.WatchResponse
		if r, err = st.Recv(); err != nil {
			break
		}
		if r.GetCanceled() { // compacted, or not permitted
			return fmt.Errorf("watch %s: canceled by the server: %s", key, r.GetCancelReason())
		}
		for _, e := range r.GetEvents() {
			if e.GetType() == mvccpb.Event_DELETE {
				return nil
			}
		}
	}
	return fmt.Errorf("watch %s: %w", key, clientv3.ContextError(ctx, err))
}
