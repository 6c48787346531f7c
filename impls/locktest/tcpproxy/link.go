package tcpproxy

import (
	"context"
	"errors"
	"io"
	"net"
)

// link is one connection: two sockets, and what is under way between them.
//
//	waiting --Hold(false)--> dialling --upstream answers--> open --both ends, or a reset--> gone
//	waiting, dialling, open --Cut--> gone
//
// The proxy's mutex guards it.
type link struct {
	side   [2]*net.TCPConn // request: the client's; reply: the server's, nil at first
	queue  [2][]item       // read, not yet delivered
	queued [2]int64
	cancel context.CancelFunc // of the dial
	gone   bool
	ended  int // directions that have delivered their end
}

// item is a chunk, or the end of a direction.
type item struct {
	data []byte
	end  error // io.EOF: the side has shut down its sending; another: reset
}

// maxQueue bounds what is held for one direction; then the kernel's buffers
// fill, as they do in a network.
const maxQueue = 8 << 20

// admit takes a connection in.
func (p *Proxy) admit(c *net.TCPConn) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &link{cancel: cancel}
	l.side[request] = c
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		cancel()
		c.Close()
		return
	}
	p.links[l] = struct{}{}
	p.accepted++
	p.changed.Broadcast()
	p.running.Add(1)
	go p.connect(ctx, l)
}

// connect dials the server as soon as it may, and starts the pumps.
func (p *Proxy) connect(ctx context.Context, l *link) {
	defer p.running.Done()
	p.mu.Lock()
	for p.silent && !l.gone {
		p.changed.Wait()
	}
	p.mu.Unlock()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", p.upstream)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.reset(l)
		return
	case l.gone:
		c.Close()
		return
	}
	l.side[reply] = c.(*net.TCPConn)
	for dir := range l.queue {
		p.running.Add(2)
		go p.read(l, dir)
		go p.write(l, dir)
	}
}

// read takes in what one side sends.
func (p *Proxy) read(l *link, dir int) {
	defer p.running.Done()
	for {
		buf := make([]byte, 32<<10)
		n, err := l.side[dir].Read(buf)
		p.mu.Lock()
		if n > 0 && !l.gone {
			if dir == reply && p.drop > 0 {
				p.drop--
				p.dropped++
			} else {
				p.put(l, dir, item{data: buf[:n]})
			}
		}
		if err != nil && !l.gone {
			p.put(l, dir, item{end: err})
		}
		p.changed.Broadcast()
		for !l.gone && l.queued[dir] > maxQueue {
			p.changed.Wait()
		}
		stop := l.gone || err != nil
		p.mu.Unlock()
		if stop {
			return
		}
	}
}

// put queues an item. The caller holds mu.
func (p *Proxy) put(l *link, dir int, it item) {
	l.queue[dir] = append(l.queue[dir], it)
	l.queued[dir] += int64(len(it.data))
}

// held returns the bytes that are held now, of all links. The caller holds mu.
func (p *Proxy) held(dir int) (n int64) {
	if p.hold[dir] {
		for l := range p.links {
			n += l.queued[dir]
		}
	}
	return n
}

// write delivers to the other side what was read, unless it is held.
func (p *Proxy) write(l *link, dir int) {
	defer p.running.Done()
	to := l.side[1-dir]
	for {
		p.mu.Lock()
		for !l.gone && (p.hold[dir] || len(l.queue[dir]) == 0) {
			p.changed.Wait()
		}
		if l.gone {
			p.mu.Unlock()
			return
		}
		it := l.queue[dir][0]
		l.queue[dir] = l.queue[dir][1:]
		l.queued[dir] -= int64(len(it.data))
		p.passed[dir] += int64(len(it.data))
		p.changed.Broadcast()
		p.mu.Unlock()

		err := it.end
		switch {
		case err == nil:
			if _, err = to.Write(it.data); err == nil {
				continue
			}
		case errors.Is(err, io.EOF):
			err = to.CloseWrite()
		}
		p.set(func() {
			if l.ended++; err != nil || l.ended == len(l.queue) {
				p.finish(l, err != nil)
			}
		})
		return
	}
}

// reset ends a link with RST on both sides. The caller holds mu.
func (p *Proxy) reset(l *link) { p.finish(l, true) }

// finish closes a link. The caller holds mu.
func (p *Proxy) finish(l *link, rst bool) {
	if l.gone {
		return
	}
	l.gone = true
	l.cancel()
	for _, c := range l.side {
		if c != nil {
			if rst {
				// No error that matters: the connection may be gone already.
				_ = c.SetLinger(0)
			}
			c.Close()
		}
	}
	delete(p.links, l)
	p.changed.Broadcast()
}
