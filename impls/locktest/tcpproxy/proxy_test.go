package tcpproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// echo answers each line with the same line, and counts them.
func echo(t *testing.T) (addr string, lines <-chan string) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	seen := make(chan string, 100)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					s, err := r.ReadString('\n')
					if err != nil {
						return
					}
					seen <- s
					io.WriteString(c, s)
				}
			}()
		}
	}()
	return ln.Addr().String(), seen
}

type client struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(guard))
	t.Cleanup(func() { c.Close() })
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.c, s+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) want(s string) {
	c.t.Helper()
	if got, err := c.r.ReadString('\n'); err != nil || got != s+"\n" {
		c.t.Fatalf("read %q, %v; want %q", got, err, s)
	}
}

func TestPasses(t *testing.T) {
	addr, _ := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	for range 100 {
		c.send("hello")
		c.want("hello")
	}
	if in, out := p.Passed(); in != 600 || out != 600 {
		t.Errorf("passed %d and %d bytes, want 600 each", in, out)
	}
	c.c.(*net.TCPConn).CloseWrite()
	if _, err := c.r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after a half-close: %v, want EOF from the server", err)
	}
	c.c.Close()
	p.AwaitOpen(0)
}

func TestHoldReplies(t *testing.T) {
	addr, seen := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.HoldReplies(true)
	c.send("a")
	<-seen // the server has it
	p.AwaitHeld(2)
	c.send("b")
	p.AwaitHeld(4)
	if _, out := p.Passed(); out != 0 {
		t.Fatalf("%d bytes of replies passed", out)
	}
	p.HoldReplies(false)
	c.want("a")
	c.want("b")
	if in, out := p.Held(); in != 0 || out != 0 {
		t.Errorf("held %d and %d bytes after the release", in, out)
	}
}

func TestHoldRequests(t *testing.T) {
	addr, seen := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.HoldRequests(true)
	c.send("a")
	p.AwaitHeldRequests(2)
	if len(seen) != 0 {
		t.Fatal("the server got a request that is held")
	}
	p.HoldRequests(false)
	c.want("a")
}

func TestHoldNewConnections(t *testing.T) {
	addr, seen := echo(t)
	p := New(t, addr)
	p.Hold(true)
	c := dial(t, p) // accepted
	c.send("a")
	p.AwaitAccepted(1)
	if len(seen) != 0 {
		t.Fatal("the server got a request")
	}
	p.Hold(false)
	c.want("a")

	p.Hold(true)
	c = dial(t, p)
	p.AwaitOpen(2)
	p.Cut()
	if _, err := c.r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a silent connection that was cut: %v", err)
	}
}

func TestDropReplies(t *testing.T) {
	addr, seen := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.DropReplies(1)
	c.send("a")
	p.AwaitDropped(1)
	<-seen
	c.send("b")
	c.want("b") // the connection lives, and only a's reply is missing
	if p.Dropped() != 1 || p.Accepted() != 1 || p.Open() != 1 {
		t.Errorf("dropped %d, accepted %d, open %d; want 1 each", p.Dropped(), p.Accepted(), p.Open())
	}
}

func TestCut(t *testing.T) {
	addr, seen := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.HoldReplies(true)
	c.send("a")
	<-seen
	p.AwaitHeld(2)
	p.Cut()
	if _, err := c.r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read after Cut: %v, want a reset", err)
	}
	p.AwaitOpen(0)
	if _, out := p.Held(); out != 0 {
		t.Errorf("%d bytes held for a connection that is gone", out)
	}
	p.HoldReplies(false)
	c = dial(t, p)
	c.send("b")
	c.want("b")
}

func TestRefuse(t *testing.T) {
	addr, _ := echo(t)
	p := New(t, addr)
	old := dial(t, p)
	old.send("a")
	old.want("a")
	for range 3 {
		p.Refuse(true)
		p.Refuse(true) // again: nothing
		if c, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial: %v, %v; want refused", c, err)
		}
		old.send("b")
		old.want("b")
		p.Refuse(false)
		c := dial(t, p)
		c.send("c")
		c.want("c")
	}
}

func TestServerIsAway(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	c, err := net.Dial("tcp", New(t, ln.Addr().String()).Addr())
	if err == nil { // else the reset was faster than the dial
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
}
