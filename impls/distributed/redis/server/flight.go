package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A request that is under way ends at once when its context does, although go-redis
// heeds a context's deadline only while it waits for a reply: the deadline of the request's
// connection is then moved into the past. Which connection that is, the pool decides,
// and does not tell; but it sets the deadline of the request's context on it, which is made
// to be of no other request:
//
//	begun --a connection is given the request's deadline--> flying
//	begun, flying --end--> ended
//	begun --abort--> left --a connection is given its deadline--> cut
//	flying --abort--> cut
//
// A connection that was cut stays so: it returns errors, and is removed from the pool.

// errCut is the failure of a request that was given up because its context ended.
var errCut = errors.New("given up while its reply was awaited")

// flight is one request under way, and its context.
type flight struct {
	context.Context
	at time.Time

	mu    sync.Mutex
	conn  *conn // that it is under way on; nil: not known yet
	left  bool
	ended bool
}

// Deadline implements context.Context.
func (f *flight) Deadline() (time.Time, bool) { return f.at, true }

// abort cuts the request's connection off.
func (f *flight) abort() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended { // the connection may be another's by now
		return
	}
	f.left = true
	if f.conn != nil {
		f.conn.cut()
	}
}

// on notes the request's connection.
func (f *flight) on(c *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.conn = c
	if f.left {
		c.cut()
	}
}

// flights are the requests under way, by their deadlines.
type flights struct {
	mu sync.Mutex
	at map[int64]*flight
}

// Deadlines with an odd number of nanoseconds are of flights, each of one; others are not.
const mark = 1

func unmarked(at time.Time) time.Time { return at.Add(-time.Duration(at.UnixNano() & mark)) }

func (fs *flights) begin(ctx context.Context, at time.Time) *flight {
	f := &flight{Context: ctx}
	at = unmarked(at).Add(mark)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.at == nil {
		fs.at = map[int64]*flight{}
	}
	for fs.at[at.UnixNano()] != nil {
		at = at.Add(2 * mark)
	}
	f.at = at
	fs.at[at.UnixNano()] = f
	return f
}

// end forgets the request and reports whether its connection was cut.
func (fs *flights) end(f *flight) (cut bool) {
	fs.mu.Lock()
	delete(fs.at, f.at.UnixNano())
	fs.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	return f.left && f.conn != nil
}

// conn is a connection that can be cut off. Its deadlines are set by whoever has it from
// the pool.
type conn struct {
	net.Conn
	raw     syscall.RawConn
	flights *flights
	last    atomic.Int64 // the flight that was looked for last, by its deadline
	dead    atomic.Bool
}

var (
	_ net.Conn     = (*conn)(nil)
	_ syscall.Conn = (*conn)(nil)
)

func newConn(c net.Conn, fs *flights) *conn {
	w := &conn{Conn: c, raw: up{}, flights: fs}
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil { // made once: the pool asks before each command
			w.raw = raw
		}
	}
	return w
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// cut ends reads and writes that wait, and all later ones.
func (c *conn) cut() {
	c.dead.Store(true)
	_ = c.Conn.SetDeadline(past) // it fails if the connection is closed
}

// set sets a deadline that is no later than the cut: whichever of both comes last
// sees the other.
func (c *conn) set(t time.Time, set func(time.Time) error) error {
	if ns := t.UnixNano(); ns&mark != 0 && c.last.Swap(ns) != ns {
		c.flights.mu.Lock()
		f := c.flights.at[ns]
		c.flights.mu.Unlock()
		if f != nil {
			f.on(c)
		}
	}
	err := set(t)
	if c.dead.Load() {
		err = c.Conn.SetDeadline(past)
	}
	return err
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.set(t, c.Conn.SetDeadline) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.set(t, c.Conn.SetReadDeadline) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(t, c.Conn.SetWriteDeadline) }

// SyscallConn implements syscall.Conn, by which go-redis asks whether an idle connection
// is still up. With TLS there is none to ask; then only a cut is told.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if c.dead.Load() {
		return nil, errCut
	}
	return c.raw, nil
}

// up is the raw connection of one that nobody can look at: it answers nothing.
type up struct{}

var _ syscall.RawConn = up{}

func (up) Control(func(uintptr)) error    { return nil }
func (up) Read(func(uintptr) bool) error  { return nil }
func (up) Write(func(uintptr) bool) error { return nil }
