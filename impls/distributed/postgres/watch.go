package postgres

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"lockbench/impls/distributed/lease"
)

// watch reads an idle connection in which locks are held, so that its end is
// known at once and not with the next statement: a server that ends a session
// says so (57P01 and the like) or hangs up, and TCP keepalives tell of one that has vanished.
//
//	off --begin--> armed --watchAfter--> reading --end of the connection--> off, Lose
//	armed, reading --end--> off
//
// Most leases are released before watchAfter, and cost two operations on a timer.
type watch struct {
	mu      sync.Mutex
	timer   *time.Timer
	armed   bool
	keeper  *lease.Keeper
	reading chan struct{} // closed when the reader has left; nil: there is none
}

// watchAfter is how long a connection is idle before it is read. Less costs short
// sections time; more tells the holder later.
const watchAfter = 10 * time.Millisecond

// begin watches for the keeper's sake until end. The connection must be idle,
// and stay so.
func (c *conn) beginWatch(k *lease.Keeper) {
	w := &c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.keeper = true, k
	if w.timer == nil {
		w.timer = time.AfterFunc(watchAfter, c.read)
		return
	}
	w.timer.Reset(watchAfter)
}

// endWatch returns when nobody reads any more.
func (c *conn) endWatch() {
	w := &c.watch
	w.mu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.armed = false
	reading := w.reading
	w.mu.Unlock()
	if reading == nil {
		return
	}
	// The reader is woken by a deadline that has passed. What it has read of a
	// message by then stays in the frontend's buffer.
	_ = c.net.SetReadDeadline(time.Unix(1, 0))
	<-reading
	_ = c.net.SetReadDeadline(time.Time{})
	w.mu.Lock()
	w.reading = nil
	w.mu.Unlock()
}

// read runs on the timer's goroutine.
func (c *conn) read() {
	w := &c.watch
	w.mu.Lock()
	if !w.armed { // ended meanwhile; the timer was on its way
		w.mu.Unlock()
		return
	}
	w.armed = false
	left, keeper := make(chan struct{}), w.keeper
	w.reading = left
	w.mu.Unlock()
	defer close(left)
	for {
		m, err := c.front.Receive()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return // endWatch. A keepalive that fails is another error: ETIMEDOUT
		}
		if _, bad := m.(*pgproto3.ErrorResponse); bad || err != nil {
			// An idle session gets an error only when it ends.
			c.broken.Store(true)
			keeper.Lose()
			return
		}
		// A notice or a parameter that has changed: nothing of ours.
	}
}
