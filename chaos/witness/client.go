package witness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// ErrClosed is returned by operations on a client that was closed.
var ErrClosed = errors.New("the witness's client is closed")

// Client reaches a server. It may be used by several goroutines: each operation has a connection of its
// own while it runs, so that none waits for another.
type Client struct {
	path string

	mu     sync.Mutex
	idle   []net.Conn
	all    map[net.Conn]struct{} // idle, and in use
	closed bool
}

// Dial connects to the server whose socket is at path.
func Dial(path string) (*Client, error) {
	c := &Client{path: path, all: map[net.Conn]struct{}{}}
	nc, err := c.take(context.Background())
	if err != nil {
		return nil, err
	}
	c.put(nc)
	return c, nil
}

// Read reads both stores. A token is registered with the fenced one, which may refuse it
// (Op.Fenced); that is no error. Nil: no token, and the fenced store is not asked.
// An error means that there was no reply: the operation may have arrived.
func (c *Client) Read(ctx context.Context, key string, worker int, token *uint64) (Op, error) {
	return c.do(ctx, request{key: key, op: Op{Kind: OpRead, Worker: worker}}, token)
}

// Write sets both stores to value. What Read says of tokens and errors is true of it, too.
func (c *Client) Write(ctx context.Context, key string, worker int, token *uint64, value int64) (Op, error) {
	return c.do(ctx, request{key: key, op: Op{Kind: OpWrite, Worker: worker, Value: value}}, token)
}

// Close ends all connections. Operations under way end with an error.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for nc := range c.all {
		errs = append(errs, nc.Close())
	}
	c.all, c.idle = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the witness's client: %w", err)
	}
	return nil
}

// do sends a request and waits for its reply. It never sends one twice: a write that arrived twice
// would be two.
func (c *Client) do(ctx context.Context, r request, token *uint64) (Op, error) {
	if token != nil {
		r.op.HasToken, r.op.Token = true, *token
	}
	op, err := c.try(ctx, r)
	if err != nil {
		return Op{}, fmt.Errorf("%s %q at the witness: %w", r.op.Kind, r.key, err)
	}
	return op, nil
}

func (c *Client) try(ctx context.Context, r request) (Op, error) {
	if err := r.check(); err != nil {
		return Op{}, err
	}
	nc, err := c.take(ctx)
	if err != nil {
		return Op{}, err
	}
	op, whole, err := exchange(ctx, nc, r)
	if whole {
		c.put(nc)
	} else {
		c.drop(nc)
	}
	return op, err
}

// exchange does one request on a connection. When ctx ends, so does the wait. whole: the connection can
// be used again.
func exchange(ctx context.Context, nc net.Conn, r request) (op Op, whole bool, err error) {
	stop := context.AfterFunc(ctx, func() {
		// A time that has passed wakes reads and writes. It cannot fail unless the connection is closed.
		_ = nc.SetDeadline(time.Unix(1, 0))
	})
	if _, err = nc.Write(r.append(make([]byte, 0, requestBytes+len(r.key)))); err == nil {
		op, err = readReply(nc, r.op)
	}
	// A reply that came as ctx ended is one; but the deadline may be set at any moment from now.
	whole = stop() && err == nil
	switch {
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		err = fmt.Errorf("no reply: %w", err)
	}
	return op, whole, err
}

// take returns a connection, an idle one if there is one.
func (c *Client) take(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	if n := len(c.idle); n > 0 {
		nc := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return nc, nil
	}
	c.mu.Unlock()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", c.path)
	if err != nil {
		return nil, fmt.Errorf("dial the witness: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(ErrClosed, nc.Close())
	}
	c.all[nc] = struct{}{}
	return nc, nil
}

// put gives a connection back.
func (c *Client) put(nc net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed { // else Close has closed it
		c.idle = append(c.idle, nc)
	}
}

// drop closes a connection that is of no use any more.
func (c *Client) drop(nc net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, nc)
	nc.Close() // perhaps once more
}
