package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// errGone is the end of a connection: what was under way has no answer.
var errGone = errors.New("the connection to the lock server ended")

// conn is a client's connection, shared by its workers.
type conn struct {
	nc    net.Conn
	meter *lock.Meter
	// session is lost with the connection.
	session *lease.Keeper
	done    chan struct{} // closed when the connection has ended

	writing sync.Mutex

	mu      sync.Mutex
	last    uint64
	pending map[uint64]chan answer // by request
	turns   map[uint64]chan answer // pushes, by owner
}

// dial connects, and asks whether a lock server answers.
func dial(ctx context.Context, t lock.Target) (*conn, error) {
	if len(t.Addrs) != 1 {
		return nil, fmt.Errorf("dial the loopback lock server: %d addresses given, want one", len(t.Addrs))
	}
	ctx, cancel := context.WithTimeout(ctx, t.DialTimeout)
	defer cancel()
	addr := t.Addrs[0]
	if to, ok := t.Reach[addr]; ok {
		addr = to
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("dial the loopback lock server: %w", err)
	}
	c := &conn{nc: nc, meter: t.Meter, session: lease.Session(), done: make(chan struct{}),
		pending: map[uint64]chan answer{}, turns: map[uint64]chan answer{}}
	go c.read()
	if _, err := c.call(ctx, request{Op: opPing}); err != nil {
		c.close()
		return nil, fmt.Errorf("ask the loopback lock server: %w", err)
	}
	return c, nil
}

// read hands answers out until the connection ends.
func (c *conn) read() {
	// What was wrong changes nothing: the connection is over.
	_ = lines(c.nc, func(a answer) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		to := c.pending[a.ID]
		delete(c.pending, a.ID)
		if a.ID == 0 {
			to = c.turns[a.Owner]
		}
		if to != nil {
			select {
			case to <- a: // it has room for one
			default:
			}
		}
		return true
	})
	c.nc.Close()
	c.session.Lose()
	close(c.done)
}

// close ends the connection, and returns when its goroutine has ended.
func (c *conn) close() {
	c.nc.Close()
	<-c.done
}

func (c *conn) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// expect makes room for the push that tells the owner its turn; forget ends it.
func (c *conn) expect(owner uint64) (turn <-chan answer, forget func()) {
	ch := make(chan answer, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns[owner] = ch
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.turns, owner)
	}
}

// call sends a request and waits for its answer. An error means that there was
// none: the request may have been carried out.
func (c *conn) call(ctx context.Context, r request) (answer, error) {
	reply := make(chan answer, 1)
	c.mu.Lock()
	c.last++
	r.ID = c.last
	c.pending[r.ID] = reply
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, r.ID)
	}()
	b, err := line(r)
	if err != nil {
		return answer{}, err
	}
	c.meter.Command(1)
	c.writing.Lock()
	_, err = c.nc.Write(b)
	c.writing.Unlock()
	if err != nil {
		c.nc.Close()
		return answer{}, fmt.Errorf("%w: %w", errGone, err)
	}
	select {
	case a := <-reply:
		if a.State == stBad {
			return a, fmt.Errorf("the lock server does not understand %q", r.Op)
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-c.done:
		return answer{}, errGone
	}
}
