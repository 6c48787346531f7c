package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// A caller who leaves does not wait for the reply to his request; the connection cannot
// do without it:
//
//	idle --ask--> asking --reply--> idle
//	asking --ctx ends, Quit, or the bound passes--> left
//	left --await: the reply comes, by itself or after a cancel request--> idle
//	left --await: cancelGrace passes--> cut: the session ends, and what it held
//
// The caller himself reads the reply; he is woken by a deadline of the socket that has
// passed. What he has read of a message by then stays in the frontend's buffer, so
// that whoever awaits the rest reads on from there.

// wait is what is known of the request under way.
type wait struct {
	mu     sync.Mutex
	asking bool
	quits  bool  // Quit ends it
	until  int64 // tick at which it ends; 0: none
	left   error // why the caller was woken; nil: he was not

	afterCtx func()        // of context.AfterFunc, made once
	woken    chan struct{} // afterCtx was run
}

// terms say when a caller leaves, beside the end of his context.
type terms struct {
	quits bool // when Close begins
	// after this long; 0: never. That is a release, which is sent also if ctx has ended.
	within time.Duration
}

// errLeft is the answer to a request whose caller has left before the reply: somebody
// must await it.
var errLeft = errors.New("left before the reply")

func (c *conn) initWait() {
	w := &c.wait
	w.woken = make(chan struct{}, 1)
	w.afterCtx = func() {
		c.wake(errLeft)
		w.woken <- struct{}{}
	}
}

// ask sends the request that has been put together and waits for its reply, or until
// the caller leaves. The error then wraps errLeft and the reason, and the connection is of no
// use before await has returned.
func (c *conn) ask(ctx context.Context, t terms) error {
	var err error
	if t.within == 0 {
		err = ctx.Err()
	}
	if err == nil && c.broken.Load() {
		err = net.ErrClosed
	}
	c.begin(t)
	if err == nil && t.quits && c.pool.quitting.Load() { // looked at after begin: see Quit
		err = lease.ErrClosed
	}
	if err != nil {
		c.finish()
		c.out, c.scratch, c.sent = c.out[:0], c.scratch[:0], 0
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	if ctx.Done() == nil {
		err = c.exchange(lock.TraceOf(ctx))
	} else {
		stop := context.AfterFunc(ctx, c.wait.afterCtx)
		err = c.exchange(lock.TraceOf(ctx))
		if !stop() {
			<-c.wait.woken // or it would wake the next one
		}
	}
	why := c.finish()
	if why == nil || !c.pending {
		return err
	}
	if end := ctx.Err(); end != nil {
		why = end
	}
	return fmt.Errorf("%w: %w", errLeft, why)
}

// askAll waits for the reply also when ctx ends: the server is told to cancel, and what
// it answers counts, because it may be a success.
func (c *conn) askAll(ctx context.Context) error {
	err := c.ask(ctx, terms{})
	if errors.Is(err, errLeft) {
		return c.await(true)
	}
	return err
}

func (c *conn) begin(t terms) {
	until := int64(0)
	if t.within > 0 {
		until = c.pool.arm() + int64(t.within/tick) + 1
	}
	w := &c.wait
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asking, w.quits, w.until, w.left = true, t.quits, until, nil
}

// finish returns why the caller was woken, and nil if he was not.
func (c *conn) finish() error {
	w := &c.wait
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking = false; w.left != nil {
		_ = c.net.SetReadDeadline(time.Time{})
	}
	return w.left
}

// wake ends the wait for the reply, if there is one.
func (c *conn) wake(why error) {
	c.wait.mu.Lock()
	defer c.wait.mu.Unlock()
	c.wakeLocked(why)
}

func (c *conn) wakeLocked(why error) {
	if w := &c.wait; w.asking && w.left == nil {
		w.left = why
		_ = c.net.SetReadDeadline(time.Unix(1, 0))
	}
}

// errBound is why a release leaves whose caller does not.
var errBound = errors.New("no reply in time")

// atTick wakes who has waited for as long as he may; more: there is a bound to come.
func (c *conn) atTick(now int64) (more bool) {
	w := &c.wait
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asking || w.until == 0 {
		return false
	}
	if now >= w.until {
		c.wakeLocked(errBound)
	}
	return true
}

func (c *conn) atQuit() {
	c.wait.mu.Lock()
	defer c.wait.mu.Unlock()
	if c.wait.quits {
		c.wakeLocked(lease.ErrClosed)
	}
}

// wasWoken reports whether a read failed because of wake.
func (c *conn) wasWoken() bool {
	c.wait.mu.Lock()
	defer c.wait.mu.Unlock()
	return c.wait.asking && c.wait.left != nil
}

// cancelGrace is how long a server may take to answer whose caller has left, before the
// connection is cut. It is less than the time that Close waits for callers.
const cancelGrace = 2 * time.Second

// await waits for the reply that a caller has not waited for, and returns what ask would
// have returned. It may ask the server to cancel what it does.
//
// A cancel request travels on a connection of its own and names the backend, not
// the statement: one that is late would hit the next statement. The server signals
// the backend before it closes that connection (section 55.2.8 of the manual), and a
// backend that waits for a request ignores the signal. So nothing more is sent
// until the cancel request's connection has been closed by the server; if that
// cannot be seen, the session is ended.
func (c *conn) await(cancel bool) error {
	latest := time.Now().Add(cancelGrace)
	doubt := false
	if cancel {
		ctx, end := context.WithDeadline(context.Background(), latest)
		c.meter.Command(1)
		err := c.pg.CancelRequest(ctx)
		doubt = err != nil || ctx.Err() != nil
		end()
	}
	if soon := time.Now().Add(lastWords); soon.After(latest) {
		latest = soon
	}
	_ = c.net.SetReadDeadline(latest)
	err := c.receive()
	_ = c.net.SetReadDeadline(time.Time{})
	if doubt || c.broken.Load() {
		c.cut()
	}
	return err
}
