package backends

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"lockbench/lock"
)

var redisServer = server{serves: redisPing, version: redisVersion, clean: redisClean, names: redisNames, given: redisGiven}

// planRedis is for independent servers that keep nothing.
func planRedis(b *build, top Topology) []*spec {
	var out []*spec
	for i := range top.Nodes {
		out = append(out, redisSpec(b, fmt.Sprintf("redis-%d", i+1), false))
	}
	return out
}

// planRedisAOF is for one that keeps its data.
func planRedisAOF(b *build, _ Topology) []*spec { return []*spec{redisSpec(b, "redis-1", true)} }

// redisSpec is an independent primary. Nothing is saved but what aof asks for:
// the default of Redis is a snapshot now and then, which forks in mid-measurement.
func redisSpec(b *build, name string, aof bool) *spec {
	p := b.port()
	addr := b.serve(name, p)
	b.target.Addrs = append(b.target.Addrs, addr)
	return b.clocked(&spec{name: name, cmd: redisArgs(b, p, aof), publish: []int{p}, addr: addr})
}

func redisArgs(b *build, port int, aof bool) []string {
	args := []string{"redis-server", "--port", strconv.Itoa(port), "--bind", b.bind(),
		"--protected-mode", "no", // it refuses clients from outside; there are none
		"--save", "", "--daemonize", "no"}
	if aof {
		// everysec is what Redis ships, and what people run: a crash of the machine loses up to a
		// second of writes, one of the server none.
		return append(args, "--appendonly", "yes", "--appendfsync", "everysec")
	}
	return append(args, "--appendonly", "no")
}

// quiet keeps the client library from writing to the standard error stream, which is the
// command line's.
var quiet = sync.OnceFunc(logging.Disable)

// redisClient returns a client of one server that says at once what it meets.
func redisClient(t lock.Target, addr string) (*redis.Client, error) {
	cfg, err := tlsConfig(t.TLS, addr)
	if err != nil {
		return nil, err
	}
	db := 0
	if t.Database != "" {
		if db, err = strconv.Atoi(t.Database); err != nil {
			return nil, fmt.Errorf("number of the database: %w", err)
		}
	}
	quiet()
	return redis.NewClient(&redis.Options{Addr: addr, Username: t.User, Password: t.Password, DB: db, TLSConfig: cfg,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: askTimeout, ReadTimeout: askTimeout, ContextTimeoutEnabled: true,
		PoolSize: 2, DisableIdentity: true}), nil
}

// withRedis does something with one server.
func withRedis(ctx context.Context, t lock.Target, addr string, do func(context.Context, *redis.Client) error) error {
	c, err := redisClient(t, addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // nothing is under way
	return do(ctx, c)
}

func redisPing(ctx context.Context, t lock.Target, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	// go-redis tells the standard error stream of connections that fail; this says it to the caller alone.
	if err := dialable(ctx, addr); err != nil {
		return err
	}
	return withRedis(ctx, t, addr, func(ctx context.Context, c *redis.Client) error {
		if err := c.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("ping %s: %w", addr, err)
		}
		return nil
	})
}

func redisVersion(ctx context.Context, t lock.Target, addr string) (string, error) {
	info, err := redisInfo(ctx, t, addr, "server")
	return info["redis_version"], err
}

// redisInfo returns a section of what the server says of itself.
func redisInfo(ctx context.Context, t lock.Target, addr, section string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out := map[string]string{}
	err := withRedis(ctx, t, addr, func(ctx context.Context, c *redis.Client) error {
		text, err := c.Info(ctx, section).Result()
		if err != nil {
			return fmt.Errorf("ask %s about its %s: %w", addr, section, err)
		}
		for line := range strings.Lines(text) {
			if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				out[k] = v
			}
		}
		return nil
	})
	return out, err
}

func redisClean(ctx context.Context, t lock.Target, prefix string) (int, error) {
	n := 0
	var errs []error
	for _, addr := range t.Addrs {
		errs = append(errs, withRedis(ctx, t, addr, func(ctx context.Context, c *redis.Client) error {
			m, err := redisUnlink(ctx, c, prefix)
			n += m
			return err
		}))
	}
	return n, errors.Join(errs...)
}

// scanCount is how many keys a step of the scan looks at: enough to be quick, few
// enough to keep nobody waiting (documentation of SCAN).
const scanCount = 1000

// globs are what a pattern of Redis gives a meaning to.
var globs = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// redisUnlink removes all keys that begin with prefix. What is written while it scans may stay.
func redisUnlink(ctx context.Context, c *redis.Client, prefix string) (int, error) {
	n, cursor := 0, uint64(0)
	for {
		keys, next, err := c.Scan(ctx, cursor, globs.Replace(prefix)+"*", scanCount).Result()
		if err != nil {
			return n, fmt.Errorf("scan: %w", err)
		}
		if len(keys) > 0 {
			m, err := c.Unlink(ctx, keys...).Result()
			if err != nil {
				return n, fmt.Errorf("unlink: %w", err)
			}
			n += int(m)
		}
		if cursor = next; cursor == 0 {
			return n, nil
		}
	}
}

// redisGiven wants primaries that stand alone.
func redisGiven(ctx context.Context, t lock.Target) error {
	for _, addr := range t.Addrs {
		info, err := redisInfo(ctx, t, addr, "server")
		if err != nil {
			return err
		}
		switch info["redis_mode"] {
		case "sentinel":
			return &Error{fmt.Errorf("%s is a sentinel", addr), "redis-sentinel://HOST,HOST,HOST?master=NAME finds the primary through sentinels"}
		case "cluster":
			return &Error{fmt.Errorf("%s is a member of a Redis Cluster", addr), "name a primary that stands alone, or one behind sentinels"}
		}
		if info, err = redisInfo(ctx, t, addr, "replication"); err != nil {
			return err
		}
		if info["role"] == "slave" {
			return &Error{fmt.Errorf("%s is a replica, which takes no writes", addr), "name the primary"}
		}
	}
	return nil
}
