// Package tcpproxy is a proxy for tests: it stands between a client and a
// server, and keeps, loses or cuts what passes, at the moment that a test says.
// It counts what it did, so that a test waits for events and never for time.
//
// The bytes pass unchanged and in order. A chunk is what one read returned: for
// a protocol of one small reply to one request, a chunk is a reply.
//
//	p := tcpproxy.New(t, server)
//	p.HoldReplies(true)
//	go client.Set(...)      // dials p.Addr()
//	p.AwaitHeld(1)          // the server has answered, the client does not know
//	p.HoldReplies(false)    // now it does; or p.Cut(): it never will
package tcpproxy

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards every connection to one upstream server. Its methods may be
// called from several goroutines, the Await ones only from that of the test.
type Proxy struct {
	t        testing.TB
	upstream string
	addr     string
	reserved func() // gives the port back

	running sync.WaitGroup

	mu       sync.Mutex
	changed  *sync.Cond // on any change of what follows
	ln       net.Listener
	links    map[*link]struct{}
	hold     [2]bool // by direction
	silent   bool    // Hold: new connections wait
	drop     int     // reply chunks still to be swallowed
	closed   bool
	accepted int
	dropped  int
	passed   [2]int64
}

// Directions.
const (
	request = iota // client to server
	reply          // server to client
)

// guard bounds every Await: a test that would hang says what it waited for.
const guard = 30 * time.Second

// New starts a proxy to upstream (host:port), on a loopback port of its own. It is
// closed when the test ends.
func New(t testing.TB, upstream string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, upstream: upstream, links: map[*link]struct{}{}}
	p.changed = sync.NewCond(&p.mu)
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatalf("tcpproxy: listen: %v", err)
	}
	p.addr = ln.Addr().String()
	if p.reserved, err = reserve(ln.Addr().(*net.TCPAddr)); err != nil {
		ln.Close()
		t.Fatalf("tcpproxy: reserve %s: %v", p.addr, err)
	}
	p.ln = ln
	p.running.Add(1)
	go p.accept(ln)
	t.Cleanup(p.close)
	return p
}

// Addr returns the address that clients dial, host:port.
func (p *Proxy) Addr() string { return p.addr }

// HoldReplies keeps what servers send from now on, until it is called with
// false: then it is delivered. The end of a connection is kept, too.
func (p *Proxy) HoldReplies(on bool) { p.set(func() { p.hold[reply] = on }) }

// HoldRequests keeps what clients send, likewise.
func (p *Proxy) HoldRequests(on bool) { p.set(func() { p.hold[request] = on }) }

// Hold keeps what both sides send, as a network does that delivers nothing:
// connections stay open, and new ones are accepted, but reach the server only
// when it is called with false.
func (p *Proxy) Hold(on bool) {
	p.set(func() { p.hold, p.silent = [2]bool{on, on}, on })
}

// DropReplies swallows the next n reply chunks, of any connection, and keeps the
// connections: the server has done the work and the client waits. 0 stops it.
func (p *Proxy) DropReplies(n int) { p.set(func() { p.drop = n }) }

// Refuse makes connecting fail with ECONNREFUSED until it is called with false.
// Connections that are open stay.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || on == (p.ln == nil):
	case on:
		p.ln.Close()
		p.ln = nil
	default:
		ln, err := listen(p.addr)
		if err != nil {
			p.t.Errorf("tcpproxy: listen on %s again: %v", p.addr, err)
			return
		}
		p.ln = ln
		p.running.Add(1)
		go p.accept(ln)
	}
}

// Cut resets all connections, on both sides. What was held for them is lost.
// New ones are accepted.
func (p *Proxy) Cut() {
	p.set(func() {
		for l := range p.links {
			p.reset(l)
		}
	})
}

// Held returns the bytes that are held now.
func (p *Proxy) Held() (requests, replies int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held(request), p.held(reply)
}

// Passed returns the bytes that were delivered so far.
func (p *Proxy) Passed() (requests, replies int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed[request], p.passed[reply]
}

// Accepted returns the connections accepted so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Open returns the connections that are open.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Dropped returns the reply chunks swallowed so far.
func (p *Proxy) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// AwaitHeld waits until at least n bytes of replies are held.
func (p *Proxy) AwaitHeld(n int64) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d bytes of replies to be held", n), func() bool { return p.held(reply) >= n })
}

// AwaitHeldRequests waits until at least n bytes of requests are held.
func (p *Proxy) AwaitHeldRequests(n int64) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d bytes of requests to be held", n), func() bool { return p.held(request) >= n })
}

// AwaitDropped waits until n reply chunks were swallowed, since the start.
func (p *Proxy) AwaitDropped(n int) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d replies to be dropped", n), func() bool { return p.dropped >= n })
}

// AwaitAccepted waits until n connections were accepted, since the start.
func (p *Proxy) AwaitAccepted(n int) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d connections to be accepted", n), func() bool { return p.accepted >= n })
}

// AwaitOpen waits until exactly n connections are open.
func (p *Proxy) AwaitOpen(n int) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d connections to be open", n), func() bool { return len(p.links) == n })
}

func (p *Proxy) await(what string, ok func() bool) {
	p.t.Helper()
	late := false
	timer := time.AfterFunc(guard, func() { p.set(func() { late = true }) })
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ok() {
		if late {
			p.t.Fatalf("tcpproxy: waited %v in vain for %s (held %d and %d, accepted %d, open %d, dropped %d)",
				guard, what, p.held(request), p.held(reply), p.accepted, len(p.links), p.dropped)
		}
		p.changed.Wait()
	}
}

// set changes the state and wakes all who look at it.
func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

func (p *Proxy) accept(ln net.Listener) {
	defer p.running.Done()
	for {
		c, err := ln.Accept()
		if err != nil {
			return // closed, by Refuse or close
		}
		p.admit(c.(*net.TCPConn))
	}
}

func (p *Proxy) close() {
	p.set(func() {
		p.closed = true
		if p.ln != nil {
			p.ln.Close()
			p.ln = nil
		}
		for l := range p.links {
			p.reset(l)
		}
	})
	p.running.Wait()
	p.reserved()
}
