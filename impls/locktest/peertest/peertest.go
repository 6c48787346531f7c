// Package peertest holds what all peers are tested for, against real servers.
package peertest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/lock"
)

// Hang bounds each wait for an event: a guard, not an expectation.
const Hang = 60 * time.Second

// Client is a client under test and what it has sent.
type Client struct {
	lock.Leaser
	Meter *lock.Meter
	t     *testing.T
}

// Dial returns a client that is closed when the test ends.
func Dial(t *testing.T, info lock.Info, target lock.Target) *Client {
	t.Helper()
	c := &Client{Meter: &lock.Meter{}, t: t}
	target.Meter = c.Meter
	dialled, err := info.Dial(t.Context(), target)
	if err != nil {
		t.Fatalf("dial %s: %v", info.Name, err)
	}
	c.Leaser = dialled.(lock.Leaser)
	t.Cleanup(func() {
		if err := dialled.Close(); err != nil {
			t.Errorf("close %s: %v", info.Name, err)
		}
	})
	return c
}

// Try acquires, and does so again while the outcome is unknown: a library may give an
// attempt only 20 ms, which a loaded machine does not always keep.
func (c *Client) Try(key string, o lock.AcquireOptions) (lock.Lease, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), Hang)
	defer cancel()
	for {
		l, err := c.Acquire(ctx, key, o)
		if !errors.Is(err, lock.ErrUnknown) || ctx.Err() != nil {
			return l, err
		}
	}
}

// Get acquires within Hang.
func (c *Client) Get(key string, o lock.AcquireOptions) lock.Lease {
	c.t.Helper()
	l, err := c.Try(key, o)
	if err != nil {
		c.t.Fatalf("acquire %s: %v", key, err)
	}
	return l
}

// Put releases.
func (c *Client) Put(l lock.Lease) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Hang)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		c.t.Fatalf("release: %v", err)
	}
}

// Await waits until cond holds.
func Await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(Hang); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Options of Run.
type Options struct {
	NoTry bool // the library has no single attempt
	// Queues: a caller that leaves stays in the queue until its turn, and is then an orphan.
	Queues bool
	// Rounds is how often each of the workers acquires in the test of exclusion.
	Rounds int
}

// Run runs the tests that all peers pass. The target's TTL must be long enough for a
// loaded machine.
func Run(t *testing.T, info lock.Info, target lock.Target, o Options) {
	if err := info.Validate(); err != nil {
		t.Error(err)
	}
	t.Run("exclusion", func(t *testing.T) { exclusion(t, info, target, o.Rounds) })
	t.Run("try", func(t *testing.T) { try(t, info, target, o.NoTry) })
	t.Run("leave", func(t *testing.T) { leave(t, info, target, o.Queues) })
	t.Run("ended context", func(t *testing.T) { ended(t, info, target) })
	t.Run("unreachable", func(t *testing.T) { unreachable(t, info, target) })
}

// exclusion: workers of two clients, which are several in each.
func exclusion(t *testing.T, info lock.Info, target lock.Target, rounds int) {
	const workers = 3
	clients := []*Client{Dial(t, info, target), Dial(t, info, target)}
	var inside, entered atomic.Int64
	var last atomic.Uint64
	var all sync.WaitGroup
	for _, c := range clients {
		for range workers {
			all.Add(1)
			go func() {
				defer all.Done()
				for done := 0; done < rounds; {
					ctx, cancel := context.WithTimeout(t.Context(), Hang)
					l, err := c.Acquire(ctx, "hot", lock.AcquireOptions{TTL: target.TTL, Renew: true, Fence: true})
					cancel()
					if errors.Is(err, lock.ErrNotAcquired) && ctx.Err() == nil {
						continue // the library gives up before its caller does
					}
					if err != nil {
						t.Errorf("acquire: %v", err)
						return
					}
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d are inside", n)
					}
					if token, ok := l.Token(); ok != info.Remote.Fences {
						t.Errorf("token: %v, claimed: %v", ok, info.Remote.Fences)
					} else if before := last.Swap(token); ok && token <= before {
						t.Errorf("token %d after %d", token, before)
					}
					entered.Add(1)
					inside.Add(-1)
					if err := l.Release(context.WithoutCancel(ctx)); err != nil {
						t.Errorf("release: %v", err)
						return
					}
					done++
				}
			}()
		}
	}
	all.Wait()
	if want := int64(len(clients) * workers * rounds); entered.Load() != want && !t.Failed() {
		t.Errorf("%d acquisitions, want %d", entered.Load(), want)
	}
}

func try(t *testing.T, info lock.Info, target lock.Target, no bool) {
	a, b := Dial(t, info, target), Dial(t, info, target)
	o := lock.AcquireOptions{TTL: target.TTL, Try: true}
	if no {
		if _, err := a.Acquire(t.Context(), "k", o); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("try: %v, want unsupported", err)
		}
		return
	}
	l := a.Get("k", o)
	for _, c := range []*Client{a, b} { // the same process is another owner, too
		if _, err := c.Try("k", o); !errors.Is(err, lock.ErrNotAcquired) {
			t.Errorf("try while it is held: %v, want not acquired", err)
		}
	}
	other := b.Get("other", o)
	a.Put(l)
	l = b.Get("k", o)
	b.Put(l)
	b.Put(other)
	if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("second release: %v, want not held", err)
	}
}

// leave: a caller that leaves while it waits returns, and keeps nobody from the lock.
func leave(t *testing.T, info lock.Info, target lock.Target, queues bool) {
	a, b := Dial(t, info, target), Dial(t, info, target)
	o := lock.AcquireOptions{TTL: target.TTL, Renew: true}
	l := a.Get("k", o)
	trace := lock.NewTrace()
	ctx, cancel := context.WithCancel(lock.WithTrace(t.Context(), trace))
	got := make(chan error, 1)
	go func() {
		_, err := b.Acquire(ctx, "k", o)
		got <- err
	}()
	Await(t, "a request", func() bool { return trace.Trips() > 0 })
	cancel()
	select {
	case err := <-got:
		if !errors.Is(err, context.Canceled) || !errors.Is(err, lock.ErrNotAcquired) && !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("acquire: %v, want canceled, and not acquired or unknown", err)
		}
	case <-time.After(Hang):
		t.Fatal("the caller has left, but Acquire does not return")
	}
	if err := l.Release(t.Context()); err != nil && !errors.Is(err, lock.ErrNotHeld) { // its TTL may be over
		t.Errorf("release: %v", err)
	}
	if queues {
		Await(t, "the orphan", func() bool { return b.Meter.Orphans.Load() == 1 })
	}
	for _, c := range []*Client{a, b} {
		c.Put(c.Get("k", o))
	}
}

func ended(t *testing.T, info lock.Info, target lock.Target) {
	a := Dial(t, info, target)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Acquire(ctx, "k", lock.AcquireOptions{TTL: target.TTL}); !errors.Is(err, lock.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
		t.Errorf("acquire: %v, want not acquired and canceled", err)
	}
	a.Put(a.Get("k", lock.AcquireOptions{TTL: target.TTL}))
}

// unreachable: nobody listens at the address.
func unreachable(t *testing.T, info lock.Info, target lock.Target) {
	target.DialTimeout = time.Second
	target.Reach = nil
	target.Addrs = append([]string(nil), target.Addrs...)
	for i := range target.Addrs {
		target.Addrs[i] = "127.0.0.1:1" // tcpmux: nobody has it
	}
	target.Password = "s3cret-of-nobody"
	c, err := info.Dial(t.Context(), target)
	if err == nil {
		t.Error("dial: no error")
		_ = c.Close()
		return
	}
	t.Logf("dial: %v", err)
	if s := err.Error(); len(s) > 2000 || containsSecret(s, target.Password) {
		t.Errorf("dial: %s", s)
	}
}
