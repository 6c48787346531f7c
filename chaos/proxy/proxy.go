package proxy

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy forwards every connection to one upstream server. Its methods may be called from several
// goroutines.
type Proxy struct {
	upstream string
	addr     string
	number   int // within its set
	changed  *signal
	running  sync.WaitGroup

	passes [2]atomic.Bool // by direction: neither held nor slow, and nothing is to be dropped
	passed [2]atomic.Int64

	mu       sync.Mutex
	ln       net.Listener // nil: refusing, or closed
	reserved func()       // gives the port back, while refusing
	links    map[*link]struct{}
	hold     [2]bool // by direction
	silent   bool    // new connections are held
	delay    delay
	drop     int // reply chunks still to be swallowed
	closed   bool
	queued   [2]int64 // bytes
	accepted int
	dropped  int
	resets   int
	lost     int
}

// New starts a proxy to upstream (host:port), on a port of 127.0.0.1 of its own. The caller
// closes it.
func New(upstream string) (*Proxy, error) { return newProxy(upstream, 0, &signal{}) }

func newProxy(upstream string, number int, changed *signal) (*Proxy, error) {
	if _, _, err := net.SplitHostPort(upstream); err != nil {
		return nil, fmt.Errorf("make a proxy to %q: %w", upstream, err)
	}
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("make a proxy to %s: %w", upstream, err)
	}
	p := &Proxy{upstream: upstream, addr: ln.Addr().String(), number: number, changed: changed, ln: ln, links: map[*link]struct{}{}}
	p.update()
	p.running.Go(func() { p.accept(ln) })
	return p, nil
}

// Addr returns the address that clients dial, host:port.
func (p *Proxy) Addr() string { return p.addr }

// Upstream returns the server's address, as it was given.
func (p *Proxy) Upstream() string { return p.upstream }

// HoldReplies keeps what the server sends from now on, the end of a connection included, until it is
// called with false: then it is delivered.
func (p *Proxy) HoldReplies(on bool) { p.with(func() { p.hold[reply] = on }) }

// HoldRequests keeps what clients send, likewise.
func (p *Proxy) HoldRequests(on bool) { p.with(func() { p.hold[request] = on }) }

// Hold keeps what both sides send: connections stay open, and new ones are accepted, but reach the
// server only when it is called with false.
func (p *Proxy) Hold(on bool) {
	p.with(func() { p.hold, p.silent = [2]bool{on, on}, on })
}

// slow changes the delay of chunks that are read from now on. The caller has mu.
func (p *Proxy) slow(latency, jitter time.Duration, seed uint64) {
	p.delay = delay{max(0, latency), max(0, jitter), seed, p.delay.since + 1}
}

// healed is the end of all holds and of slow. The caller has mu.
func (p *Proxy) healed() {
	p.hold, p.silent = [2]bool{}, false
	p.slow(0, 0, 0)
}

// DropReplies swallows the next n reply chunks, of any connection, and keeps the connections:
// the server has done the work and the client waits. 0 stops it.
func (p *Proxy) DropReplies(n int) { p.with(func() { p.drop = n }) }

// with makes a change of what is held, and returns when it is true.
func (p *Proxy) with(change func()) { settle(p.alter(change)) }

// alter makes a change, makes writes that go on and are now held stop, and wakes all who look at what
// was changed. The pipes that it returns may still be in a write that will stop at once.
func (p *Proxy) alter(change func()) (stopping []*pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.hold
	change()
	for dir, now := range p.hold {
		if before[dir] == now {
			continue
		}
		var deadline time.Time // none
		if now {
			deadline = time.Unix(1, 0) // long ago
		}
		for l := range p.links {
			if c := l.side[1-dir]; c != nil {
				// It fails for a closed connection only, which writes nothing.
				_ = c.SetWriteDeadline(deadline)
			}
			if now {
				stopping = append(stopping, l.pipe[dir])
			}
		}
	}
	p.update()
	for l := range p.links {
		l.held = l.held && p.silent
		kick(l.wake)
		for _, d := range l.pipe {
			kick(d.wake)
		}
	}
	p.changed.fire()
	return stopping
}

// settle waits until none of the pipes is in a write.
func settle(pipes []*pipe) {
	for _, d := range pipes {
		d.mu.Lock()
		d.mu.Unlock() //nolint:staticcheck // that it was free is what was waited for
	}
}

// update says which directions pass. The caller has mu.
func (p *Proxy) update() {
	p.passes[request].Store(!p.hold[request] && !p.delay.on())
	p.passes[reply].Store(!p.hold[reply] && !p.delay.on() && p.drop == 0)
}

// Reset closes all connections with RST to both sides, and returns how many there were. What was queued
// for them is lost. When it returns, the resets are sent. New connections are accepted.
func (p *Proxy) Reset() int {
	n := p.end(rstBoth, func(*link) bool { return true })
	p.count(&p.resets, n)
	return n
}

// LoseReplies throws away the replies that are held now, and the connections that they came on: RST to
// the client, the server's side is closed. It returns how many connections. The hold goes on.
func (p *Proxy) LoseReplies() int {
	n := p.end(rstClient, func(l *link) bool { return p.hold[reply] && l.pipe[reply].queued > 0 })
	p.count(&p.lost, n)
	return n
}

func (p *Proxy) count(to *int, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*to += n
	p.changed.fire()
}

// end finishes the links that which is true of, and waits until their sockets are closed.
func (p *Proxy) end(rst [2]bool, which func(*link) bool) int {
	var ended []*link
	p.mu.Lock()
	for l := range p.links {
		if which(l) {
			p.finish(l, rst)
			ended = append(ended, l)
		}
	}
	p.mu.Unlock()
	for _, l := range ended {
		l.running.Wait()
	}
	return len(ended)
}

// Refuse makes connecting fail with ECONNREFUSED until it is called with false.
// Connections that are open stay.
func (p *Proxy) Refuse(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || on == (p.ln == nil):
	case on:
		release, err := reserve(p.ln.Addr().(*net.TCPAddr))
		if err != nil {
			return fmt.Errorf("reserve %s while connections are refused: %w", p.addr, err)
		}
		p.ln.Close()
		p.ln, p.reserved = nil, release
	default:
		ln, err := listen(p.addr)
		if err != nil {
			return fmt.Errorf("listen on %s again: %w", p.addr, err)
		}
		p.reserved()
		p.ln, p.reserved = ln, nil
		p.running.Go(func() { p.accept(ln) })
	}
	return nil
}

// acceptPause is how long a proxy waits for file descriptors if there is none for a connection.
const acceptPause = 10 * time.Millisecond

func (p *Proxy) accept(ln net.Listener) {
	for {
		c, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return // by Refuse or Close
		case err != nil:
			time.Sleep(acceptPause)
			continue
		}
		p.admit(c.(*net.TCPConn))
	}
}

// Close ends all connections with RST, and returns when nothing of the proxy runs any more.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	if p.ln != nil {
		p.ln.Close()
		p.ln = nil
	}
	if p.reserved != nil {
		p.reserved()
		p.reserved = nil
	}
	for l := range p.links {
		p.finish(l, rstBoth)
	}
	p.mu.Unlock()
	p.running.Wait()
}
