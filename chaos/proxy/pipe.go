package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Directions.
const (
	request = iota // client to server
	reply          // server to client
)

// item is a chunk, or the end of a stream.
type item struct {
	data []byte
	end  ending
	due  time.Time // not before, while the proxy is slow; zero: at once
}

type ending int

const (
	none  ending = iota
	fin          // the side has shut down its sending
	reset        // the connection is no more
)

// Sizes, in bytes. Requests and replies of locks fit into the first buffer, of which an idle
// connection keeps two; a reader whose buffer was full takes a larger one.
const (
	firstBuffer = 4 << 10
	lastBuffer  = 64 << 10
	// maxQueue bounds what is held for one direction of one connection; then the kernel's buffers fill, as
	// they do in a network.
	maxQueue = 8 << 20
)

// pipe is one direction of a link: a reader that passes on what it reads, and, while there is
// a queue, a goroutine that empties it.
type pipe struct {
	p    *Proxy
	l    *link
	dir  int
	from *net.TCPConn

	// mu is held while something is written: whoever has it knows that nothing is on its way to the kernel.
	// It is taken before Proxy.mu.
	mu       sync.Mutex
	to       *net.TCPConn // nil: the server has not been reached yet
	queue    []item
	draining bool // a goroutine empties the queue
	deaf     bool // the far side is gone: what comes is thrown away
	last     time.Time
	draws    draws

	// Guarded by Proxy.mu.
	queued int64 // bytes in the queue
	ends   int   // in the queue
	ended  bool  // the reader has seen the end of its side
	broken bool  // writing to the side that is read from has failed: its end is a reset

	wake chan struct{} // to the one that empties the queue: look again
	room chan struct{} // to the reader: there may be room again
}

func newPipe(l *link, dir int, from, to *net.TCPConn) *pipe {
	return &pipe{p: l.p, l: l, dir: dir, from: from, to: to, draws: draws{stream: stream(l.p.number, l.number, dir)},
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// read takes in what one side sends, to its end.
func (d *pipe) read() {
	buf := make([]byte, firstBuffer)
	for {
		n, err := d.from.Read(buf)
		if n > 0 {
			d.offer(buf[:n])
		}
		if err != nil {
			d.end(err)
			return
		}
		if n == len(buf) && n < lastBuffer {
			buf = make([]byte, 4*n)
		}
		if !d.awaitRoom() {
			return
		}
	}
}

// offer writes b if the pipe passes, and queues what it could not write.
func (d *pipe) offer(b []byte) {
	if d.pass(b) {
		d.back().putEnd(reset)
	}
}

// pass does what offer says, and reports whether a reset is to go back.
func (d *pipe) pass(b []byte) (goBack bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deaf {
		return false
	}
	if !d.draining && d.to != nil && d.p.passes[d.dir].Load() {
		n, err := d.write(b)
		if err != nil {
			return d.deafen()
		}
		if b = b[n:]; len(b) == 0 {
			return false
		}
	}
	d.put(item{data: bytes.Clone(b)})
	return false
}

// back is the other direction of the same link.
func (d *pipe) back() *pipe { return d.l.pipe[1-d.dir] }

// write writes b as far as it can: a hold ends it early, without an error. The caller has mu.
func (d *pipe) write(b []byte) (int, error) {
	passed := &d.p.passed[d.dir]
	passed.Add(int64(len(b))) // first, so that whoever has received them finds them counted
	n, err := d.to.Write(b)
	passed.Add(int64(n - len(b)))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}

// end passes on the end of the side that was read.
func (d *pipe) end(err error) {
	what := reset
	if errors.Is(err, io.EOF) {
		what = fin
	}
	d.p.mu.Lock()
	d.ended = true
	if d.broken {
		what = reset
	}
	if what == reset && d.l.side[reply] == nil {
		// No server was reached, and none needs to know.
		d.p.finish(d.l, rstBoth)
	}
	d.p.mu.Unlock()
	d.putEnd(what)
}

func (d *pipe) putEnd(what ending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.deaf || what == reset {
		d.put(item{end: what})
	}
}

// deafen is called when writing to the far side has failed: it is gone, and what comes for it is thrown
// away. That news travels back as the far side's own reset: its reader makes one of the end that it
// will see, or, if endSeen, has seen its end before, and the caller puts a reset behind it,
// without mu. The caller has mu.
func (d *pipe) deafen() (endSeen bool) {
	d.deaf = true
	d.queue = nil
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	d.took(d.queued)
	d.ends = 0
	kick(d.room)
	d.back().broken = true
	return d.back().ended
}

// took notes that n bytes have left the queue. The caller has Proxy.mu.
func (d *pipe) took(n int64) {
	d.queued -= n
	d.p.queued[d.dir] -= n
}

// put queues an item, and sees to it that somebody empties the queue. The caller has mu.
func (d *pipe) put(it item) {
	slow, ok := d.note(it)
	if !ok {
		return
	}
	if slow.on() {
		// In order: none overtakes the one before it.
		if at := time.Now().Add(d.draws.next(slow)); at.After(d.last) {
			d.last = at
		}
		it.due = d.last
	}
	d.queue = append(d.queue, it)
	if !d.draining {
		d.draining = true
		d.l.run(d.drain)
	}
}

// note counts an item that is about to be queued; ok is false if it shall not be.
func (d *pipe) note(it item) (slow delay, ok bool) {
	p := d.p
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.changed.fire()
	switch {
	case d.l.gone:
		return delay{}, false
	case d.dir == reply && p.drop > 0 && it.end == none:
		p.drop--
		p.dropped++
		p.update()
		return delay{}, false
	}
	d.took(-int64(len(it.data)))
	if it.end != none {
		d.ends++
	}
	return p.delay, true
}

// awaitRoom waits until the queue has room; it returns false if the link is gone.
func (d *pipe) awaitRoom() bool {
	for {
		d.p.mu.Lock()
		gone, full := d.l.gone, d.queued > maxQueue
		d.p.mu.Unlock()
		if gone || !full {
			return !gone
		}
		<-d.room
	}
}
