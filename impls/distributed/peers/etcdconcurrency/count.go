package etcdconcurrency

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/stats"

	"lockbench/lock"
)

// counter counts the messages that are sent: a unary call is one, with each repeat
// of it, and so is each request in the streams of watches and keep-alives. Unary calls
// are round trips, in the trace of their context; a stream belongs to nobody.
type counter struct{ m *lock.Meter }

var _ stats.Handler = counter{}

// TagRPC implements stats.Handler.
func (c counter) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	switch i.FullMethodName {
	case "/etcdserverpb.Watch/Watch", "/etcdserverpb.Lease/LeaseKeepAlive":
		return lock.WithTrace(ctx, nil)
	}
	return ctx
}

// HandleRPC implements stats.Handler.
func (c counter) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if p, ok := s.(*stats.OutPayload); ok && p.Client {
		c.m.Command(1)
		lock.TraceOf(ctx).Trip()
	}
}

// TagConn implements stats.Handler.
func (counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (counter) HandleConn(context.Context, stats.ConnStats) {}

// watcher counts the round trips of watches: all watches of a client share a
// stream, which does not know whose they are.
type watcher struct{ clientv3.Watcher }

var _ clientv3.Watcher = watcher{}

// Watch implements clientv3.Watcher.
func (w watcher) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	lock.TraceOf(ctx).Trip()
	return w.Watcher.Watch(ctx, key, o...)
}
