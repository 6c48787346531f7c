package redislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	lib "github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/redislock"
	"lockbench/impls/locktest/peertest"
	"lockbench/lock"
)

// TestCase29 (bsm/redislock#74, #28, #79): how long Obtain waits, and what it says then.
// Observed of v0.9.4: without a deadline it stops after the TTL, and what it returns is the
// deadline's error alone, not joined with ErrNotObtained.
func TestCase29(t *testing.T) {
	target := backendtest.Target(t, "redis")
	c := redis.NewClient(&redis.Options{Addr: target.Addrs[0]})
	t.Cleanup(func() { _ = c.Close() })
	l := lib.New(c)
	key := target.Prefix + "k"
	held, err := l.Obtain(t.Context(), key, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &lib.Options{RetryStrategy: lib.LinearBackoff(10 * time.Millisecond)}

	_, err = l.Obtain(t.Context(), key, 100*time.Millisecond, o)
	if t.Context().Err() != nil || err == nil {
		t.Fatalf("Obtain: %v, its context: %v", err, t.Context().Err())
	}
	t.Logf("no deadline, TTL 100 ms: %v (not obtained: %v)", err, errors.Is(err, lib.ErrNotObtained))

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = l.Obtain(ctx, key, time.Millisecond, o)
	if at, _ := ctx.Deadline(); err == nil || time.Now().Before(at) {
		t.Fatalf("Obtain: %v, %v before its deadline", err, time.Until(at))
	}
	t.Logf("deadline 100 ms, TTL 1 ms: %v (not obtained: %v)", err, errors.Is(err, lib.ErrNotObtained))
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWaits is the same through this package: the caller's deadline counts, and without
// one the library's; both are told as not acquired.
func TestWaits(t *testing.T) {
	target := backendtest.Target(t, "redis")
	c := peertest.Dial(t, redislock.Infos()[0], target)
	l := c.Get("k", lock.AcquireOptions{TTL: time.Hour})
	_, err := c.Acquire(t.Context(), "k", lock.AcquireOptions{TTL: 150 * time.Millisecond})
	if !errors.Is(err, lock.ErrNotAcquired) || t.Context().Err() != nil {
		t.Errorf("no deadline: %v, want not acquired", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = c.Acquire(ctx, "k", lock.AcquireOptions{TTL: time.Millisecond})
	at, _ := ctx.Deadline()
	if !errors.Is(err, lock.ErrNotAcquired) && !errors.Is(err, lock.ErrUnknown) || time.Now().Before(at) {
		t.Errorf("deadline 300 ms, TTL 1 ms: %v, %v before the deadline", err, time.Until(at))
	}
	c.Put(l)
}
