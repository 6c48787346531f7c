package redis_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	rsgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	peerredislock "lockbench/impls/distributed/peers/redislock"
	peerredsync "lockbench/impls/distributed/peers/redsync"
	"lockbench/impls/distributed/redis"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// pair is one way to acquire and release.
type pair struct {
	name string
	run  func(ctx context.Context) error
}

const benchTTL = 10 * time.Second

// pairs are ways to send the same two commands, or those of a peer: what the client library
// alone costs (go-redis), the locks of this package, the peers through their adapters, and
// the same without (bare).
func pairs(b *testing.B) []pair {
	tg := backendtest.Target(b, "redis")
	tg.Meter = &lock.Meter{}
	ctx := context.Background()
	s, err := server.Open(ctx, tg, tg.Addrs[0], server.Release)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	name, token, ms := tg.Prefix+"a", "0123456789abcdef", benchTTL.Milliseconds()
	ps := []pair{{"go-redis", func(context.Context) error {
		if err := s.Do(ctx, time.Now(), time.Second, goredis.NewStatusCmd(ctx, "set", &name, &token, "nx", "px", &ms)); err != nil {
			return err
		}
		_, err := s.Eval(ctx, time.Now(), time.Second, server.Release, &name, &token)
		return err
	}}}
	for _, i := range slices.Concat(redis.Infos(), peerredsync.Infos(), peerredislock.Infos()) {
		c, err := i.Dial(ctx, tg)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		ps = append(ps, pair{i.Name, func(ctx context.Context) error {
			// As a client process of a cell does it.
			l, err := c.(lock.Leaser).Acquire(lock.WithTrace(ctx, lock.NewTrace()), i.Name, lock.AcquireOptions{TTL: benchTTL})
			if err != nil {
				return err
			}
			return l.Release(lock.WithTrace(context.Background(), lock.NewTrace()))
		}})
	}
	plain := goredis.NewClient(&goredis.Options{Addr: tg.Addrs[0]})
	b.Cleanup(func() { _ = plain.Close() })
	rs := redsync.New(rsgoredis.NewPool(plain))
	lc := redislock.New(plain)
	return append(ps,
		pair{"redsync/bare", func(ctx context.Context) error {
			m := rs.NewMutex(tg.Prefix+"c", redsync.WithExpiry(benchTTL))
			if err := m.LockContext(ctx); err != nil {
				return err
			}
			_, err := m.UnlockContext(context.Background())
			return err
		}},
		pair{"redislock/bare", func(ctx context.Context) error {
			l, err := lc.Obtain(ctx, tg.Prefix+"d", benchTTL, nil)
			if err != nil {
				return err
			}
			return l.Release(context.Background())
		}})
}

// waiting is a context as a worker's: it can end, and lives for many operations.
func waiting(b *testing.B) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	return ctx
}

// BenchmarkPair runs one way after the other.
func BenchmarkPair(b *testing.B) {
	for _, p := range pairs(b) {
		ctx := waiting(b)
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := p.run(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInterleaved takes turns in a random order, a few operations each, so that what else
// the machine does meets all alike, and logs the medians. LOCKBENCH_TURNS is how many turns; without, few.
func BenchmarkInterleaved(b *testing.B) {
	const burst = 50
	turns, err := strconv.Atoi(os.Getenv("LOCKBENCH_TURNS"))
	if err != nil {
		turns = 4
	}
	ps, ctx := pairs(b), waiting(b)
	took := make([][]time.Duration, len(ps))
	for range turns {
		for _, i := range rand.Perm(len(ps)) {
			start := time.Now()
			for range burst {
				if err := ps[i].run(ctx); err != nil {
					b.Fatalf("%s: %v", ps[i].name, err)
				}
			}
			took[i] = append(took[i], time.Since(start)/burst)
		}
	}
	for i, p := range ps {
		slices.Sort(took[i])
		slices.Sort(took[0])
		med, base := took[i][turns/2], took[0][turns/2]
		low, lowBase := took[i][turns/10], took[0][turns/10]
		b.Logf("%-15s median %8v, of go-redis %.3f; 10th percentile %8v, of go-redis %.3f",
			p.name, med, float64(base)/float64(med), low, float64(lowBase)/float64(low))
	}
}
