package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// guard bounds what a test waits for.
const guard = 30 * time.Second

// server is a listener whose connections the test holds in its hands.
type server struct {
	t  testing.TB
	ln net.Listener
	in chan *net.TCPConn
}

func serve(t testing.TB) *server {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t, ln, make(chan *net.TCPConn, 1000)}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.in <- c.(*net.TCPConn)
		}
	}()
	return s
}

func (s *server) addr() string { return s.ln.Addr().String() }

// next returns the next connection that reached the server.
func (s *server) next() *net.TCPConn {
	s.t.Helper()
	select {
	case c := <-s.in:
		guarded(s.t, c)
		return c
	case <-time.After(guard):
		s.t.Fatal("no connection reached the server")
		return nil
	}
}

func (s *server) wantNone() {
	s.t.Helper()
	select {
	case <-s.in:
		s.t.Fatal("a connection reached the server")
	default:
	}
}

func guarded(t testing.TB, c net.Conn) {
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(guard)); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, servers ...*server) *Set {
	t.Helper()
	var us []string
	for _, s := range servers {
		us = append(us, s.addr())
	}
	s, err := Open(us)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func dial(t testing.TB, s *Set, to *server) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr(to.addr()))
	if err != nil {
		t.Fatal(err)
	}
	guarded(t, c)
	return c.(*net.TCPConn)
}

// pair is a connection through a proxy: the client's end and the server's.
func pair(t testing.TB, s *Set, to *server) (client, srv *net.TCPConn) {
	t.Helper()
	client = dial(t, s, to)
	return client, to.next()
}

func send(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("send %q: %v", text, err)
	}
}

func want(t testing.TB, c net.Conn, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if n, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("read %q, %v; want %q", b[:n], err, text)
	}
}

func wantEOF(t testing.TB, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("read %d bytes, %v; want the end", n, err)
	}
}

func wantReset(t testing.TB, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("read %d bytes, %v; want a reset", n, err)
	}
}

// quiet checks that nothing has arrived at c, and nothing does in a moment.
func quiet(t testing.TB, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes, %v; want nothing to arrive", n, err)
	}
	if err := c.SetReadDeadline(time.Now().Add(guard)); err != nil {
		t.Fatal(err)
	}
}

func rst(t testing.TB, c *net.TCPConn) {
	t.Helper()
	if err := c.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	t.Cleanup(cancel)
	return ctx
}

func until(t testing.TB, s *Set, what string, ok func(Stats) bool) {
	t.Helper()
	if err := s.await(within(t), ok); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func untilHeld(t testing.TB, s *Set, bytes int64, ends int) {
	t.Helper()
	until(t, s, "held", func(s Stats) bool { return s.HeldRequests+s.HeldReplies == bytes && s.HeldEnds == ends })
}
