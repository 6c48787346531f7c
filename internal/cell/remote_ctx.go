package cell

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/clock"
)

// waitCtx is the context of one worker's acquisitions. It is used for one after the
// other until it ends, and then replaced, so that an operation that need not wait costs
// no timer and no channel.
//
//	idle --begin--> armed --finish--> idle
//	armed --expire, halt--> ended --finish--> idle, with a new channel
//
// word is deadline<<1 | 0 while armed, on the shared clock; idle and ended otherwise.
// Who ends it takes it by compare-and-swap, so that an operation that finishes at the
// same instant is not mistaken for the next one.
type waitCtx struct {
	context.Context
	word   atomic.Int64
	mu     sync.Mutex
	done   chan struct{}
	err    error
	halted atomic.Bool
}

const (
	idle  = int64(-1)
	ended = int64(-2)
)

func newWaitCtx() *waitCtx {
	c := &waitCtx{Context: context.Background(), done: make(chan struct{})}
	c.word.Store(idle)
	return c
}

// begin arms the context for an operation that may wait until the deadline. It
// returns false after halt, unless the operation is to outlive it.
func (c *waitCtx) begin(deadline int64, outlives bool) bool {
	c.word.Store(deadline << 1)
	if !c.halted.Load() || outlives {
		return true
	}
	c.finish()
	return false
}

// finish disarms it and reports whether it had been ended by the time-out or
// otherwise.
func (c *waitCtx) finish() (expired, halted bool) {
	for {
		w := c.word.Load()
		if w == ended {
			c.mu.Lock()
			expired = c.err == context.DeadlineExceeded
			c.done, c.err = make(chan struct{}), nil
			c.mu.Unlock()
			c.word.Store(idle)
			return expired, !expired
		}
		if c.word.CompareAndSwap(w, idle) {
			return false, false
		}
	}
}

// due reports whether the deadline of the operation under way has passed.
func (c *waitCtx) due(now int64) bool { w := c.word.Load(); return w >= 0 && now >= w>>1 }

// expire ends the operation if its deadline has passed.
func (c *waitCtx) expire(now int64) {
	if w := c.word.Load(); w >= 0 && now >= w>>1 {
		c.end(w, context.DeadlineExceeded)
	}
}

// halt ends the operation, and all later ones that do not outlive it.
func (c *waitCtx) halt(spare bool) {
	c.halted.Store(true)
	if w := c.word.Load(); w >= 0 && !spare {
		c.end(w, context.Canceled)
	}
}

// cancel ends the operation that is under way, if there is one.
func (c *waitCtx) cancel() {
	if w := c.word.Load(); w >= 0 {
		c.end(w, context.Canceled)
	}
}

func (c *waitCtx) end(w int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.word.CompareAndSwap(w, ended) {
		return
	}
	c.err = err
	close(c.done)
}

// Done implements context.Context.
func (c *waitCtx) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// Err implements context.Context.
func (c *waitCtx) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Deadline implements context.Context.
func (c *waitCtx) Deadline() (time.Time, bool) {
	w := c.word.Load()
	if w < 0 {
		return time.Time{}, false
	}
	return time.Now().Add(time.Duration(w>>1 - clock.Shared())), true
}
