package cell

import (
	"sync"
	"testing"
)

// TestWaitCtx: each end of an operation is told from the others, and none reaches the
// next operation.
func TestWaitCtx(t *testing.T) {
	c := newWaitCtx()
	for name, x := range map[string]struct {
		end  func()
		want ending
	}{
		"nothing":   {func() {}, notEnded},
		"too soon":  {func() { c.expire(99) }, notEnded},
		"time-out":  {func() { c.expire(100) }, expired},
		"interrupt": {c.interrupt, interrupted},
	} {
		ctx, ok := c.begin(100, false)
		if !ok || ctx.Err() != nil {
			t.Fatalf("%s: begin: %v, %v", name, ok, ctx.Err())
		}
		x.end()
		if (ctx.Err() != nil) != (x.want != notEnded) {
			t.Errorf("%s: the context's error is %v", name, ctx.Err())
		}
		if got := c.finish(); got != x.want {
			t.Errorf("%s: got %v, want %v", name, got, x.want)
		}
		c.expire(1000) // nothing is under way
		if ctx, ok := c.begin(2000, false); !ok || ctx.Err() != nil {
			t.Errorf("%s: the next operation is ended, too", name)
		}
		c.finish()
	}
	ctx, _ := c.begin(100, false)
	c.halt(true)
	if ctx.Err() != nil {
		t.Error("halt ended an operation that it was to spare")
	}
	c.finish()
	other := newWaitCtx()
	ctx, _ = other.begin(100, false)
	other.halt(false)
	if why := other.finish(); ctx.Err() == nil || why != stopped {
		t.Errorf("after halt: %v, ended by %v", ctx.Err(), why)
	}
	if _, ok := c.begin(100, false); ok {
		t.Error("an operation began after the halt")
	}
	if ctx, ok := c.begin(100, true); !ok || ctx.Err() != nil {
		t.Error("an operation that outlives the halt did not begin")
	}
}

// TestWaitCtxRace: ends from other goroutines never hit an operation that was not due.
func TestWaitCtxRace(t *testing.T) {
	c := newWaitCtx()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				c.expire(100)
			}
		}
	})
	for i := range 20000 {
		due := i%2 == 0
		deadline := int64(200)
		if due {
			deadline = 50
		}
		ctx, _ := c.begin(deadline, false)
		if !due && ctx.Err() != nil {
			t.Fatalf("operation %d began with a context that had ended", i)
		}
		if why := c.finish(); why != notEnded && (why != expired || !due) {
			t.Fatalf("operation %d: ended by %v", i, why)
		}
	}
	close(stop)
	wg.Wait()
}
