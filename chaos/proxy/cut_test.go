package proxy

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReset(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	client, at := pair(t, s, srv)
	heldClient, heldAt := pair(t, s, srv)
	s.Hold()
	send(t, heldClient, "lost")
	send(t, heldAt, "lost, too")
	untilHeld(t, s, 13, 0)
	waiting := dial(t, s, srv)
	until(t, s, "a new one", func(s Stats) bool { return s.Waiting == 1 })
	if n := s.Reset(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
	for _, c := range []net.Conn{client, at, heldClient, heldAt, waiting} {
		wantReset(t, c)
	}
	if got := s.Stats(); got.Open != 0 || got.Reset != 3 || got.HeldRequests != 0 || got.HeldReplies != 0 || got.Waiting != 0 {
		t.Errorf("%+v, want 3 resets and nothing held", got)
	}
	s.Heal()
	srv.wantNone()
	client, at = pair(t, s, srv)
	send(t, client, "works")
	want(t, at, "works")
	if n := s.Reset(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	wantReset(t, client)
	wantReset(t, at)
}

func TestLoseReplies(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	client, at := pair(t, s, srv)
	other, otherAt := pair(t, s, srv)
	if n := s.LoseReplies(); n != 0 {
		t.Errorf("%d connections, and nothing was held", n)
	}
	s.HoldReplies()
	send(t, client, "request")
	want(t, at, "request")
	send(t, at, "reply")
	untilHeld(t, s, 5, 0)
	if n := s.LoseReplies(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	wantReset(t, client)
	wantEOF(t, at)
	if got := s.Stats(); got.Open != 1 || got.Lost != 1 || got.Reset != 0 || got.HeldReplies != 0 || got.PassedReplies != 0 {
		t.Errorf("%+v, want 1 lost, 1 open and nothing passed", got)
	}
	// The others live on, still held.
	send(t, otherAt, "later")
	untilHeld(t, s, 5, 0)
	s.Heal()
	want(t, other, "later")
	if n := s.LoseReplies(); n != 0 {
		t.Errorf("%d connections after Heal", n)
	}
}

func TestServerIsAway(t *testing.T) {
	srv := serve(t)
	srv.ln.Close()
	for _, held := range []bool{false, true} {
		s := open(t, srv)
		if held {
			s.Hold()
		}
		c, err := net.Dial("tcp", s.Addr(srv.addr()))
		if held {
			if err != nil {
				t.Fatal(err)
			}
			send(t, c, "request")
			untilHeld(t, s, 7, 0)
			s.Heal()
		}
		if err == nil { // else the reset was faster than the dial
			guarded(t, c)
			_, err = c.Read(make([]byte, 1))
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("held %v: %v, want a reset", held, err)
		}
		until(t, s, "gone", func(s Stats) bool { return s.Open == 0 && s.HeldRequests+s.DelayedRequests == 0 })
	}
}

// TestClose closes a set in all of its states at once.
func TestClose(t *testing.T) {
	srv, refusing := serve(t), serve(t)
	s := open(t, srv, refusing)
	if err := s.to(refusing.addr()).Refuse(true); err != nil {
		t.Fatal(err)
	}
	idle, idleAt := pair(t, s, srv)
	half, halfAt := pair(t, s, srv)
	half.CloseWrite()
	wantEOF(t, halfAt)
	full, fullAt := pair(t, s, srv)
	slow, slowAt := pair(t, s, srv)
	s.Slow(time.Hour, 0, 0)
	send(t, slow, "slow")
	until(t, s, "slow", func(s Stats) bool { return s.DelayedRequests == 4 })
	s.Hold()
	waiting := dial(t, s, srv)
	send(t, waiting, "waits")
	untilHeld(t, s, 9, 0)
	go feed(full, noise(2*maxQueue)) // more than is held: its reader waits
	until(t, s, "full", func(s Stats) bool { return s.HeldRequests > maxQueue })

	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for i, c := range []net.Conn{idle, idleAt, half, halfAt, full, fullAt, slow, slowAt, waiting} {
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("end %d is open", i)
		}
	}
	if got := s.Stats(); got.Open != 0 || got.HeldRequests != 0 || len(s.Conns()) != 0 {
		t.Errorf("closed: %+v, %v", got, s.Conns())
	}
	for _, a := range []string{s.Addr(srv.addr()), s.Addr(refusing.addr())} {
		ln, err := net.Listen("tcp4", a)
		if err != nil {
			t.Errorf("the port is not free: %v", err)
			continue
		}
		ln.Close()
	}
	wantNoGoroutines(t)
}

// TestMany opens as many proxies as a whole run has.
func TestMany(t *testing.T) {
	srv := serve(t)
	var sets []*Set
	for range 100 {
		var us []string
		for i := range 5 { // five names of one server
			us = append(us, strings.Replace(srv.addr(), "127.0.0.1", "127.0.0."+strconv.Itoa(i+1), 1))
		}
		s, err := Open(us)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		sets = append(sets, s)
	}
	for i, s := range sets {
		c, err := net.Dial("tcp", s.proxies[0].Addr())
		if err != nil {
			t.Fatal(err)
		}
		guarded(t, c)
		at := srv.next()
		s.Hold()
		send(t, c, "x")
		if err := s.AwaitHeldRequest(within(t)); err != nil {
			t.Fatalf("set %d: %v", i, err)
		}
		s.Heal()
		want(t, at, "x")
	}
	for _, s := range sets {
		s.Close()
	}
	wantNoGoroutines(t)
}

// wantNoGoroutines checks that no proxy of any test runs.
func wantNoGoroutines(t *testing.T) {
	t.Helper()
	b := make([]byte, 4<<20)
	var left []string
	for range 1000 {
		left = nil
		for g := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
			for _, of := range []string{"proxy.(*Proxy)", "proxy.(*link)", "proxy.(*pipe)"} {
				if strings.Contains(g, of) {
					left = append(left, g)
					break
				}
			}
		}
		if left == nil {
			return
		}
		time.Sleep(time.Millisecond) // one that is done may still be seen for a moment
	}
	t.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
}
