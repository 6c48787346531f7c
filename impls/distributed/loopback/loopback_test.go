package loopback_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"lockbench/impls/distributed/loopback"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// guard bounds what a test waits for.
const guard = 30 * time.Second

func info(t testing.TB, name string) lock.Info {
	t.Helper()
	for _, i := range loopback.Infos() {
		if i.Name == name {
			return i
		}
	}
	t.Fatalf("no lock %s", name)
	return lock.Info{}
}

func dial(t testing.TB, name string, tg lock.Target) lock.Leaser {
	t.Helper()
	c, err := info(t, name).Dial(t.Context(), tg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(lock.Leaser)
}

func via(s *loopback.Server, p *tcpproxy.Proxy) lock.Target {
	tg := target(s)
	tg.Addrs = []string{p.Addr()}
	return tg
}

func options() lock.AcquireOptions {
	return lock.AcquireOptions{TTL: time.Minute, Fence: true, Renew: true, Wait: lock.WaitPolicy{Min: 1, Max: 1}}
}

func acquire(t testing.TB, c lock.Leaser, o lock.AcquireOptions) lock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	l, err := c.Acquire(ctx, "k", o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type result struct {
	l   lock.Lease
	err error
}

// arrive begins an acquisition and waits until n are in the queue.
func arrive(t testing.TB, c, look lock.Leaser, o lock.AcquireOptions, n int) <-chan result {
	t.Helper()
	got := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), guard)
		defer cancel()
		l, err := c.Acquire(ctx, "k", o)
		got <- result{l, err}
	}()
	awaitQueue(t, look, n)
	return got
}

func awaitQueue(t testing.TB, c lock.Leaser, n int) {
	t.Helper()
	q := c.(interface {
		Queued(context.Context, string) (int, error)
	})
	for end := time.Now().Add(guard); ; time.Sleep(time.Millisecond) {
		have, err := q.Queued(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if have == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d wait, want %d", have, n)
		}
	}
}

func awaitLost(t testing.TB, l lock.Lease) {
	t.Helper()
	select {
	case <-l.Lost():
	case <-time.After(guard):
		t.Fatal("the holder was not told")
	}
}

func try(o lock.AcquireOptions) lock.AcquireOptions {
	o.Try = true
	return o
}

var both = []string{"control-perfect", "control-ttl"}

// TestDeadWaiter: a waiter whose connection ends is no obstacle to those behind it.
func TestDeadWaiter(t *testing.T) {
	for _, name := range both {
		t.Run(name, func(t *testing.T) {
			s := listen(t)
			p := tcpproxy.New(t, s.Addr())
			a, dies, b := dial(t, name, target(s)), dial(t, name, via(s, p)), dial(t, name, target(s))
			l := acquire(t, a, options())
			first := arrive(t, dies, a, options(), 1)
			second := arrive(t, b, a, options(), 2)
			p.Refuse(true)
			p.Cut()
			if r := <-first; !errors.Is(r.err, lock.ErrUnknown) {
				t.Errorf("a waiter that is cut off: %v, %v", r.l, r.err)
			}
			awaitQueue(t, a, 1)
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := <-second
			if r.err != nil {
				t.Fatal(r.err)
			}
			if tok, _ := r.l.Token(); tok != 2 {
				t.Errorf("token %d, want 2: the dead one got none", tok)
			}
		})
	}
}

// TestTurnIsLost: the message that tells a waiter its turn does not arrive.
func TestTurnIsLost(t *testing.T) {
	for _, name := range both {
		t.Run(name, func(t *testing.T) {
			s := listen(t)
			p := tcpproxy.New(t, s.Addr())
			a, b := dial(t, name, target(s)), dial(t, name, via(s, p))
			l := acquire(t, a, options())
			got := arrive(t, b, a, options(), 1)
			p.DropReplies(1)
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.AwaitDropped(1)
			if r := <-got; r.err != nil {
				t.Fatal(r.err)
			} else if err := r.l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplyIsLost: a grant whose reply does not arrive is asked for again, or taken back.
func TestReplyIsLost(t *testing.T) {
	for _, name := range both {
		t.Run(name, func(t *testing.T) {
			s := listen(t)
			p := tcpproxy.New(t, s.Addr())
			a, b := dial(t, name, target(s)), dial(t, name, via(s, p))
			p.DropReplies(1)
			l := acquire(t, b, options())
			if tok, _ := l.Token(); tok != 1 {
				t.Errorf("token %d: granted twice", tok)
			}
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.DropReplies(1)
			if _, err := b.Acquire(t.Context(), "k", try(options())); !errors.Is(err, lock.ErrNotAcquired) {
				t.Errorf("try without an answer, taken back: %v", err)
			}
			p.HoldReplies(true)
			got := make(chan error, 1)
			go func() { _, err := b.Acquire(t.Context(), "k", options()); got <- err }()
			p.AwaitHeld(1) // granted, and nobody knows
			p.Cut()
			p.HoldReplies(false)
			if err := <-got; err == nil {
				t.Error("acquired on a connection that has ended")
			}
			if err := acquire(t, a, options()).Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPerfect: no time ends its lease; the end of its connection does, and the
// holder is told before the next one gets in.
func TestPerfect(t *testing.T) {
	s := listen(t)
	p := tcpproxy.New(t, s.Addr())
	a, b := dial(t, "control-perfect", via(s, p)), dial(t, "control-perfect", target(s))
	o := options()
	o.TTL = time.Millisecond
	l := acquire(t, a, o).(lock.Guarded)
	if _, ok := l.ValidUntil(); ok {
		t.Error("it has a deadline")
	}
	if err := l.Apply(t.Context(), 5); err != nil {
		t.Error(err)
	}
	got := arrive(t, b, b, o, 1)
	p.Hold(true)
	time.Sleep(20 * time.Millisecond) // many TTLs: nothing may happen
	if len(got) != 0 {
		t.Fatal("granted to another while its holder lives")
	}
	p.Cut()
	awaitLost(t, l)
	if len(got) != 0 {
		t.Error("granted to the next before its holder was told")
	}
	p.Hold(false)
	r := <-got
	if r.err != nil {
		t.Fatal(r.err)
	}
	if err := l.Apply(t.Context(), 100); err == nil {
		t.Error("a write under a lost lease was acknowledged")
	}
	if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("release: %v", err)
	}
	if err := r.l.(lock.Guarded).Apply(t.Context(), 2); err != nil {
		t.Error(err)
	}
	if v, err := a.(lock.Valuer).Value(t.Context(), "k"); err != nil || v != 7 {
		t.Errorf("value %d, %v; want 7, on a new connection", v, err)
	}
}

// TestTTLHolderIsCutOff: its lease lasts to its end, and it can renew on a new connection.
func TestTTLHolderIsCutOff(t *testing.T) {
	s := listen(t)
	p := tcpproxy.New(t, s.Addr())
	a, b := dial(t, "control-ttl", via(s, p)), dial(t, "control-ttl", target(s))
	l := acquire(t, a, options())
	p.Cut()
	p.AwaitOpen(0)
	if _, err := b.Acquire(t.Context(), "k", try(options())); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("while its TTL lasts: %v", err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Errorf("release on a new connection: %v", err)
	}
	o := options()
	o.TTL, o.Renew = 50*time.Millisecond, false
	old := acquire(t, a, o)
	awaitLost(t, old)
	next := acquire(t, b, options())
	x, _ := old.Token()
	if y, _ := next.Token(); y <= x {
		t.Errorf("token %d after %d", y, x)
	}
}

func TestDialFails(t *testing.T) {
	s := listen(t)
	p := tcpproxy.New(t, s.Addr())
	dial := func(change func(*lock.Target)) error {
		tg := via(s, p)
		change(&tg)
		c, err := info(t, "control-ttl").Dial(t.Context(), tg)
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := dial(func(tg *lock.Target) { tg.Addrs = nil }); err == nil {
		t.Error("no address")
	}
	if err := dial(func(tg *lock.Target) { tg.Addrs = []string{"127.0.0.1:1", "127.0.0.1:2"} }); err == nil {
		t.Error("two addresses")
	}
	if err := dial(func(tg *lock.Target) {
		tg.Addrs = []string{"server:1"}
		tg.Reach = map[string]string{"server:1": p.Addr()}
	}); err != nil {
		t.Errorf("an address that is reached by another: %v", err)
	}
	p.Hold(true)
	if err := dial(func(tg *lock.Target) { tg.DialTimeout = 20 * time.Millisecond }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that is silent: %v", err)
	}
	p.Refuse(true)
	if err := dial(func(*lock.Target) {}); err == nil {
		t.Error("refused")
	}
}

func TestNull(t *testing.T) {
	c, err := info(t, "null-lease").Dial(t.Context(), lock.Target{Addrs: []string{"nowhere:0"}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.(lock.Leaser).Acquire(t.Context(), "k", options())
	if err != nil || l.Release(t.Context()) != nil || c.Close() != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(100, func() {
		l, _ := c.(lock.Leaser).Acquire(t.Context(), "k", lock.AcquireOptions{})
		_ = l.Release(t.Context())
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestClean(t *testing.T) {
	s := listen(t)
	c := dial(t, "control-ttl", target(s))
	acquire(t, c, options())
	if n := s.Clean("lockbench/other/"); n != 0 {
		t.Errorf("%d keys of others removed", n)
	}
	if n := s.Clean("lockbench/test/"); n != 1 {
		t.Errorf("%d keys removed, want 1", n)
	}
	if tok, _ := acquire(t, c, try(options())).Token(); tok != 1 {
		t.Errorf("token %d after cleaning", tok)
	}
}

// TestServerCloses: a client's calls end, and it cannot dial again.
func TestServerCloses(t *testing.T) {
	s, err := loopback.Listen()
	if err != nil {
		t.Fatal(err)
	}
	a := dial(t, "control-perfect", target(s))
	l := acquire(t, a, options())
	got := arrive(t, a, a, options(), 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	awaitLost(t, l)
	if r := <-got; r.err == nil {
		t.Error("acquired from a server that has ended")
	}
	if _, err := a.Acquire(t.Context(), "k", options()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("acquire: %v", err)
	}
}

// TestBadRequests: wrong requests are answered or end the connection; the server lives.
func TestBadRequests(t *testing.T) {
	s := listen(t)
	for _, in := range []string{
		`{"id":1,"op":"steal","key":"k"}`, `{"id":1,"op":"acquire","key":"k"}`,
		`{"id":1,"op":"acquire","key":"k","owner":1,"ttl_ns":-5}`,
		`not json`, `{"id":-1}`, strings.Repeat("x", 1<<17),
	} {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(guard))
		fmt.Fprintln(c, in)
		got, err := bufio.NewReader(c).ReadString('\n')
		if !strings.Contains(got, "bad-request") && !errors.Is(err, io.EOF) && !strings.Contains(fmt.Sprint(err), "reset") {
			t.Errorf("%.60s: %q, %v", in, got, err)
		}
		c.Close()
	}
	acquire(t, dial(t, "control-ttl", target(s)), try(options()))
}
