// Package tcpproxy is a proxy for tests: it stands between a client and a
// server, and keeps, loses or cuts what passes, at the moment that a test says.
// It counts what it did, so that a test waits for events and never for time.
// The proxy itself is that of package chaos/proxy; here it fails a test, and ends with it.
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
	"context"
	"fmt"
	"testing"
	"time"

	"lockbench/chaos/proxy"
)

// Proxy forwards every connection to one upstream server. Its methods may be
// called from several goroutines, the Await ones only from that of the test.
type Proxy struct {
	*proxy.Proxy
	t testing.TB
}

// guard bounds every Await: a test that would hang says what it waited for.
const guard = 30 * time.Second

// New starts a proxy to upstream (host:port), on a loopback port of its own. It is
// closed when the test ends.
func New(t testing.TB, upstream string) *Proxy {
	t.Helper()
	p, err := proxy.New(upstream)
	if err != nil {
		t.Fatalf("tcpproxy: %v", err)
	}
	t.Cleanup(p.Close)
	return &Proxy{p, t}
}

// Refuse makes connecting fail with ECONNREFUSED until it is called with false.
// Connections that are open stay.
func (p *Proxy) Refuse(on bool) {
	if err := p.Proxy.Refuse(on); err != nil {
		p.t.Errorf("tcpproxy: %v", err)
	}
}

// Cut resets all connections, on both sides. What was held for them is lost.
// New ones are accepted.
func (p *Proxy) Cut() { p.Reset() }

// Held returns the bytes that are held now.
func (p *Proxy) Held() (requests, replies int64) {
	s := p.Stats()
	return s.HeldRequests, s.HeldReplies
}

// Passed returns the bytes that were delivered so far.
func (p *Proxy) Passed() (requests, replies int64) {
	s := p.Stats()
	return s.PassedRequests, s.PassedReplies
}

// Accepted returns the connections accepted so far.
func (p *Proxy) Accepted() int { return p.Stats().Accepted }

// Open returns the connections that are open.
func (p *Proxy) Open() int { return p.Stats().Open }

// Dropped returns the reply chunks swallowed so far.
func (p *Proxy) Dropped() int { return p.Stats().Dropped }

// AwaitHeld waits until at least n bytes of replies are held.
func (p *Proxy) AwaitHeld(n int64) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d bytes of replies to be held", n), func(s proxy.Stats) bool { return s.HeldReplies >= n })
}

// AwaitHeldRequests waits until at least n bytes of requests are held.
func (p *Proxy) AwaitHeldRequests(n int64) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d bytes of requests to be held", n), func(s proxy.Stats) bool { return s.HeldRequests >= n })
}

// AwaitDropped waits until n reply chunks were swallowed, since the start.
func (p *Proxy) AwaitDropped(n int) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d replies to be dropped", n), func(s proxy.Stats) bool { return s.Dropped >= n })
}

// AwaitAccepted waits until n connections were accepted, since the start.
func (p *Proxy) AwaitAccepted(n int) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d connections to be accepted", n), func(s proxy.Stats) bool { return s.Accepted >= n })
}

// AwaitOpen waits until exactly n connections are open.
func (p *Proxy) AwaitOpen(n int) {
	p.t.Helper()
	p.await(fmt.Sprintf("%d connections to be open", n), func(s proxy.Stats) bool { return s.Open == n })
}

func (p *Proxy) await(what string, ok func(proxy.Stats) bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	if err := p.Await(ctx, ok); err != nil {
		p.t.Fatalf("tcpproxy: waited %v in vain for %s: %v", guard, what, err)
	}
}
