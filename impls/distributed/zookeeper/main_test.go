package zookeeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/backends/backendtest"
	"lockbench/lock"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

const one = "zookeeper-1"

// long is the longest session that the backend's servers grant: no test that is not
// about its end shall see it.
const long = 10 * time.Second

// hang bounds what a test waits for; it is never reached but by a hang.
const hang = time.Minute

func target(t *testing.T, topology string, ttl time.Duration) lock.Target {
	t.Helper()
	g := backendtest.Target(t, topology)
	g.TTL = ttl
	g.Meter = &lock.Meter{}
	return g
}

func dial(t *testing.T, g lock.Target) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	c, err := Dial(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c.(*client)
}

// fresh returns a second client of the same servers, with a meter of its own.
func fresh(t *testing.T, g lock.Target) *client {
	t.Helper()
	g.Meter = &lock.Meter{}
	return dial(t, g)
}

func options() lock.AcquireOptions { return lock.AcquireOptions{TTL: long, Renew: true} }

func acquire(t *testing.T, c *client, key string) lock.Guarded {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	l, err := c.Acquire(ctx, key, options())
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return l.(lock.Guarded)
}

func release(t *testing.T, l lock.Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// outcome is that of an Acquire on another goroutine.
type outcome struct {
	l   lock.Lease
	err error
}

func begin(ctx context.Context, c *client, key string) <-chan outcome {
	ch := make(chan outcome, 1)
	go func() {
		l, err := c.Acquire(ctx, key, options())
		ch <- outcome{l, err}
	}()
	return ch
}

func get[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(hang):
		b := make([]byte, 1<<20)
		t.Fatalf("%s: nothing came\n%s", what, b[:runtime.Stack(b, true)])
		panic("unreachable")
	}
}

// queue lists the nodes of a key, as the leader knows them.
func queue(t *testing.T, c *client, key string) (names []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	err := c.d.ask(ctx, func(s *session) (err error) {
		if _, err = s.conn.Sync(c.d.dir(key)); err == nil {
			names, _, err = s.conn.Children(c.d.dir(key))
		}
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatalf("list the queue of %s: %v", key, err)
	}
	return names
}

// await waits until a condition holds that only the server can tell.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !cond(); {
		if time.Now().After(end) {
			t.Fatalf("%s: it never was so", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func awaitQueue(t *testing.T, c *client, key string, n int) {
	t.Helper()
	await(t, "the queue's length", func() bool { return len(queue(t, c, key)) == n })
}

// current is the client's session.
func current(t *testing.T, c *client) *session {
	t.Helper()
	s, err := c.d.session(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// surgeon is a proxy that understands ZooKeeper's frames, and cuts a
// connection when the server has answered a request of the test's choice, or
// before it gets it. It does so once.
type surgeon struct {
	ln       net.Listener
	upstream string

	mu    sync.Mutex
	armed func(op int32, request []byte) bool
	early bool // cut before the server gets the request
	open  map[net.Conn]bool
	did   chan struct{}
	wg    sync.WaitGroup
}

// operate puts a surgeon between a target's clients and its only server.
func operate(t *testing.T, g lock.Target) (*surgeon, lock.Target) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &surgeon{ln: ln, upstream: reach(g), open: map[net.Conn]bool{}}
	s.wg.Add(1)
	go s.serve()
	t.Cleanup(func() {
		ln.Close()
		s.cut()
		s.wg.Wait()
	})
	return s, via(g, ln.Addr().String())
}

// reach is where the target's first server is reached, via the same target by another way.
func reach(g lock.Target) string {
	if to, ok := g.Reach[g.Addrs[0]]; ok {
		return to
	}
	return g.Addrs[0]
}

func via(g lock.Target, addr string) lock.Target {
	g.Reach = map[string]string{g.Addrs[0]: addr}
	g.Meter = &lock.Meter{}
	return g
}

// cutAt arms it: at the first request with that operation and text.
func (s *surgeon) cutAt(op int32, text string, early bool) (did <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.early, s.did = early, make(chan struct{})
	s.armed = func(o int32, request []byte) bool { return o == op && bytes.Contains(request, []byte(text)) }
	return s.did
}

func (s *surgeon) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.Close()
	}
}

func (s *surgeon) serve() {
	defer s.wg.Done()
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", s.upstream)
		if err != nil {
			c.Close()
			continue
		}
		s.mu.Lock()
		s.open[c], s.open[up] = true, true
		s.mu.Unlock()
		marked := make(chan int32, 1) // the xid whose answer is not to arrive
		s.wg.Add(2)
		go s.pump(up, c, func(n int, f []byte) bool { return s.request(n, f, marked) })
		xid := int32(-100)
		go s.pump(c, up, func(n int, f []byte) bool {
			select {
			case xid = <-marked:
			default:
			}
			return n > 0 && int32(binary.BigEndian.Uint32(f)) == xid && s.done()
		})
	}
}

// request decides on a frame of the client's, the first of which opens the session.
func (s *surgeon) request(n int, f []byte, marked chan<- int32) bool {
	if n == 0 || len(f) < 8 {
		return false
	}
	s.mu.Lock()
	if s.armed == nil || !s.armed(int32(binary.BigEndian.Uint32(f[4:])), f) {
		s.mu.Unlock()
		return false
	}
	s.armed = nil
	early := s.early
	s.mu.Unlock()
	if early {
		return s.done()
	}
	marked <- int32(binary.BigEndian.Uint32(f))
	return false
}

func (s *surgeon) done() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.did)
	return true
}

// pump passes frames on until stop says so, or the connection ends.
func (s *surgeon) pump(to, from net.Conn, stop func(n int, frame []byte) bool) {
	defer s.wg.Done()
	defer to.Close()
	defer from.Close()
	for n := 0; ; n++ {
		head := make([]byte, 4)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(from, frame); err != nil || stop(n, frame) {
			return
		}
		if _, err := to.Write(append(head, frame...)); err != nil {
			return
		}
	}
}

func contains(s, sub string) bool { return strings.Contains(s, sub) }

func lastSlash(s string) int { return strings.LastIndexByte(s, '/') }
