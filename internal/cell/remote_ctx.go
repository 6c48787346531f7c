package cell

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
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

	mu     sync.Mutex // of what follows, while the word is ended
	ctx    context.Context
	cancel context.CancelCauseFunc
	why    ending
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

// finish disarms it and reports what ended the operation, notEnded if nothing did.
func (c *waitCtx) finish() ending {
	for {
		w := c.word.Load()
		if w == ended {
			c.mu.Lock()
			why := c.why
			c.ctx, c.cancel = context.WithCancelCause(context.Background())
			c.mu.Unlock()
			c.word.Store(idle)
			return why
		}
		if c.word.CompareAndSwap(w, idle) {
			return notEnded
		}
	}
}

// ending is what ended an operation's wait.
type ending int

const (
	notEnded    ending = iota
	expired            // the acquire time-out
	stopped            // the stop
	interrupted        // its worker's other lease is about to end
)

// withDeadline is a context that tells its deadline to libraries that ask for it.
type withDeadline struct {
	context.Context
	at time.Time
}

// Deadline implements context.Context.
func (c *withDeadline) Deadline() (time.Time, bool) { return c.at, true }

// due reports whether the deadline of the operation under way has passed.
func (c *waitCtx) due(now int64) bool { w := c.word.Load(); return w >= 0 && now >= w }

// expire ends the operation if its deadline has passed.
func (c *waitCtx) expire(now int64) {
	if w := c.word.Load(); w >= 0 && now >= w {
		c.end(w, expired)
	}
}

// halt ends the operation, and all later ones that do not outlive it. spare leaves the
// one under way alone.
func (c *waitCtx) halt(spare bool) {
	c.halted.Store(true)
	if w := c.word.Load(); w >= 0 && !spare {
		c.end(w, stopped)
	}
}

// interrupt ends the operation that is under way, if there is one.
func (c *waitCtx) interrupt() {
	if w := c.word.Load(); w >= 0 {
		c.end(w, interrupted)
	}
}

func (c *waitCtx) end(w int64, why ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.word.CompareAndSwap(w, ended) {
		return
	}
	c.why = why
	cause := context.Canceled
	if why == expired {
		cause = context.DeadlineExceeded
	}
	c.cancel(cause)
}
