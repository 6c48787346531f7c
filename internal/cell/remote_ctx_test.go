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
		end             func()
		expired, halted bool
	}{
		"nothing":  {func() {}, false, false},
		"too soon": {func() { c.expire(99) }, false, false},
		"time-out": {func() { c.expire(100) }, true, false},
		"other":    {c.interrupt, false, true},
	} {
		ctx, ok := c.begin(100, false)
		if !ok || ctx.Err() != nil {
			t.Fatalf("%s: begin: %v, %v", name, ok, ctx.Err())
		}
		x.end()
		if (ctx.Err() != nil) != (x.expired || x.halted) {
			t.Errorf("%s: the context's error is %v", name, ctx.Err())
		}
		expired, halted := c.finish()
		if expired != x.expired || halted != x.halted {
			t.Errorf("%s: got expired %v, halted %v, want %v, %v", name, expired, halted, x.expired, x.halted)
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
		if expired, halted := c.finish(); halted || expired && !due {
			t.Fatalf("operation %d: expired %v, halted %v", i, expired, halted)
		}
	}
	close(stop)
	wg.Wait()
}
