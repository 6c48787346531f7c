package zkrecipe_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/zkrecipe"
	"lockbench/impls/locktest/peertest"
	"lockbench/internal/claims"
	"lockbench/lock"
)

// TestExpiredBehindCreate is the same without a process that stands still: the server closes the
// connection right behind its reply to create, and for longer than the session lasts nobody answers the
// connections that are made. Observed of v1.0.4 with three servers: Lock returns nil in nearly all tries.
// Its getChildren is asked for when there is no connection, waits for the next one, and that is another session's.
func TestExpiredBehindCreate(t *testing.T) {
	target := backendtest.Target(t, "zookeeper-3")
	target.TTL = rivalTTL
	queues := watchQueues(t, target)
	rival := peertest.Dial(t, zkrecipe.Infos()[0], target)
	arena, _, err := claims.Create(t.TempDir(), tries, 2*tries, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := arena.Close(); err != nil {
			t.Error(err)
		}
	})
	var all sync.WaitGroup
	var two atomic.Int32
	slots := make(chan struct{}, abreast)
	for i := range tries {
		all.Add(1)
		go func() {
			defer all.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			var became string
			err := errors.New("not tried")
			for n := 0; err != nil && n < again; n++ {
				c := &cut{t: t, target: target, queues: queues, rival: rival, arena: arena, slot: i, key: fmt.Sprintf("k%d-%d", i, n)}
				became, err = c.try()
			}
			t.Logf("try %d: %s %v", i, became, err)
			switch {
			case err != nil:
				t.Errorf("try %d: %v", i, err)
			case became == both:
				two.Add(1)
			}
		}()
	}
	all.Wait()
	t.Logf("zk-recipe, zookeeper-3: two inside in %d of %d tries", two.Load(), tries)
	if two.Load() == 0 {
		t.Error("never two: the library has changed")
	}
}

// cut is one try.
type cut struct {
	t      *testing.T
	target lock.Target
	queues *queues
	rival  *peertest.Client
	arena  *claims.Arena
	slot   int
	key    string

	proxies proxySet
	armed   atomic.Bool // the next create is the one
}

func (c *cut) try() (became string, err error) {
	through := c.target
	c.proxies = proxiesOf(c.t, &through)
	dial := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		conn, err := net.DialTimeout(network, addr, timeout)
		if err != nil {
			return nil, err
		}
		return &ending{Conn: conn, c: c}, nil
	}
	conn, events, err := zk.Connect(through.Addrs, victimTTL, zk.WithDialer(dial), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	path := c.queues.root + c.key
	once := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll)) // the path is there
	if err := errors.Join(once.Lock(), once.Unlock()); err != nil {
		return "", fmt.Errorf("before the try: %w", err)
	}

	c.armed.Store(true)
	type result struct {
		met int
		err error
	}
	got, worker := make(chan result, 1), 2*c.slot
	leave := make(chan struct{})
	victim := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
	go func() {
		if err := victim.Lock(); err != nil {
			got <- result{err: err}
			return
		}
		e := c.arena.Enter(worker, c.slot, 0, false)
		got <- result{met: e.Overlap}
		<-leave
		c.arena.Exit(worker, c.slot, e, 0)
	}()
	defer close(leave)
	if err := c.queues.await(c.key, 1); err != nil {
		return "", err
	}
	if err := c.queues.await(c.key, 0); err != nil {
		return "", err
	}
	l, err := c.rival.Acquire(c.t.Context(), c.key, lock.AcquireOptions{TTL: rivalTTL})
	if err != nil {
		return "", fmt.Errorf("rival: %w", err)
	}
	e := c.arena.Enter(worker+1, c.slot, 0, false)
	defer func() {
		c.arena.Exit(worker+1, c.slot, e, 0)
		if r := l.Release(context.WithoutCancel(c.t.Context())); err == nil && r != nil {
			err = fmt.Errorf("rival: release: %w", r)
		}
	}()
	select {
	case r := <-got:
		return refused, r.err // before it could have asked
	default:
	}
	for _, p := range c.proxies {
		p.Hold(false)
	}
	for {
		select {
		case r := <-got:
			switch {
			case r.err != nil:
				return refused, nil
			case r.met != worker+1:
				return "", fmt.Errorf("it is granted, but met %d, not the rival", r.met)
			}
			return both, nil
		case <-time.After(10 * time.Millisecond):
			if c.queues.count(c.key) > 1 {
				conn.Close() // it would wait for the rival
				<-got
				return queued, nil
			}
		}
	}
}

// ending is a connection that ends right behind the reply to a create: what the client reads next is the end.
// From then on new connections are held.
type ending struct {
	net.Conn
	c     *cut
	asked atomic.Bool
	ended atomic.Bool
}

// What the library writes and reads at once: length, xid, kind, and the rest; length; and xid, with the rest.
const opCreate = 1

func (e *ending) Write(p []byte) (int, error) {
	if e.ended.Load() {
		return len(p), nil // the kernel would take it, too
	}
	if len(p) > 12 && binary.BigEndian.Uint32(p[8:]) == opCreate && e.c.armed.CompareAndSwap(true, false) {
		e.asked.Store(true)
	}
	return e.Conn.Write(p)
}

func (e *ending) Read(p []byte) (int, error) {
	if e.ended.Load() {
		return 0, io.EOF
	}
	asked := e.asked.Load()
	n, err := e.Conn.Read(p)
	const xid = 4 // below 0: the answer to a ping
	if asked && n > xid && int32(binary.BigEndian.Uint32(p)) >= 0 {
		e.ended.Store(true)
		for _, proxy := range e.c.proxies {
			proxy.Hold(true)
		}
		_ = e.Conn.Close()
	}
	return n, err
}

// quiet is a zk.Logger.
type quiet struct{}

// Printf implements zk.Logger.
func (quiet) Printf(string, ...any) {}
