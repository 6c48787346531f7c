package postgres

import (
	"context"
	"fmt"
	"net"
	"time"

	"lockbench/lock"
)

// cancel is what interrupts a request whose caller has left:
//
//	sent --reply--> done
//	sent --ctx ends--> cancelling --the server took the cancel request, and the reply came--> done
//	cancelling --cancelGrace passes--> cut: the session ends, and what it held
//
// A cancel request travels on a connection of its own and names the backend, not
// the statement: one that is late would hit the next statement. The server signals
// the backend before it closes that connection (the manual: Canceling Requests in Progress), and a
// backend that waits for a request ignores the signal. So nothing more is sent
// until the cancel request's connection has been closed by the server; if that
// cannot be seen, the session is ended.
type cancel struct {
	replied chan struct{} // closed by the sender when the reply is there
	ended   chan struct{} // closed by interrupt at its end
	doubt   bool          // the request was perhaps not delivered; written before ended
	fn      func()        // interrupt as a value, made once
}

// cancelGrace is how long a server may take to cancel before the connection is
// cut. It is less than the time that Close waits for callers.
const cancelGrace = 2 * time.Second

func (c *conn) resetCancel() {
	c.cancel.replied, c.cancel.ended, c.cancel.doubt = make(chan struct{}), make(chan struct{}), false
	if c.cancel.fn == nil {
		c.cancel.fn = c.interrupt
	}
}

// ask sends the request that has been put together and waits for its reply, or
// until ctx ends: then the server is told to cancel, and the reply is waited for all the
// same, for a short time, because it may be that of a success.
func (c *conn) ask(ctx context.Context) error {
	err := ctx.Err()
	if err == nil && c.broken.Load() {
		err = net.ErrClosed
	}
	if err != nil {
		c.out, c.scratch, c.sent = c.out[:0], c.scratch[:0], 0
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	stop := context.AfterFunc(ctx, c.cancel.fn)
	err = c.exchange(lock.TraceOf(ctx))
	if stop() {
		return err
	}
	close(c.cancel.replied)
	<-c.cancel.ended
	if c.cancel.doubt {
		c.cut()
	}
	c.resetCancel()
	return err
}

func (c *conn) interrupt() {
	defer close(c.cancel.ended)
	ctx, end := context.WithTimeout(context.Background(), cancelGrace)
	defer end()
	c.meter.Command(1)
	if err := c.pg.CancelRequest(ctx); err != nil || ctx.Err() != nil {
		c.cancel.doubt = true
	}
	select {
	case <-c.cancel.replied:
	case <-ctx.Done():
		c.cut()
	}
}
