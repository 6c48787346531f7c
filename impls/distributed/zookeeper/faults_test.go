package zookeeper

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// Operations of the protocol (ZooDefs.OpCode).
const (
	opCreate = 1
	opDelete = 2
	opMulti  = 14
)

// short is a session that a test waits out.
const short = 2 * time.Second

// TestExpiry cuts the holder off for longer than its session lasts.
func TestExpiry(t *testing.T) {
	g := target(t, one, short)
	p := tcpproxy.New(t, reach(g))
	a, b := dial(t, via(g, p.Addr())), fresh(t, g)
	old := acquire(t, a, "k")
	tokenA, _ := old.Token()
	if err := old.Apply(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	waiter := begin(t.Context(), b, "k")
	awaitQueue(t, b, "k", 2)
	// A waiter of the session that will end: case 23 (etcd#19597) and 22 (etcd#11456).
	own := begin(t.Context(), a, "k")
	awaitQueue(t, b, "k", 3)

	p.Hold(true)
	r := get(t, "the successor's grant", waiter)
	if r.err != nil {
		t.Fatal(r.err)
	}
	// The server has ended the session: the holder must have stopped trusting it before.
	if until, ok := old.ValidUntil(); !ok || !until.Before(time.Now()) {
		t.Errorf("the successor holds the lock, the holder trusts its own until %v, %v", until, ok)
	}
	get(t, "Lost", old.Lost())
	if r := get(t, "the waiter of the ended session", own); !errors.Is(r.err, lock.ErrNotAcquired) {
		t.Errorf("the waiter of the ended session: %v, %v", r.l, r.err)
	}
	if err := old.Apply(t.Context(), 100); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("write after the loss: %v", err)
	}
	p.Hold(false)
	if err := old.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("release after the loss: %v", err)
	}
	if q := queue(t, b, "k"); len(q) != 1 {
		t.Errorf("the old release touched the queue: %q", q)
	}
	next := r.l.(lock.Guarded)
	if token, _ := next.Token(); token <= tokenA {
		t.Errorf("tokens %d, then %d", tokenA, token)
	}
	if err := next.Apply(t.Context(), 1); err != nil {
		t.Errorf("the successor's write: %v", err)
	}
	release(t, next)
	release(t, acquire(t, a, "k")) // in a new session
	if v, err := b.Value(t.Context(), "k"); v != 2 || err != nil {
		t.Errorf("value %d, %v: want 2", v, err)
	}
}

// TestReset: a connection that is lost, and back in time, costs nothing.
func TestReset(t *testing.T) {
	g := target(t, one, long)
	p := tcpproxy.New(t, reach(g))
	g = via(g, p.Addr())
	a, b := dial(t, g), fresh(t, g)
	held := acquire(t, a, "k")
	waiter := begin(t.Context(), b, "k")
	awaitQueue(t, a, "k", 2)
	for range 3 {
		n := p.Accepted()
		p.Cut()
		p.AwaitAccepted(n + 2)
	}
	if err := held.Apply(t.Context(), 3); err != nil {
		t.Errorf("apply: %v", err)
	}
	release(t, held)
	r := get(t, "the waiter", waiter)
	if r.err != nil {
		t.Fatal(r.err)
	}
	release(t, r.l)
}

// TestServerSide: the client believes, the server knows better.
func TestServerSide(t *testing.T) {
	g := target(t, one, long)
	a, b := dial(t, g), fresh(t, g)
	l := acquire(t, a, "k")
	for _, name := range queue(t, b, "k") {
		if err := current(t, b).conn.Delete(b.d.dir("k")+"/"+name, -1); err != nil {
			t.Fatal(err)
		}
	}
	next := acquire(t, b, "k")
	if err := l.Apply(t.Context(), 1); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("write: %v", err)
	}
	if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("release: %v", err)
	}
	if v, err := b.Value(t.Context(), "k"); v != 0 || err != nil {
		t.Errorf("value %d, %v", v, err)
	}
	if err := next.Apply(t.Context(), 1); err != nil {
		t.Errorf("the successor's write: %v", err)
	}
	release(t, next)
}

// TestOwnGone: a waiter whose own node has vanished is not the first because nobody is before
// it. go-zookeeper's Lock looks at the others only, and takes the lock.
func TestOwnGone(t *testing.T) {
	g := target(t, one, long)
	a, b := fresh(t, g), fresh(t, g)
	held := acquire(t, a, "k")
	mine := queue(t, a, "k")[0]
	waiter := begin(t.Context(), b, "k")
	awaitQueue(t, a, "k", 2)
	for _, name := range queue(t, a, "k") {
		if name != mine {
			if err := current(t, a).conn.Delete(a.d.dir("k")+"/"+name, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	release(t, held)
	if r := get(t, "the waiter", waiter); !errors.Is(r.err, lock.ErrNotAcquired) {
		t.Errorf("granted without a node: %v, %v", r.l, r.err)
	}
}

// TestCut: two heartbeats without an answer close the connection.
func TestCut(t *testing.T) {
	g := target(t, one, long)
	p := tcpproxy.New(t, reach(g))
	a := dial(t, via(g, p.Addr()))
	l := acquire(t, a, "k")
	s := current(t, a)
	link := func() *link {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.link
	}
	was := link()
	p.Hold(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range patience {
		if link() != was {
			t.Fatalf("closed after %d", i)
		}
		if _, err := s.renew(ctx); err == nil {
			t.Fatal("answered")
		}
	}
	if link() == was {
		t.Error("not closed")
	}
	p.Hold(false)
	release(t, l)
}

// TestCase25 loses the reply to a create: the node that nobody knows of would block its own
// client until the session ends (samuel/go-zookeeper#229, #237). Curator and go-zookeeper's
// Lock put a GUID in the name, too, and look for it; go-zookeeper lists without a sync, gives
// up after three losses with the node in place, and, when it creates again, trusts the
// new node without looking for the old.
func TestCase25(t *testing.T) {
	for _, c := range []struct {
		name  string
		early bool // the request is lost, not the reply
	}{{"reply", false}, {"request", true}} {
		t.Run(c.name, func(t *testing.T) {
			s, g := operate(t, target(t, one, long))
			a := dial(t, g)
			release(t, acquire(t, a, "k")) // the parents are there
			was := current(t, a)
			did := s.cutAt(opCreate, "/k/", c.early)
			l := acquire(t, a, "k")
			get(t, "the cut", did)
			if q := queue(t, a, "k"); len(q) != 1 {
				t.Errorf("in the queue: %q", q)
			}
			release(t, l)
			if q := queue(t, a, "k"); len(q) != 0 {
				t.Errorf("left in the queue: %q", q)
			}
			if current(t, a) != was {
				t.Error("it took a new session")
			}
		})
	}
}

// TestCase25Leaving: the caller has left when the reply is lost.
func TestCase25Leaving(t *testing.T) {
	s, g := operate(t, target(t, one, long))
	a := dial(t, g)
	release(t, acquire(t, a, "k"))
	was := current(t, a)
	ctx, leave := context.WithCancel(t.Context())
	did := s.cutAt(opCreate, "/k/", false)
	r := begin(ctx, a, "k")
	get(t, "the cut", did)
	leave()
	if r := get(t, "the acquisition", r); r.err == nil {
		release(t, r.l) // it was quicker
	}
	awaitQueue(t, a, "k", 0)
	if current(t, a) != was {
		t.Error("it took a new session")
	}
}

// TestCase25Late: the node of a create that was given up comes to light when another has been
// made: it must neither block its own client nor stay.
func TestCase25Late(t *testing.T) {
	a := dial(t, target(t, one, long))
	release(t, acquire(t, a, "k"))
	k := &ticket{s: current(t, a), dir: a.d.dir("k"), id: newID()}
	for range 2 {
		if _, err := k.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	g, err := k.wait(t.Context(), nil, true)
	if err != nil {
		t.Fatalf("its own second node is in the way: %v", err)
	}
	if err := a.d.Release(t.Context(), g); err != nil {
		t.Errorf("release: %v", err)
	}
	if q := queue(t, a, "k"); len(q) != 0 {
		t.Errorf("left in the queue: %q", q)
	}
}

// TestCase26: a waiter that is not the next waits on its predecessor, and asks for nothing
// meanwhile (samuel/go-zookeeper#145: off by one, the waiter spun). go-zookeeper's Lock
// and Curator wait on the predecessor today.
func TestCase26(t *testing.T) {
	g := target(t, one, long)
	a, b, c := fresh(t, g), fresh(t, g), fresh(t, g)
	held := acquire(t, a, "k")
	next := begin(t.Context(), b, "k")
	awaitQueue(t, a, "k", 2)
	trace := lock.NewTrace()
	last := begin(lock.WithTrace(t.Context(), trace), c, "k")
	const waits = 2 // create with list, watch
	await(t, "the last one waits", func() bool { return trace.Trips() == waits })
	for range 20 { // what others do meanwhile is none of its business
		release(t, acquire(t, a, "other"))
	}
	release(t, held)
	r := get(t, "the next", next)
	if r.err != nil {
		t.Fatal(r.err)
	}
	for range 20 {
		release(t, acquire(t, a, "other"))
	}
	if n := trace.Trips(); n != waits {
		t.Errorf("the last one sent %d requests while it waited, want %d", n, waits)
	}
	release(t, r.l)
	r = get(t, "the last", last)
	if r.err != nil {
		t.Fatal(r.err)
	}
	if n := trace.Trips(); n != waits+1 {
		t.Errorf("%d requests in all, want %d", n, waits+1)
	}
	release(t, r.l)
}

// TestCase27 releases while the connection is lost (Curator#1193: the local state was cleared,
// the node stayed). Curator deletes in the background since; go-zookeeper's Unlock returns the
// error and keeps the node's name, so that a caller who does not try again holds
// the lock until the session ends.
func TestCase27(t *testing.T) {
	g := target(t, one, long)
	b := fresh(t, g)
	p := tcpproxy.New(t, reach(g))
	a := dial(t, via(g, p.Addr()))
	l := acquire(t, a, "k")
	was := current(t, a)
	p.Refuse(true)
	p.Cut()
	p.AwaitOpen(0)
	ctx, leave := context.WithCancel(t.Context())
	leave() // the caller does not wait
	if err := l.Release(ctx); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("release without a connection: %v", err)
	}
	if q := queue(t, b, "k"); len(q) != 1 {
		t.Fatalf("in the queue: %q", q)
	}
	p.Refuse(false)
	awaitQueue(t, b, "k", 0)
	if current(t, a) != was {
		t.Error("the node has gone with its session, not by the delete")
	}
}

// TestCase27Reply loses the connection right before and right after the delete.
func TestCase27Reply(t *testing.T) {
	for _, early := range []bool{false, true} {
		s, g := operate(t, target(t, one, long))
		a := dial(t, g)
		l := acquire(t, a, "k")
		did := s.cutAt(opDelete, "/k/", early)
		release(t, l)
		get(t, "the cut", did)
		if q := queue(t, a, "k"); len(q) != 0 {
			t.Errorf("early %v: left in the queue: %q", early, q)
		}
	}
}

// TestApplyReply loses the connection right before and right after a write: it is done once.
func TestApplyReply(t *testing.T) {
	for _, early := range []bool{false, true} {
		s, g := operate(t, target(t, one, long))
		a := dial(t, g)
		l := acquire(t, a, "k")
		did := s.cutAt(opMulti, "/k/", early)
		if err := l.Apply(t.Context(), 7); err != nil {
			t.Errorf("early %v: %v", early, err)
		}
		get(t, "the cut", did)
		if v, err := a.Value(t.Context(), "k"); v != 7 || err != nil {
			t.Errorf("early %v: value %d, %v: want 7", early, v, err)
		}
		release(t, l)
	}
}

// TestStoppedServer: a server that accepts connections and never answers ends a Dial in time.
func TestStoppedServer(t *testing.T) {
	g := target(t, one, short)
	p := tcpproxy.New(t, reach(g))
	p.Hold(true)
	g = via(g, p.Addr())
	g.DialTimeout = 300 * time.Millisecond
	if _, err := Dial(t.Context(), g); err == nil {
		t.Error("no error")
	}
}
