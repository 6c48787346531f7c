package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Set is the proxies of one client process, one per server. Its methods may be called from several
// goroutines.
type Set struct {
	proxies []*Proxy
	changed signal
}

// Open starts a proxy to each of the upstreams (host:port), each on 127.0.0.1 and a port of its own. The
// caller closes the set.
func Open(upstreams []string) (*Set, error) {
	if len(upstreams) == 0 {
		return nil, errors.New("make proxies: no server")
	}
	s := &Set{}
	for i, u := range upstreams {
		if slices.Contains(upstreams[:i], u) {
			s.shut()
			return nil, fmt.Errorf("make proxies: %s is named twice", u)
		}
		p, err := newProxy(u, i, &s.changed)
		if err != nil {
			s.shut()
			return nil, err
		}
		s.proxies = append(s.proxies, p)
	}
	return s, nil
}

// Addr returns the address of the proxy to that upstream; empty: there is none.
func (s *Set) Addr(upstream string) string {
	if p := s.to(upstream); p != nil {
		return p.Addr()
	}
	return ""
}

func (s *Set) to(upstream string) *Proxy {
	for _, p := range s.proxies {
		if p.upstream == upstream {
			return p
		}
	}
	return nil
}

// Hold keeps what both sides send from now on, FIN and RST included, until Heal. New connections are
// accepted; the servers hear nothing of them before Heal.
func (s *Set) Hold() { hold(s.proxies) }

// HoldOf is Hold for some of the servers: a client that is cut off from a part of a quorum.
// An address that is no upstream of the set is an error, and then nothing is held.
func (s *Set) HoldOf(upstreams ...string) error {
	var some []*Proxy
	for _, u := range upstreams {
		p := s.to(u)
		if p == nil {
			return fmt.Errorf("hold what goes to %s: no proxy leads there", u)
		}
		some = append(some, p)
	}
	hold(some)
	return nil
}

func hold(ps []*Proxy) {
	change(ps, func(p *Proxy) { p.hold, p.silent = [2]bool{true, true}, true })
}

// HoldReplies keeps what servers send from now on, FIN and RST included, until Heal.
func (s *Set) HoldReplies() { change(s.proxies, func(p *Proxy) { p.hold[reply] = true }) }

// change alters all, and only then waits for what was being written.
func change(ps []*Proxy, f func(*Proxy)) {
	var stopping []*pipe
	for _, p := range ps {
		stopping = append(stopping, p.alter(func() { f(p) })...)
	}
	settle(stopping)
}

// Heal lets go on, in order, whatever is held or under way, and ends Slow.
func (s *Set) Heal() { change(s.proxies, (*Proxy).healed) }

// Slow makes each chunk that is read from now on arrive after latency, give or take jitter, evenly; negative
// ones are 0. A chunk is what one read returned. Those of one direction of one connection keep their
// order, so that a late one delays those behind it. The draws depend on the seed, the place of
// the server in the set, and the number of the connection. After Slow(0, 0, 0) what is under way
// arrives at once.
func (s *Set) Slow(latency, jitter time.Duration, seed uint64) {
	change(s.proxies, func(p *Proxy) { p.slow(latency, jitter, seed) })
}

// Reset ends all connections with RST to both sides, and returns how many there were. When it returns
// the resets are sent. What was held for them is lost. New connections work, unless they are held.
func (s *Set) Reset() (n int) {
	for _, p := range s.proxies {
		n += p.Reset()
	}
	return n
}

// LoseReplies throws away the replies that are held now, and the connections that they came on: RST
// to the client, FIN to the server. To the client this is "the request arrived, the reply is
// lost". It returns how many connections. Replies on other connections stay held.
func (s *Set) LoseReplies() (n int) {
	for _, p := range s.proxies {
		n += p.LoseReplies()
	}
	return n
}

// AwaitHeldRequest waits until at least one byte from client to server is held.
func (s *Set) AwaitHeldRequest(ctx context.Context) error {
	return s.await(ctx, func(t Stats) bool { return t.HeldRequests > 0 })
}

// AwaitHeldReply waits until at least one byte from server to client is held.
func (s *Set) AwaitHeldReply(ctx context.Context) error {
	return s.await(ctx, func(t Stats) bool { return t.HeldReplies > 0 })
}

// AwaitHeld waits until anything is held: a byte or the end of a stream, in either direction, or a
// new connection.
func (s *Set) AwaitHeld(ctx context.Context) error {
	return s.await(ctx, func(t Stats) bool {
		return t.HeldRequests > 0 || t.HeldReplies > 0 || t.HeldEnds > 0 || t.Waiting > 0
	})
}

func (s *Set) await(ctx context.Context, ok func(Stats) bool) error {
	return await(ctx, &s.changed, s.Stats, ok)
}

// Stats returns the sums of the proxies' counters.
func (s *Set) Stats() (sum Stats) {
	for _, p := range s.proxies {
		sum.add(p.Stats())
	}
	return sum
}

// Conns returns the connections that are open, in the order of servers and clients' addresses.
func (s *Set) Conns() []Conn {
	var all []Conn
	for _, p := range s.proxies {
		cs := p.Conns()
		slices.SortFunc(cs, func(a, b Conn) int { return cmp.Compare(a.Client, b.Client) })
		all = append(all, cs...)
	}
	return all
}

// Close closes all listeners and, with RST, all connections. When it returns nothing of the set
// runs any more. It may be called twice; its error is always nil.
func (s *Set) Close() error {
	s.shut()
	return nil
}

func (s *Set) shut() {
	for _, p := range s.proxies {
		p.Close()
	}
}
