package etcd

import (
	"context"
	"fmt"
	"testing"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// The calls of the kit come on the caller's goroutine. These tests hold what the server
// answers: a call that waited for it would not return.

// onlyProxy returns a client that reaches the server through a proxy alone.
func onlyProxy(t *testing.T, tg lock.Target) (*client, *tcpproxy.Proxy) {
	t.Helper()
	p := tcpproxy.New(t, tg.Addrs[0])
	tg.Addrs = []string{p.Addr()}
	return connect(t, tg), p
}

// never is a TTL, and with it a time for each request, that no test outlives.
const never = time.Hour

func orphans(t *testing.T, m *lock.Meter, want int64) {
	t.Helper()
	until(t, fmt.Sprintf("%d orphans", want), func() bool { return m.Orphans.Load() >= want })
	if got := m.Orphans.Load(); got != want {
		t.Errorf("orphans: got %d, want %d", got, want)
	}
}

// A caller leaves while the answer to his put is held: he returns, and what he has won is
// given back as soon as the server can be reached, and counted.
func TestAcquireReturnsAtOnce(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL, tg.Meter = never, &lock.Meter{}
	see := looking(t, tg)
	c, p := onlyProxy(t, tg)
	for _, renew := range []bool{true, false} {
		tg.Meter.Orphans.Store(0)
		o := options(tg)
		o.Renew = renew
		release(t, acquire(t, c, "k", o))
		if !renew {
			// Its session would be asked for behind the proxy, too, and no key be there.
			continue
		}
		p.HoldReplies(true)
		ctx, cancel := context.WithCancel(within(t))
		got := start(ctx, c, "k", o)
		see.queued("k", 1)
		cancel()
		err := await(t, "the return", got).err
		wantErr(t, "acquire", err, lock.ErrUnknown)
		wantErr(t, "acquire", err, context.Canceled)
		p.HoldReplies(false)
		see.queued("k", 0)
		orphans(t, tg.Meter, 1)
		release(t, acquire(t, c, "k", o))
	}
}

// The same before anything has come back of a session that is made for the
// acquisition: nothing can have been won.
func TestSessionReturnsAtOnce(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL, tg.Meter = never, &lock.Meter{}
	c, p := onlyProxy(t, tg)
	o := options(tg)
	o.Renew = false
	p.HoldReplies(true)
	ctx, cancel := context.WithCancel(within(t))
	got := start(ctx, c, "k", o)
	p.AwaitHeld(1)
	cancel()
	err := await(t, "the return", got).err
	wantErr(t, "acquire", err, lock.ErrNotAcquired)
	wantErr(t, "acquire", err, context.Canceled)
	p.HoldReplies(false)
	// The lease is revoked, so that the client has but its own left.
	until(t, "the end of the lease", func() bool {
		c.d.mu.Lock()
		defer c.d.mu.Unlock()
		return len(c.d.leases) == 1
	})
	orphans(t, tg.Meter, 0)
}

// A waiter leaves while nothing comes from the server. If the lock was his by then,
// he is an orphan.
func TestWaiterReturnsAtOnce(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL, tg.Meter = never, &lock.Meter{}
	see := looking(t, tg)
	c, p := onlyProxy(t, tg)
	direct := tg
	direct.Meter = nil
	other := connect(t, direct)
	for i, granted := range []bool{false, true} {
		held := acquire(t, other, "k", options(tg))
		tr := lock.NewTrace()
		ctx, cancel := context.WithCancel(lock.WithTrace(within(t), tr))
		got := start(ctx, c, "k", options(tg))
		see.queued("k", 2)
		until(t, "the watch", func() bool { return tr.Trips() == 2 })
		p.HoldReplies(true)
		if granted {
			release(t, held)
			see.queued("k", 1)
		}
		cancel()
		wantErr(t, "acquire", await(t, "the return", got).err, lock.ErrUnknown)
		p.HoldReplies(false)
		if !granted {
			see.queued("k", 1)
			release(t, held)
		}
		see.queued("k", 0)
		orphans(t, tg.Meter, int64(i))
	}
}

// A releaser leaves while the answer is held. The key is gone, or goes in the background.
func TestReleaseReturnsAtOnce(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL, tg.Meter = never, &lock.Meter{}
	see := looking(t, tg)
	c, p := onlyProxy(t, tg)
	for _, renew := range []bool{true, false} {
		for _, hold := range []func(bool){p.HoldReplies, p.HoldRequests} {
			o := options(tg)
			o.Renew = renew
			l := acquire(t, c, "k", o)
			tr := lock.NewTrace()
			ctx, cancel := context.WithCancel(lock.WithTrace(within(t), tr))
			done := make(chan error, 1)
			hold(true)
			go func() { done <- l.Release(ctx) }()
			until(t, "the request", func() bool { return tr.Trips() == 1 })
			cancel()
			err := await(t, "the return", done)
			if err != nil { // the answer may have been faster than the hold
				wantErr(t, "release", err, lock.ErrUnknown)
				wantErr(t, "release", err, context.Canceled)
			}
			hold(false)
			see.queued("k", 0)
		}
	}
	orphans(t, tg.Meter, 0)
}

// A releaser who does not leave returns all the same, when the lease that he was granted
// would have ended.
func TestReleaseIsBounded(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL, tg.Meter = steady, &lock.Meter{}
	see := looking(t, tg)
	c, p := onlyProxy(t, tg)
	o := options(tg)
	o.TTL = time.Second // less than the server grants
	l := acquire(t, c, "k", o)
	p.HoldRequests(true)
	done := make(chan error, 1)
	go func() { done <- l.Release(context.Background()) }()
	wantErr(t, "release", await(t, "the return", done), lock.ErrUnknown)
	p.HoldRequests(false)
	see.queued("k", 0)
}

// Close ends those who wait for the lock and for answers, before it waits for anything.
func TestQuit(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = never
	see := looking(t, tg)
	c, p := onlyProxy(t, tg)
	other := connect(t, tg)
	held := acquire(t, other, "k", options(tg))
	waiting := start(within(t), c, "k", options(tg))
	see.queued("k", 2)
	p.HoldReplies(true)
	asking := start(within(t), c, "free", options(tg))
	see.queued("free", 1)
	c.d.Quit()
	for _, got := range []<-chan result{waiting, asking} {
		err := await(t, "the return", got).err
		wantErr(t, "acquire", err, lock.ErrUnknown)
		wantErr(t, "acquire", err, lease.ErrClosed)
	}
	p.HoldReplies(false)
	see.queued("k", 1)
	see.queued("free", 0)
	release(t, held)
}

// Somebody of the session has raised the version of its key: the others try again at
// once, not after a pause.
func TestVersionRaised(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = never
	c := connect(t, tg)
	s := sessionOf(t, c)
	for _, try := range []bool{true, false} {
		s.version.Store(s.version.Load() - 1)
		o := options(tg)
		o.Try = try
		tr := lock.NewTrace()
		l, err := c.Acquire(lock.WithTrace(within(t), tr), "k", o)
		if err != nil {
			t.Fatalf("try=%t: %v", try, err)
		}
		if tr.Trips() != 2 {
			t.Errorf("try=%t: %d round trips, want 2", try, tr.Trips())
		}
		release(t, l)
	}
}

// A key's name is used again after its release, but not if a request to delete it may
// still be under way.
func TestNamesAreUsedAgain(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = never
	see := looking(t, tg)
	c, p := onlyProxy(t, tg)
	name := func(o lock.AcquireOptions) string {
		t.Helper()
		l := acquire(t, c, "k", o)
		q := see.queue("k")
		if len(q) != 1 {
			t.Fatalf("queue: %q, want one", q)
		}
		release(t, l)
		return q[0]
	}
	o := options(tg)
	first := name(o)
	for range 5 {
		if got := name(o); got != first {
			t.Fatalf("name %q after %q", got, first)
		}
	}
	other := acquire(t, c, "other", o) // has the name
	second := name(o)
	if second == first {
		t.Errorf("two members at a time named %q", first)
	}
	release(t, other)

	l := acquire(t, c, "k", o)
	inDoubt := see.queue("k")[0]
	p.HoldRequests(true)
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan error, 1)
	go func() { done <- l.Release(ctx) }()
	p.AwaitHeldRequests(1)
	cancel()
	wantErr(t, "release", await(t, "the return", done), lock.ErrUnknown)
	p.HoldRequests(false)
	see.queued("k", 0)
	for range 3 {
		if got := name(o); got == inDoubt {
			t.Fatalf("name %q is used again, and may be deleted by a late request", got)
		}
	}
}

// A request whose time is up ends, and the ticker when there is nothing to look at.
func TestRequestEnds(t *testing.T) {
	done, quit := context.WithCancel(context.Background())
	d := &driver{bg: &group{}, done: done}
	r := d.begin(context.Background(), context.Background(), time.Hour)
	caller, leave := context.WithCancel(context.Background())
	left := d.begin(caller, context.Background(), never*24)
	quit() // the ticker: this test looks by itself
	d.bg.wait()

	now := time.Now()
	d.requests.look(now.Add(time.Hour - time.Minute))
	if r.ctx.Err() != nil {
		t.Error("ended before its time")
	}
	if d.requests.look(now.Add(time.Hour)) {
		t.Error("idle with requests under way")
	}
	await(t, "the end", r.ctx.Done())
	wantErr(t, "a late request", d.end(r, r.ctx.Err()), errNoAnswer)
	if left.ctx.Err() != nil {
		t.Error("another request ended")
	}
	leave()
	await(t, "the end", left.ctx.Done())
	wantErr(t, "a left request", d.end(left, left.ctx.Err()), context.Canceled)
	if d.requests.look(now.Add(time.Second)) {
		t.Error("idle right after a request")
	}
	if !d.requests.look(now.Add(time.Minute)) || d.requests.running {
		t.Error("not idle without requests")
	}
}

func TestQueued(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = never
	c := connect(t, tg)
	want := func(n int) {
		t.Helper()
		until(t, fmt.Sprintf("%d waiters", n), func() bool {
			got, err := c.Queued(within(t), "a/b")
			if err != nil {
				t.Fatal(err)
			}
			return got == n
		})
	}
	want(0)
	held := acquire(t, c, "a/b", options(tg))
	want(0)
	var waiting []<-chan result
	for i := range 3 {
		waiting = append(waiting, start(within(t), c, "a/b", options(tg)))
		want(i + 1)
	}
	release(t, held)
	for _, got := range waiting {
		r := await(t, "the grant", got)
		if r.err != nil {
			t.Fatal(r.err)
		}
		release(t, r.l)
	}
	want(0)
}
