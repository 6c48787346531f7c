package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// TestEnds: whatever ends a side is what ends the other, at once or, held, after Heal and after the bytes
// before it.
func TestEnds(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes string
		end   func(*testing.T, *net.TCPConn)
		sees  func(testing.TB, net.Conn)
	}{
		{"FIN", "", func(t *testing.T, c *net.TCPConn) { c.Close() }, wantEOF},
		{"half-close", "", func(t *testing.T, c *net.TCPConn) { c.CloseWrite() }, wantEOF},
		{"RST", "", func(t *testing.T, c *net.TCPConn) { rst(t, c) }, wantReset},
		{"bytes, then FIN", "last", func(t *testing.T, c *net.TCPConn) { c.Close() }, wantEOF},
	} {
		for _, from := range []string{"client", "server"} {
			for _, held := range []bool{false, true} {
				name := tc.name + " from " + from
				if held {
					name += ", held"
				}
				t.Run(name, func(t *testing.T) {
					srv := serve(t)
					s := open(t, srv)
					near, far := pair(t, s, srv)
					if from == "server" {
						near, far = far, near
					}
					send(t, near, "x")
					want(t, far, "x")
					if held {
						s.Hold()
					}
					send(t, near, tc.bytes)
					tc.end(t, near)
					if held {
						untilHeld(t, s, int64(len(tc.bytes)), 1)
						quiet(t, far)
						s.Heal()
					}
					want(t, far, tc.bytes)
					tc.sees(t, far)
				})
			}
		}
	}
}

func TestHalfClose(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	client, at := pair(t, s, srv)
	send(t, client, "request")
	client.CloseWrite()
	b, err := io.ReadAll(at)
	if err != nil || string(b) != "request" {
		t.Fatalf("the server read %q, %v", b, err)
	}
	send(t, at, "reply")
	want(t, client, "reply")
	if n := s.Stats().Open; n != 1 {
		t.Fatalf("%d connections open, want that which is half closed", n)
	}
	at.Close()
	wantEOF(t, client)
	until(t, s, "closed", func(s Stats) bool { return s.Open == 0 })
}

func TestHoldReplies(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	client, at := pair(t, s, srv)
	s.HoldReplies()
	send(t, client, "request")
	want(t, at, "request") // goes on
	send(t, at, "reply")
	if err := s.AwaitHeldReply(within(t)); err != nil {
		t.Fatal(err)
	}
	until(t, s, "the whole reply", func(s Stats) bool { return s.HeldReplies == 5 && s.HeldRequests == 0 })
	quiet(t, client)
	s.Heal()
	want(t, client, "reply")
	if got := s.Stats(); got.HeldReplies != 0 || got.PassedReplies != 5 || got.PassedRequests != 7 {
		t.Errorf("after Heal: %+v", got)
	}
}

func TestHoldNewConnections(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	s.Hold()
	client := dial(t, s, srv)
	if err := s.AwaitHeld(within(t)); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got.Waiting != 1 || got.HeldRequests != 0 {
		t.Errorf("a connection: %+v", got)
	}
	send(t, client, "request")
	if err := s.AwaitHeldRequest(within(t)); err != nil {
		t.Fatal(err)
	}
	client.CloseWrite()
	untilHeld(t, s, 7, 1)
	// One that its client resets before the server has heard of it leaves no trace there.
	rst(t, dial(t, s, srv))
	until(t, s, "reset by its client", func(s Stats) bool { return s.Accepted == 2 && s.Open == 1 && s.Waiting == 1 })
	srv.wantNone()
	if c := s.Conns()[0]; c.Local != "" || c.Client != client.LocalAddr().String() {
		t.Errorf("held connection %+v", c)
	}

	s.Heal()
	at := srv.next()
	want(t, at, "request")
	wantEOF(t, at)
	send(t, at, "reply")
	want(t, client, "reply")
	srv.wantNone()
}

func TestHoldOf(t *testing.T) {
	one, two := serve(t), serve(t)
	s := open(t, one, two)
	c1, s1 := pair(t, s, one)
	c2, s2 := pair(t, s, two)
	if err := s.HoldOf(one.addr(), "127.0.0.1:1"); err == nil {
		t.Error("an unknown server was held")
	}
	send(t, c1, "a")
	want(t, s1, "a")
	if err := s.HoldOf(one.addr()); err != nil {
		t.Fatal(err)
	}
	send(t, c1, "b")
	send(t, s1, "c")
	untilHeld(t, s, 2, 0)
	send(t, c2, "d")
	want(t, s2, "d")
	dial(t, s, one)
	until(t, s, "a new connection", func(s Stats) bool { return s.Waiting == 1 })
	one.wantNone()
	pair(t, s, two)
	s.Heal()
	want(t, s1, "b")
	want(t, c1, "c")
	one.next()
}

// TestNewsOfAServer: that the server is gone travels with the replies, even if it shows when a
// request is written.
func TestNewsOfAServer(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	client, at := pair(t, s, srv)
	send(t, at, "reply")
	want(t, client, "reply")
	s.HoldReplies()
	send(t, at, "last")
	untilHeld(t, s, 4, 0)
	at.Close()
	untilHeld(t, s, 4, 1)
	// The server's kernel answers the first with a reset, and the proxy cannot write the next.
	for s.Stats().HeldEnds == 1 {
		send(t, client, "x") // fails after guard
	}
	quiet(t, client)
	s.Heal()
	want(t, client, "last")
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after the last reply: %v, want the end, or the reset behind it", err)
	}
	until(t, s, "gone", func(s Stats) bool { return s.Open == 0 })
}

func TestAwaitEnds(t *testing.T) {
	s := open(t, serve(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, f := range map[string]func(context.Context) error{
		"request": s.AwaitHeldRequest, "reply": s.AwaitHeldReply, "any": s.AwaitHeld,
	} {
		if err := f(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the context's error", name, err)
		}
	}
}
