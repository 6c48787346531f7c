package actor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockbench/chaos/witness"
	"lockbench/lock"
)

// fake is a client whose answers a test makes up.
type fake struct {
	mu       sync.Mutex
	acquire  func(ctx context.Context, o lock.AcquireOptions) (lock.Lease, error)
	close    func() error
	prepare  func(key string) error
	prepared []string
	value    int64
}

func (f *fake) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (lock.Lease, error) {
	return f.acquire(ctx, o)
}

func (f *fake) Close() error {
	if f.close != nil {
		return f.close()
	}
	return nil
}

func (f *fake) Prepare(_ context.Context, keys []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prepared = append(f.prepared, keys...)
	if f.prepare != nil {
		return f.prepare(keys[0])
	}
	return nil
}

func (f *fake) Value(context.Context, string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value, nil
}

func (f *fake) info() lock.Info {
	return lock.Info{Name: "fake", Dial: func(context.Context, lock.Target) (lock.Client, error) { return f, nil }}
}

// fakeLease is a lease that a test ends.
type fakeLease struct {
	mu       sync.Mutex
	lost     chan struct{}
	until    time.Time // zero: none
	applied  int
	apply    func(n int) error
	released []error // what Release returns, one after the other
	releases int
}

func newLease(until time.Time) *fakeLease { return &fakeLease{lost: make(chan struct{}), until: until} }

func (l *fakeLease) Lost() <-chan struct{} { return l.lost }
func (l *fakeLease) Token() (uint64, bool) { return 0, false }

func (l *fakeLease) ValidUntil() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until, !l.until.IsZero()
}

func (l *fakeLease) extend(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
}

func (l *fakeLease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releases++
	if len(l.released) < l.releases {
		<-ctx.Done()
		return fmt.Errorf("release: %w: %w", lock.ErrUnknown, ctx.Err())
	}
	return l.released[l.releases-1]
}

// fakeGuarded has a protected write.
type fakeGuarded struct{ *fakeLease }

func (l fakeGuarded) Apply(context.Context, int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applied++
	return l.apply(l.applied)
}

// fakeStores takes all, and says when.
type fakeStores struct {
	mu     sync.Mutex
	writes []time.Time
	err    error
}

func (s *fakeStores) Read(context.Context, string, int, *uint64) (witness.Op, error) {
	return witness.Op{Value: 7}, s.err
}

func (s *fakeStores) Write(context.Context, string, int, *uint64, int64) (witness.Op, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, time.Now())
	return witness.Op{}, s.err
}

func (s *fakeStores) Close() error { return nil }

// fakeOptimistic updates a number.
type fakeOptimistic struct {
	mu    sync.Mutex
	value int64
}

func (o *fakeOptimistic) Close() error { return nil }

func (o *fakeOptimistic) Value(context.Context, string) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.value, nil
}

func (o *fakeOptimistic) Update(ctx context.Context, key string, fn func(int64) int64) (int, error) {
	for n := 1; ; n++ {
		v, _ := o.Value(ctx, key)
		next := fn(v)
		if ctx.Err() != nil {
			return n, fmt.Errorf("update: %w: %w", lock.ErrNotAcquired, ctx.Err())
		}
		o.mu.Lock()
		same := o.value == v
		if same {
			o.value = next
		}
		o.mu.Unlock()
		if same {
			return n, nil
		}
	}
}
