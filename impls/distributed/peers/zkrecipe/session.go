package zkrecipe

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/peers/wire"
	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

// session is the connection of a process. Its library makes a new session when one
// has expired.
type session struct {
	conn  *zk.Conn
	trips trips
	ready chan struct{} // closed when the first session is there

	mu     sync.Mutex
	keeper *lease.Keeper // of the session of now
}

// silent is a zk.Logger: what the library logs comes back as errors, too.
type silent struct{}

// Printf implements zk.Logger.
func (silent) Printf(string, ...any) {}

// connect makes the connection and waits for its session.
func connect(ctx context.Context, t lock.Target) (*session, error) {
	tc, err := tlsfile.Config(t.TLS, "")
	if err != nil {
		return nil, err
	}
	s := &session{ready: make(chan struct{}), keeper: lease.Session()}
	dial := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		c, err := wire.Dial(ctx, t, tc, network, addr)
		if err != nil {
			return nil, err
		}
		f := &frames{each: func(kind int32, path string) {
			t.Meter.Command(1)
			s.trips.sent(kind, path)
		}}
		return wire.Watch(c, f.write), nil
	}
	s.conn, _, err = zk.Connect(t.Addrs, t.TTL, zk.WithDialer(dial), zk.WithEventCallback(s.event), zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, t.DialTimeout)
	defer cancel()
	select {
	case <-s.ready:
	case <-ctx.Done():
		s.conn.Close()
		return nil, fmt.Errorf("connect to ZooKeeper at %s: no server has made a session: %w", strings.Join(t.Addrs, ", "), ctx.Err())
	}
	if t.User != "" {
		if err := s.conn.AddAuth("digest", []byte(t.User+":"+t.Password)); err != nil {
			s.conn.Close()
			return nil, fmt.Errorf("authenticate with ZooKeeper: %w", err)
		}
	}
	return s, nil
}

// event is called by the library's own goroutine, before it goes on.
func (s *session) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		select {
		case <-s.ready:
		default:
			close(s.ready)
		}
	case zk.StateExpired:
		s.keeper.Lose()
		s.keeper = lease.Session()
	}
}

func (s *session) now() *lease.Keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keeper
}
