package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

const (
	// poolSize is beyond what callers use: see the package's comment.
	poolSize = 4096
	// warm bounds how many connections Open makes at once, so that a client of very
	// many workers does not run into the server's limits.
	warm = 64
	// buffer is enough for a command and its reply, of some 200 bytes; the default of
	// 32 KiB each way is for others.
	buffer = 4096
	// slack is what go-redis's timeout is longer than ours.
	slack = 50 * time.Millisecond
)

// Server is a client of one server. Its methods may be called from several
// goroutines.
type Server struct {
	Client *redis.Client
	Meter  *lock.Meter
	addr   string
	// most is how long a command may take. go-redis has a timeout that is longer, so that the
	// deadline of the context is the one that it sets.
	most    time.Duration
	flights flights
}

// Open returns a client of the server at addr, or, if the target names a Sentinel
// group, of the primary that the sentinels at t.Addrs name. The server has been greeted.
func Open(ctx context.Context, t lock.Target, addr string, scripts ...*Script) (*Server, error) {
	s, err := New(t, addr)
	if err != nil {
		return nil, err
	}
	if err := s.Greet(ctx, t, scripts...); err != nil {
		_ = s.Client.Close()
		return nil, err
	}
	return s, nil
}

// New returns a client of the server at addr, which it has not spoken to yet.
func New(t lock.Target, addr string) (*Server, error) {
	quiet()
	s := &Server{Meter: t.Meter, addr: addr, most: Within(t.TTL)}
	o, err := s.options(t)
	if err != nil {
		return nil, err
	}
	if t.Master != "" {
		s.addr = "the primary of " + t.Master
		s.Client = redis.NewFailoverClient(failover(t, o))
	} else {
		s.Client = redis.NewClient(o)
	}
	s.Client.AddHook(meter{t.Meter})
	return s, nil
}

// Close ends the connections.
func (s *Server) Close() error {
	if err := s.Client.Close(); err != nil {
		return fmt.Errorf("close the connections to %s: %w", s.addr, err)
	}
	return nil
}

// quiet stops go-redis from writing to standard error: what it says there comes back
// as errors, too.
var quiet = sync.OnceFunc(logging.Disable)

func (s *Server) options(t lock.Target) (*redis.Options, error) {
	db := 0
	if t.Database != "" {
		var err error
		if db, err = strconv.Atoi(t.Database); err != nil || db < 0 {
			return nil, &Error{fmt.Errorf("redis database %q: want a number", t.Database), "redis://host:port/0 names database 0"}
		}
	}
	tc, err := tlsfile.Config(t.TLS, "")
	if err != nil {
		return nil, err
	}
	read := s.most + slack
	return &redis.Options{
		Addr:                  s.addr,
		Dialer:                s.dialer(t, tc),
		Protocol:              2, // the fewest bytes, and no look for pushed messages before each command
		Username:              t.User,
		Password:              t.Password,
		DB:                    db,
		MaxRetries:            -1,
		DialTimeout:           t.DialTimeout,
		DialerRetries:         1,
		ReadTimeout:           read,
		WriteTimeout:          read,
		ContextTimeoutEnabled: true,
		PoolSize:              max(poolSize, 4*t.Workers),
		PipelinePoolSize:      -1,
		ReadBufferSize:        buffer,
		WriteBufferSize:       buffer,
		DisableIdentity:       true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}, nil
}

// failover makes the same of a group that Sentinel watches. The sentinels get no
// password: they have one of their own, if any.
func failover(t lock.Target, o *redis.Options) *redis.FailoverOptions {
	return &redis.FailoverOptions{
		MasterName:            t.Master,
		SentinelAddrs:         t.Addrs,
		Dialer:                o.Dialer,
		Protocol:              o.Protocol,
		Username:              o.Username,
		Password:              o.Password,
		DB:                    o.DB,
		MaxRetries:            o.MaxRetries,
		DialTimeout:           o.DialTimeout,
		DialerRetries:         o.DialerRetries,
		ReadTimeout:           o.ReadTimeout,
		WriteTimeout:          o.WriteTimeout,
		ContextTimeoutEnabled: true,
		PoolSize:              o.PoolSize,
		PipelinePoolSize:      o.PipelinePoolSize,
		ReadBufferSize:        o.ReadBufferSize,
		WriteBufferSize:       o.WriteBufferSize,
		DisableIdentity:       true,
	}
}

// dialer maps what servers announce to where they are reached. The TLS handshake is
// done here, because go-redis leaves it to a Dialer that is given.
func (s *Server) dialer(t lock.Target, tc *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	d := &net.Dialer{Timeout: t.DialTimeout, KeepAlive: 15 * time.Second}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if to, ok := t.Reach[addr]; ok {
			addr = to
		}
		dial := d.DialContext
		if tc != nil {
			dial = (&tls.Dialer{NetDialer: d, Config: tc}).DialContext
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err // go-redis says what it was doing
		}
		return newConn(c, &s.flights), nil
	}
}

// Greet speaks to the server once over each connection that the workers will need, so
// that no acquisition pays for dialling, and loads the scripts. It fails within t.DialTimeout,
// or when ctx ends.
func (s *Server) Greet(ctx context.Context, t lock.Target, scripts ...*Script) error {
	ctx, cancel := context.WithTimeout(lock.WithTrace(ctx, nil), t.DialTimeout)
	defer cancel()
	conns := make([]*redis.Conn, min(max(t.Workers, 1), warm))
	errs := make(chan error, len(conns))
	for i := range conns {
		conns[i] = s.Client.Conn()
		go func() { errs <- conns[i].Ping(ctx).Err() }()
	}
	var err error
	for range conns {
		// go-redis does not heed the end of a context while it waits, but its deadline.
		err = errors.Join(err, <-errs)
	}
	for _, c := range conns {
		_ = c.Close() // back into the pool
	}
	for _, sc := range scripts {
		if err == nil {
			err = s.Client.ScriptLoad(ctx, sc.source).Err()
		}
	}
	if err != nil {
		return s.unreachable(err)
	}
	return nil
}
