package cell

import (
	"context"
	"sync"
	"sync/atomic"
)

// waitCtx makes the contexts of one worker's acquisitions. One context serves one
// acquisition after the other until it is ended, and is then replaced, so that an
// operation that need not wait costs no timer and no allocation. It is one of the standard
// library's: others that derive from it need no goroutine to see its end.
//
//	idle --begin--> armed --finish--> idle
//	armed --expire, halt, cancel--> ended --finish--> idle, with a new context
//
// word is the deadline on the shared clock while armed; idle or ended otherwise. Who ends the
// operation takes the word by compare-and-swap, so that one that finishes at the same
// instant is not mistaken for the next one.
type waitCtx struct {
	word   atomic.Int64
	halted atomic.Bool

	mu      sync.Mutex // of what follows, while the word is ended
	ctx     context.Context
	cancel  context.CancelCauseFunc
	expired bool // the time-out ended it
}

const (
	idle  = int64(-1)
	ended = int64(-2)
)

func newWaitCtx() *waitCtx {
	c := &waitCtx{}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.word.Store(idle)
	return c
}

// begin arms the context for an operation that may wait until the deadline, and returns
// it. ok is false after halt, unless the operation is to outlive that.
func (c *waitCtx) begin(deadline int64, outlives bool) (ctx context.Context, ok bool) {
	c.word.Store(deadline)
	if !c.halted.Load() || outlives {
		return c.ctx, true
	}
	c.finish()
	return nil, false
}

// finish disarms it and reports whether the operation was ended by the time-out, or
// otherwise.
func (c *waitCtx) finish() (expired, halted bool) {
	for {
		w := c.word.Load()
		if w == ended {
			c.mu.Lock()
			expired, c.expired = c.expired, false
			c.ctx, c.cancel = context.WithCancelCause(context.Background())
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
func (c *waitCtx) due(now int64) bool { w := c.word.Load(); return w >= 0 && now >= w }

// expire ends the operation if its deadline has passed.
func (c *waitCtx) expire(now int64) {
	if w := c.word.Load(); w >= 0 && now >= w {
		c.end(w, true)
	}
}

// halt ends the operation, and all later ones that do not outlive it. spare leaves the
// one under way alone.
func (c *waitCtx) halt(spare bool) {
	c.halted.Store(true)
	if w := c.word.Load(); w >= 0 && !spare {
		c.end(w, false)
	}
}

// interrupt ends the operation that is under way, if there is one.
func (c *waitCtx) interrupt() {
	if w := c.word.Load(); w >= 0 {
		c.end(w, false)
	}
}

func (c *waitCtx) end(w int64, expired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.word.CompareAndSwap(w, ended) {
		return
	}
	c.expired = expired
	cause := context.Canceled
	if expired {
		cause = context.DeadlineExceeded
	}
	c.cancel(cause)
}
