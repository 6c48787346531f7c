package proxy

import (
	"context"
	"fmt"
	"time"
)

// Stats are a proxy's counters, or the sums of a set's.
type Stats struct {
	// Bytes given to the other side's kernel so far, or being given to it.
	PassedRequests, PassedReplies int64
	// Bytes that are held now.
	HeldRequests, HeldReplies int64
	// Ends of streams, FIN or RST, that are held now.
	HeldEnds int
	// Bytes that are under way now, because the proxy is slow or the other side takes no more.
	DelayedRequests, DelayedReplies int64

	Open     int // connections now, the waiting ones included
	Waiting  int // new connections that are held: no server has been dialled for them
	Accepted int // connections so far
	Reset    int // connections that Reset ended
	Lost     int // connections that LoseReplies ended
	Dropped  int // chunks that DropReplies swallowed

	// The delay of each chunk now; in a set all proxies have the same.
	Latency, Jitter time.Duration
}

func (s *Stats) add(o Stats) {
	s.PassedRequests += o.PassedRequests
	s.PassedReplies += o.PassedReplies
	s.HeldRequests += o.HeldRequests
	s.HeldReplies += o.HeldReplies
	s.HeldEnds += o.HeldEnds
	s.DelayedRequests += o.DelayedRequests
	s.DelayedReplies += o.DelayedReplies
	s.Open += o.Open
	s.Waiting += o.Waiting
	s.Accepted += o.Accepted
	s.Reset += o.Reset
	s.Lost += o.Lost
	s.Dropped += o.Dropped
	s.Latency, s.Jitter = o.Latency, o.Jitter
}

// Stats returns the counters as they are now.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{
		PassedRequests: p.passed[request].Load(), PassedReplies: p.passed[reply].Load(),
		Open: len(p.links), Accepted: p.accepted, Reset: p.resets, Lost: p.lost, Dropped: p.dropped,
		Latency: p.delay.latency, Jitter: p.delay.jitter,
	}
	*pick(p.hold[request], &s.HeldRequests, &s.DelayedRequests) = p.queued[request]
	*pick(p.hold[reply], &s.HeldReplies, &s.DelayedReplies) = p.queued[reply]
	for l := range p.links {
		if l.held {
			s.Waiting++
		}
		for dir, d := range l.pipe {
			if p.hold[dir] {
				s.HeldEnds += d.ends
			}
		}
	}
	return s
}

func pick(held bool, yes, no *int64) *int64 {
	if held {
		return yes
	}
	return no
}

// Conn is an open connection.
type Conn struct {
	Upstream string // the server's address, as it was given
	Client   string // the client's end, host:port
	// Local is the end that the server sees as its client's, unless something between the two translates
	// addresses; empty: the server has not been reached yet.
	Local string
}

// Conns returns the connections that are open.
func (p *Proxy) Conns() []Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var cs []Conn
	for l := range p.links {
		c := Conn{Upstream: p.upstream, Client: l.side[request].RemoteAddr().String()}
		if up := l.side[reply]; up != nil {
			c.Local = up.LocalAddr().String()
		}
		cs = append(cs, c)
	}
	return cs
}

// Await waits until ok is true of the counters, which it looks at whenever one has changed that is
// not of bytes passed. It returns ctx.Err(), wrapped, if ctx ends first.
func (p *Proxy) Await(ctx context.Context, ok func(Stats) bool) error {
	return await(ctx, p.changed, p.Stats, ok)
}

func await(ctx context.Context, changed *signal, stats func() Stats, ok func(Stats) bool) error {
	for {
		again := changed.next()
		s := stats()
		if ok(s) {
			return nil
		}
		select {
		case <-again:
		case <-ctx.Done():
			return fmt.Errorf("wait for what passes the proxies, at %+v: %w", s, ctx.Err())
		}
	}
}
