package goredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"lockbench/impls/distributed/peers/wire"
	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

// poolPerProc is go-redis's default PoolSize for each of GOMAXPROCS.
const poolPerProc = 10

// Open returns a client for each server of the target, or one for the primary that
// its sentinels name, with the hook of a library. A majority of them has answered a
// PING. It fails within t.DialTimeout, or when ctx ends.
func Open(ctx context.Context, t lock.Target, d Dialect) ([]*redis.Client, error) {
	logging.Disable() // what go-redis logs comes back as errors, too
	db := 0
	if t.Database != "" {
		var err error
		if db, err = strconv.Atoi(t.Database); err != nil || db < 0 {
			return nil, fmt.Errorf("redis database %q: want a number", t.Database)
		}
	}
	tc, err := tlsfile.Config(t.TLS, "")
	if err != nil {
		return nil, err
	}
	pool := 0 // the default
	if t.Workers > poolPerProc*runtime.GOMAXPROCS(0) {
		pool = t.Workers
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return wire.Dial(ctx, t, tc, network, addr)
	}
	var cs []*redis.Client
	if t.Master != "" {
		cs = append(cs, redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: t.Master, SentinelAddrs: t.Addrs, Dialer: dial, DialTimeout: t.DialTimeout,
			Username: t.User, Password: t.Password, DB: db, PoolSize: pool,
		}))
	} else {
		for _, addr := range t.Addrs {
			o := &redis.Options{Addr: addr, DialTimeout: t.DialTimeout, Username: t.User, Password: t.Password, DB: db, PoolSize: pool}
			if tc != nil || len(t.Reach) > 0 {
				o.Dialer = dial
			}
			cs = append(cs, redis.NewClient(o))
		}
	}
	for i, c := range cs {
		c.AddHook(&hook{d: d, meter: t.Meter, node: i, nodes: int64(len(cs))})
	}
	if err := greet(ctx, t, cs); err != nil {
		Close(cs)
		return nil, err
	}
	return cs, nil
}

// Close ends the connections.
func Close(cs []*redis.Client) error {
	var errs []error
	for _, c := range cs {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// greet waits until a majority has answered. Waiting for one that does not is left to a
// goroutine, because go-redis tries again for longer than the cell wants to wait; closing
// the client ends it.
func greet(ctx context.Context, t lock.Target, cs []*redis.Client) error {
	if len(cs) == 0 {
		return errors.New("connect to Redis: no address")
	}
	ctx, cancel := context.WithTimeout(lock.WithTrace(ctx, nil), t.DialTimeout)
	defer cancel()
	answers := make(chan error, len(cs))
	for _, c := range cs {
		go func() {
			if err := c.Ping(ctx).Err(); err != nil {
				answers <- fmt.Errorf("ping Redis at %s: %w", c.Options().Addr, err)
				return
			}
			answers <- nil
		}()
	}
	var up, down int
	var errs []error
	for up < len(cs)/2+1 {
		select {
		case err := <-answers:
			if err == nil {
				up++
				continue
			}
			errs = append(errs, err)
			if down++; down > (len(cs)-1)/2 {
				return errors.Join(errs...)
			}
		case <-ctx.Done():
			return errors.Join(append(errs, fmt.Errorf("connect to Redis at %s: %d of %d servers have answered: %w", strings.Join(t.Addrs, ", "), up, len(cs), ctx.Err()))...)
		}
	}
	return nil
}
