package lease_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// fake is a lock service and its driver in memory: one owner a key, with a TTL
// by the clock of the test's bubble. Hooks delay, hang or fail its requests.
type fake struct {
	mu     sync.Mutex
	next   uint64
	keys   map[string]entry
	tokens map[string]uint64
	log    []event
	closed bool
	after  []string // calls that began after Close
	start  time.Time

	// Hooks, called without the mutex; nil does nothing. An error of sent ends a
	// request before the service gets it; one of answered is what the client gets
	// instead of the reply.
	sent, answered func(ctx context.Context, what string, n int) error
	session        *lease.Keeper
	count          map[string]int
}

type entry struct {
	id      uint64
	expires time.Time
}

type event struct {
	what string
	at   time.Duration // after the start
}

func newFake() *fake {
	return &fake{keys: map[string]entry{}, tokens: map[string]uint64{}, count: map[string]int{}, start: time.Now()}
}

var (
	_ lease.Driver  = (*fake)(nil)
	_ lease.Renewer = (*fake)(nil)
)

// request runs one request: do is what the service does.
func (f *fake) request(ctx context.Context, what string, do func() error) error {
	f.mu.Lock()
	if f.closed {
		f.after = append(f.after, what)
	}
	f.count[what]++
	n := f.count[what]
	f.log = append(f.log, event{what, time.Since(f.start)})
	f.mu.Unlock()
	if f.sent != nil {
		if err := f.sent(ctx, what, n); err != nil {
			return err
		}
	}
	f.mu.Lock()
	err := do()
	f.mu.Unlock()
	if f.answered != nil {
		if err := f.answered(ctx, what, n); err != nil {
			return err
		}
	}
	return err
}

// holder returns the grant's entry, if the service still has it.
func (f *fake) holds(g *lease.Grant) bool {
	e, ok := f.keys[g.Key]
	return ok && e.id == g.Data.(uint64) && time.Now().Before(e.expires)
}

func (f *fake) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	return lease.Poll(ctx, o, func(ctx context.Context) (*lease.Grant, error) {
		g := &lease.Grant{Key: key, Sent: time.Now(), TTL: o.TTL, HasToken: o.Fence, Session: f.session}
		err := f.request(ctx, "acquire", func() error {
			if e, ok := f.keys[key]; ok && time.Now().Before(e.expires) {
				return lock.ErrNotAcquired
			}
			f.next++
			f.tokens[key]++
			f.keys[key] = entry{f.next, time.Now().Add(o.TTL)}
			g.Data, g.Token = f.next, f.tokens[key]
			return nil
		})
		return g, err
	})
}

func (f *fake) Renew(ctx context.Context, g *lease.Grant) (time.Duration, error) {
	err := f.request(ctx, "renew", func() error {
		if !f.holds(g) {
			return lock.ErrNotHeld
		}
		f.keys[g.Key] = entry{g.Data.(uint64), time.Now().Add(g.TTL)}
		return nil
	})
	return g.TTL, err
}

func (f *fake) Release(ctx context.Context, g *lease.Grant) error {
	return f.request(ctx, "release", func() error {
		if !f.holds(g) {
			return lock.ErrNotHeld
		}
		delete(f.keys, g.Key)
		return nil
	})
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		f.after = append(f.after, "close")
	}
	f.closed = true
	return nil
}

// at returns when requests of a kind were sent.
func (f *fake) at(what string) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ds []time.Duration
	for _, e := range f.log {
		if e.what == what {
			ds = append(ds, e.at)
		}
	}
	return ds
}

// free reports whether nobody has the key.
func (f *fake) free(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.keys[key]
	return !ok || !time.Now().Before(e.expires)
}

// checkClosed fails the test if the driver was called after its Close.
func (f *fake) checkClosed(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed || len(f.after) > 0 {
		t.Errorf("driver closed: %v, calls after that: %v", f.closed, f.after)
	}
}

// after returns a hook that waits before requests of one kind; ctx ends it.
func delay(kind string, d time.Duration) func(context.Context, string, int) error {
	return func(ctx context.Context, what string, _ int) error {
		if what != kind {
			return nil
		}
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
		}
	}
}

// deaf is delay by a client library that does not look at its context.
func deaf(kind string, d time.Duration) func(context.Context, string, int) error {
	return func(_ context.Context, what string, _ int) error {
		if what == kind {
			time.Sleep(d)
		}
		return nil
	}
}

// opts are those of most tests: T/3 is 2 s, T/6 is 1 s.
func opts() lock.AcquireOptions {
	return lock.AcquireOptions{TTL: 6 * time.Second, Renew: true, Fence: true,
		Wait: lock.WaitPolicy{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond, Jitter: 0.5}}
}

func acquire(t *testing.T, c lock.Leaser, key string, o lock.AcquireOptions) lock.Lease {
	t.Helper()
	l, err := c.Acquire(t.Context(), key, o)
	if err != nil {
		t.Fatalf("acquire %s: %v", key, err)
	}
	return l
}

func isLost(l lock.Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

// elapsed returns the time of the bubble.
func (f *fake) elapsed() time.Duration { return time.Since(f.start) }

func (f *fake) deadline(t *testing.T, l lock.Lease) time.Duration {
	t.Helper()
	u, ok := l.ValidUntil()
	if !ok {
		t.Fatal("no deadline")
	}
	return u.Sub(f.start)
}

func seconds(ss ...float64) []time.Duration {
	var ds []time.Duration
	for _, s := range ss {
		ds = append(ds, time.Duration(s*float64(time.Second)))
	}
	return ds
}

// newClient is a client that the test's end closes: goroutines that a client keeps for
// its next call end with it.
func newClient(t testing.TB, d lease.Driver, m *lock.Meter) *lease.Client {
	t.Helper()
	c := lease.New(d, m)
	t.Cleanup(func() { _ = c.Close() }) // a test of Close looks at its error
	return c
}
