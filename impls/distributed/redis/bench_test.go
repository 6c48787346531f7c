package redis

import (
	"context"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	rsgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// BenchmarkPair compares, in one run, ways to send the same two commands: what the library
// alone costs, what this package adds, and the peers with their defaults.
func BenchmarkPair(b *testing.B) {
	tg := backendtest.Target(b, "redis")
	ctx := context.Background()
	const ttl = 10 * time.Second
	b.Run("go-redis", func(b *testing.B) {
		s, err := server.Open(ctx, tg, tg.Addrs[0], server.Release)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		name, token, ms := tg.Prefix+"a", "0123456789abcdef", ttl.Milliseconds()
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Do(ctx, time.Now(), time.Second, redis.NewStatusCmd(ctx, "set", &name, &token, "nx", "px", &ms)); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Eval(ctx, time.Now(), time.Second, server.Release, &name, &token); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, i := range Infos() {
		b.Run(i.Name, func(b *testing.B) {
			c, err := i.Dial(ctx, tg)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			o := lock.AcquireOptions{TTL: ttl}
			b.ReportAllocs()
			for b.Loop() {
				l, err := c.(lock.Leaser).Acquire(ctx, "b", o)
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Release(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	plain := redis.NewClient(&redis.Options{Addr: tg.Addrs[0]})
	defer plain.Close()
	b.Run("redsync", func(b *testing.B) {
		m := redsync.New(rsgoredis.NewPool(plain)).NewMutex(tg.Prefix+"c", redsync.WithExpiry(ttl))
		b.ReportAllocs()
		for b.Loop() {
			if err := m.LockContext(ctx); err != nil {
				b.Fatal(err)
			}
			if _, err := m.UnlockContext(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("redislock", func(b *testing.B) {
		c := redislock.New(plain)
		b.ReportAllocs()
		for b.Loop() {
			l, err := c.Obtain(ctx, tg.Prefix+"d", ttl, nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := l.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}
