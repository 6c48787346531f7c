package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

// servers are the members of the cluster, each on a connection of its own, so that
// this package decides whom it asks: the client's own balancer goes round
// robin among all connections that are open, and to a member that is paused they stay
// open.
//
//	asking the leader --a request fails or gets no answer--> asking the next member
//	asking the next member --someone says that it leads--> asking the leader
//
// The leader is asked because it can answer without asking another member first.
type servers struct {
	base    *clientv3.Client // holds the token of a user; its own connection is used for nothing else
	all     []*server
	cur     atomic.Int32 // whom to ask
	seeking atomic.Bool
	bg      *group // of the client
}

type server struct {
	conn  *grpc.ClientConn
	kv    clientv3.KV
	lease pb.LeaseClient
	watch pb.WatchClient
	state pb.MaintenanceClient
}

// pingTime is the shortest interval at which grpc lets a client ping, and twice what an
// etcd server allows by default. Dead members are noticed earlier, by
// requests without an answer; pings find connections that carry none.
const pingTime = 10 * time.Second

// dial prepares connections; it waits for none, except to log in a user.
func dial(t lock.Target, bg *group) (*servers, error) {
	if len(t.Addrs) == 0 {
		return nil, errors.New("no address of an etcd server")
	}
	tlsConf, err := tlsfile.Config(t.TLS, "")
	if err != nil {
		return nil, err
	}
	var more []grpc.DialOption
	if tlsConf != nil && tlsConf.ServerName != "" {
		more = append(more, grpc.WithTransportCredentials(named{credentials.NewTLS(tlsConf), tlsConf.ServerName}))
	}
	retry := min(max(t.TTL/3, 200*time.Millisecond), time.Second)
	base, err := clientv3.New(clientv3.Config{
		Endpoints:            t.Addrs,
		DialTimeout:          t.DialTimeout,
		DialKeepAliveTime:    pingTime,
		DialKeepAliveTimeout: max(t.TTL/3, time.Second),
		TLS:                  tlsConf,
		Username:             t.User,
		Password:             t.Password,
		Logger:               zap.NewNop(),
		MaxUnaryRetries:      2, // the second with a new token, should the first have expired
		DialOptions: append(more,
			grpc.WithContextDialer(dialer(t.Reach)),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retry},
				MinConnectTimeout: retry,
			}),
			grpc.WithChainUnaryInterceptor(countUnary(t.Meter)),
			grpc.WithChainStreamInterceptor(countStream(t.Meter)),
		),
	})
	if err != nil {
		return nil, fmt.Errorf("log in at %s: %w", strings.Join(t.Addrs, ", "), err)
	}
	c := &servers{base: base, bg: bg}
	for _, addr := range t.Addrs {
		conn, err := base.Dial(addr)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("connect to %s: %w", addr, err)
		}
		c.all = append(c.all, &server{
			conn:  conn,
			kv:    clientv3.NewKVFromKVClient(pb.NewKVClient(conn), base),
			lease: pb.NewLeaseClient(conn),
			watch: pb.NewWatchClient(conn),
			state: pb.NewMaintenanceClient(conn),
		})
	}
	return c, nil
}

// named is TLS with a server whose certificate is for a name that is not the host of its
// address, which grpc would look for whatever the configuration says.
type named struct {
	credentials.TransportCredentials
	name string
}

// ClientHandshake implements credentials.TransportCredentials.
func (n named) ClientHandshake(ctx context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return n.TransportCredentials.ClientHandshake(ctx, n.name, c)
}

// Clone implements credentials.TransportCredentials.
func (n named) Clone() credentials.TransportCredentials {
	return named{n.TransportCredentials.Clone(), n.name}
}

// dialer maps the addresses that need it.
func dialer(reach map[string]string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		if to, ok := reach[addr]; ok {
			addr = to
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
}

// countUnary counts a request each time that it is sent.
func countUnary(m *lock.Meter) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		m.Command(1)
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}

// countStream counts the requests that are sent in a stream.
func countStream(m *lock.Meter) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			return nil, err
		}
		return counted{s, m}, nil
	}
}

type counted struct {
	grpc.ClientStream
	m *lock.Meter
}

func (c counted) SendMsg(m any) error {
	c.m.Command(1)
	return c.ClientStream.SendMsg(m)
}

// current returns whom to ask, and a number to be given to failed.
func (c *servers) current() (*server, int32) {
	i := c.cur.Load()
	return c.all[i], i
}

// failed says that a server did not answer, or could not: the next one is asked from
// now on, until one is found that leads. within bounds the search.
func (c *servers) failed(ctx context.Context, i int32, within time.Duration) {
	n := int32(len(c.all))
	if n == 1 || !c.cur.CompareAndSwap(i, (i+1)%n) || !c.seeking.CompareAndSwap(false, true) {
		return
	}
	c.bg.start(func() {
		defer c.seeking.Store(false)
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		// Not found: the next failure asks again.
		_ = c.seek(ctx)
	})
}

var errNoLeader = errors.New("no member of the cluster knows of a leader: most of them are down, or an election is going on")

// seekGrace is how long a leader may keep silent once another member has told of one:
// one that takes longer is not worth being preferred.
const seekGrace = 200 * time.Millisecond

// seek asks all servers at once who leads, and makes the leader the one to ask;
// or, if it does not answer, one that knows of a leader.
func (c *servers) seek(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		i   int
		r   *pb.StatusResponse
		err error
	}
	answers := make(chan answer, len(c.all))
	for i, s := range c.all {
		go func() {
			r, err := s.state.Status(ctx, &pb.StatusRequest{})
			answers <- answer{i, r, err}
		}()
	}
	follower, first := -1, error(nil)
	var grace <-chan time.Time
collect:
	for range c.all {
		var a answer
		select {
		case a = <-answers:
		case <-grace:
			break collect
		}
		switch leader := a.r.GetLeader(); {
		case a.err != nil:
			if first == nil {
				first = clientv3.ContextError(ctx, a.err)
			}
		case leader == 0:
			first = errNoLeader
		case leader == a.r.GetHeader().GetMemberId():
			c.cur.Store(int32(a.i))
			return nil
		case follower < 0:
			follower, grace = a.i, time.After(seekGrace)
		}
	}
	if follower < 0 {
		return first
	}
	c.cur.Store(int32(follower))
	return nil
}

func (c *servers) close() {
	for _, s := range c.all {
		_ = s.conn.Close() // there is nothing left to be done with it
	}
	_ = c.base.Close()
}
