package leasertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockbench/lock"
)

// fault is what a fake does wrong.
type fault string

// service is a lock service in memory: a queue a key, leases, tokens and values.
// With no fault it is correct.
type service struct {
	fault fault
	mu    sync.Mutex
	keys  map[string]*slot
}

type slot struct {
	holder *fakeLease
	queue  []*fakeLease
	token  uint64
	value  int64
}

type fakeClient struct {
	s     *service
	meter *lock.Meter
	done  context.Context
	quit  context.CancelFunc
	owned map[string]*fakeLease // by owner and key; the service's mutex guards it
}

// fakeLease is a grant, or the wish for one.
type fakeLease struct {
	c       *fakeClient
	key     string
	o       lock.AcquireOptions
	granted chan struct{}
	lost    chan struct{}
	timer   *time.Timer
	until   time.Time
	token   uint64
	count   int
	over    bool
}

// handle is one of several that share a reentrant grant.
type handle struct {
	*fakeLease
	released bool
}

var (
	_ lock.Leaser  = (*fakeClient)(nil)
	_ lock.Valuer  = (*fakeClient)(nil)
	_ lock.Guarded = (*handle)(nil)
	_ Queuer       = (*fakeClient)(nil)
)

func (s *service) info() lock.Info {
	return lock.Info{Name: "fake", Family: "fake", Doc: "a fake", Source: "this test", Kind: lock.KindLease, FIFO: true,
		Remote: &lock.Remote{Services: []string{"loopback"}, Expires: true, Renews: true, Fences: true, Reentrant: true, Waits: "woken"},
		Dial: func(_ context.Context, t lock.Target) (lock.Client, error) {
			c := &fakeClient{s: s, meter: t.Meter, owned: map[string]*fakeLease{}}
			c.done, c.quit = context.WithCancel(context.Background())
			return c, nil
		}}
}

func (s *service) slot(key string) *slot {
	if s.fault == "all keys are one" {
		key = ""
	}
	if s.keys == nil {
		s.keys = map[string]*slot{}
	}
	k := s.keys[key]
	if k == nil {
		k = &slot{}
		s.keys[key] = k
	}
	return k
}

func (c *fakeClient) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (lock.Lease, error) {
	if c.s.fault == "ignores a context that has ended" {
		ctx = context.WithoutCancel(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
	}
	lock.TraceOf(ctx).Attempt()
	if c.s.fault != "counts nothing" {
		c.meter.Command(1)
		lock.TraceOf(ctx).Trip()
	}
	c.s.mu.Lock()
	k, id := c.s.slot(key), o.Owner+"/"+key
	reenters := o.Owner != "" && c.s.fault != "is not reentrant" || c.s.fault == "a client is one owner"
	if l := c.owned[id]; l != nil && !l.over && reenters {
		defer c.s.mu.Unlock()
		l.count++
		return &handle{fakeLease: l}, nil
	}
	l := &fakeLease{c: c, key: key, o: o, granted: make(chan struct{}), lost: make(chan struct{}), count: 1}
	switch {
	case k.holder == nil || c.s.fault == "does not exclude":
		c.s.grant(k, l)
		c.s.mu.Unlock()
		return &handle{fakeLease: l}, nil
	case o.Try && c.s.fault != "waits when it should try":
		c.s.mu.Unlock()
		return nil, lock.ErrNotAcquired
	}
	k.queue = append(k.queue, l)
	c.s.mu.Unlock()
	ends := ctx.Done()
	if c.s.fault == "ignores cancel" {
		ends = nil
	}
	var why error
	select {
	case <-l.granted:
		return &handle{fakeLease: l}, nil
	case <-ends:
		why = ctx.Err()
	case <-c.done.Done():
		if c.s.fault == "waits after its close" {
			<-ends
		}
		why = errors.New("closed")
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.fault == "leaks when its time is over" {
		return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, why)
	}
	c.s.forget(k, l)
	return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, why)
}

// grant makes l the holder. The caller holds mu.
func (s *service) grant(k *slot, l *fakeLease) {
	if k.token++; s.fault == "repeats a token" && k.token%4 == 0 {
		k.token--
	}
	l.token = k.token
	k.holder = l
	l.c.owned[l.o.Owner+"/"+l.key] = l
	l.until = time.Now().Add(l.o.TTL)
	l.timer = time.AfterFunc(l.o.TTL/3, func() { s.tick(k, l) })
	close(l.granted)
}

// tick renews the lease, or ends it.
func (s *service) tick(k *slot, l *fakeLease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case l.over:
	case l.o.Renew && s.fault != "never renews" && l.c.done.Err() == nil:
		l.until = time.Now().Add(l.o.TTL)
		l.timer.Reset(l.o.TTL / 3)
	case time.Now().Before(l.until):
		l.timer.Reset(time.Until(l.until))
	default:
		s.end(k, l)
		if s.fault != "does not tell of a loss" {
			close(l.lost)
		}
	}
}

// end ends a grant and grants the next. The caller holds mu.
func (s *service) end(k *slot, l *fakeLease) {
	l.over = true
	l.timer.Stop()
	if k.holder != l && s.fault != "its release frees the successor" {
		return
	}
	k.holder = nil
	if n := len(k.queue); n > 0 {
		next := k.queue[0]
		if s.fault == "last come, first served" {
			next = k.queue[n-1]
		}
		s.forget(k, next)
		s.grant(k, next)
	}
}

func (s *service) forget(k *slot, l *fakeLease) {
	for i, w := range k.queue {
		if w == l {
			k.queue = append(k.queue[:i:i], k.queue[i+1:]...)
			return
		}
	}
	if k.holder == l {
		s.end(k, l)
	}
}

func (h *handle) Release(context.Context) error {
	s := h.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != "counts nothing" {
		h.c.meter.Command(1)
	}
	if h.released && s.fault == "says yes to a second release" {
		return nil
	}
	if h.released || h.over {
		if !h.released && s.fault == "its release frees the successor" {
			s.end(s.slot(h.key), h.fakeLease)
		}
		h.released = true
		return lock.ErrNotHeld
	}
	h.released = true
	if h.count--; h.count > 0 && s.fault != "one release frees all" {
		return nil
	}
	s.end(s.slot(h.key), h.fakeLease)
	return nil
}

func (h *handle) Lost() <-chan struct{} { return h.lost }
func (h *handle) ValidUntil() (time.Time, bool) {
	h.c.s.mu.Lock()
	defer h.c.s.mu.Unlock()
	return h.until, true
}
func (h *handle) Token() (uint64, bool) { return h.token, h.o.Fence }

func (h *handle) Apply(_ context.Context, delta int64) error {
	s := h.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if (h.over || h.released) && s.fault != "writes without the lock" {
		return lock.ErrNotHeld
	}
	if s.fault != "loses writes" || delta != 1 || s.slot(h.key).value%7 != 0 {
		s.slot(h.key).value += delta
	}
	return nil
}

func (c *fakeClient) Value(_ context.Context, key string) (int64, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.s.slot(key).value, nil
}

func (c *fakeClient) Queued(_ context.Context, key string) (int, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return len(c.s.slot(key).queue), nil
}

func (c *fakeClient) Close() error {
	c.quit()
	if c.s.fault == "close hangs" {
		select {}
	}
	return nil
}
