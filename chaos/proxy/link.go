package proxy

import (
	"context"
	"net"
	"sync"
)

// link is one connection: two sockets, and a pipe for each direction. Its states are in the
// package's comment. Proxy.mu guards it, but for pipe, which is set before anybody reads it.
type link struct {
	p      *Proxy
	number int             // of the proxy's connections, from 1
	side   [2]*net.TCPConn // request: the client's; reply: the server's, nil until it is reached
	pipe   [2]*pipe
	cancel context.CancelFunc // of the dial
	wake   chan struct{}      // to connect: look again

	held      bool // no server is dialled before Heal
	gone      bool
	delivered int // ends of streams

	running sync.WaitGroup
}

// run starts a goroutine that the link, and the proxy, wait for.
func (l *link) run(f func()) {
	l.p.running.Add(1)
	l.running.Go(func() {
		defer l.p.running.Done()
		f()
	})
}

// admit takes a connection in.
func (p *Proxy) admit(c *net.TCPConn) {
	ctx, cancel := context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		cancel()
		c.Close()
		return
	}
	p.accepted++
	l := &link{p: p, number: p.accepted, cancel: cancel, held: p.silent, wake: make(chan struct{}, 1)}
	l.side[request] = c
	l.pipe[request] = newPipe(l, request, c, nil)
	l.pipe[reply] = newPipe(l, reply, nil, c)
	p.links[l] = struct{}{}
	p.changed.fire()
	l.run(l.pipe[request].read)
	l.run(func() { p.connect(ctx, l) })
}

// connect dials the server as soon as it may, and opens the link.
func (p *Proxy) connect(ctx context.Context, l *link) {
	for {
		p.mu.Lock()
		gone, held := l.gone, l.held
		p.mu.Unlock()
		if gone {
			return
		}
		if !held {
			break
		}
		<-l.wake
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", p.upstream)
	if !p.opened(l, c, err) {
		return
	}
	out, in := l.pipe[request], l.pipe[reply]
	in.from = c.(*net.TCPConn)
	out.mu.Lock()
	out.to = in.from
	out.mu.Unlock()
	kick(out.wake)
	l.run(in.read)
}

// opened notes the outcome of a dial, and reports whether the link is open.
func (p *Proxy) opened(l *link, c net.Conn, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.finish(l, rstBoth)
		return false
	case l.gone:
		c.Close()
		return false
	}
	l.side[reply] = c.(*net.TCPConn)
	p.changed.fire()
	return true
}

// Which sides of a link that is closed get a reset.
var (
	rstNone   = [2]bool{}
	rstBoth   = [2]bool{true, true}
	rstClient = [2]bool{request: true}
)

// finish closes a link; what it had queued is lost. The caller has mu.
func (p *Proxy) finish(l *link, rst [2]bool) {
	if l.gone {
		return
	}
	l.gone = true
	l.cancel()
	for i, c := range l.side {
		if c != nil {
			if rst[i] {
				// No error that matters: the connection may be gone already.
				_ = c.SetLinger(0)
			}
			c.Close()
		}
	}
	for _, d := range l.pipe {
		d.took(d.queued)
		kick(d.wake)
		kick(d.room)
	}
	kick(l.wake)
	delete(p.links, l)
	p.changed.fire()
}
