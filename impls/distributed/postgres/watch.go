package postgres

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"lockbench/impls/distributed/lease"
)

// watch reads an idle connection in which locks are held, so that its end is
// known at once and not with the next statement: a server that ends a session
// says so (57P01 and the like) or hangs up, and TCP keepalives tell of one that has vanished.
//
//	off --beginWatch--> armed --one to two ticks--> reading --end of the connection--> off, Lose
//	armed, reading --endWatch--> off
//
// Most leases are released before a tick, and cost two stores. A timer for each of
// them would cost more than it seems: arming one that is due before all others wakes
// the thread that waits for the network, with two system calls.
type watch struct {
	mu      sync.Mutex
	armed   bool
	since   int64 // the tick at which it was armed
	keeper  *lease.Keeper
	reading chan struct{} // closed when the reader has left; nil: there is none
}

// tick is how long a connection is idle at least before it is read. Less costs
// short sections time; more tells the holder later.
const tick = 10 * time.Millisecond

// idleTicks is after how many ticks without a lease the ticker stops; the next lease starts it.
const idleTicks = 500

// ticker is the clock of a pool's watches.
type ticker struct {
	now     atomic.Int64 // ticks so far
	last    atomic.Int64 // at which something was armed
	running atomic.Bool
}

// beginWatch watches for the keeper's sake until endWatch. The connection must be idle,
// and stay so.
func (c *conn) beginWatch(k *lease.Keeper) {
	now := c.pool.arm()
	w := &c.watch
	w.mu.Lock()
	w.armed, w.since, w.keeper = true, now, k
	w.mu.Unlock()
}

// arm sees to it that the ticker runs, and returns the tick that it is.
func (p *pool) arm() (now int64) {
	t := &p.ticker
	now = t.now.Load()
	t.last.Store(now)
	if !t.running.Load() && t.running.CompareAndSwap(false, true) {
		if !p.behind(p.tickAll) {
			t.running.Store(false) // closed: all that it would look at has ended
		}
	}
	return now
}

// tickAll starts the readers of connections that have been idle for a tick, and wakes
// callers who have waited for too long.
func (p *pool) tickAll() {
	tk := time.NewTicker(tick)
	defer tk.Stop()
	t := &p.ticker
	for {
		select {
		case <-tk.C:
		case <-p.quit:
			return
		}
		now := t.now.Add(1)
		bounds := false
		p.mu.Lock()
		for c := range p.all {
			if c.watch.due(now) {
				go c.read()
			}
			if c.atTick(now) {
				bounds = true
			}
		}
		p.mu.Unlock()
		if !bounds && now-t.last.Load() > idleTicks {
			t.running.Store(false)
			// One that was armed meanwhile, and saw it running, must not wait.
			if now-t.last.Load() > idleTicks || !t.running.CompareAndSwap(false, true) {
				return
			}
		}
	}
}

func (w *watch) due(now int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.armed && now-w.since > 1
}

// endWatch returns when nobody reads any more.
func (c *conn) endWatch() {
	w := &c.watch
	w.mu.Lock()
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

// read runs on a goroutine of its own.
func (c *conn) read() {
	w := &c.watch
	w.mu.Lock()
	if !w.armed { // ended meanwhile
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
