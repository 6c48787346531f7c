package server

import (
	"context"
	"sync"
	"time"
)

// Tasks are what a lock still does for callers that have gone, such as deleting what a
// request without a reply may have left, and what it does side by side. The zero value is ready.
type Tasks struct {
	mu      sync.Mutex
	closed  bool
	ctx     context.Context // of all tasks; made with the first
	cancel  context.CancelFunc
	work    chan func(context.Context) // to goroutines that wait for some
	running sync.WaitGroup
}

// spareFor is how long a goroutine is kept without work: the stack of a new one is grown,
// by copying it, several times on the way into go-redis.
const spareFor = time.Second

// Go runs a task, whose context ends when Close gives up on it. After Close nothing
// is run any more: false.
func (t *Tasks) Go(task func(context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if t.cancel == nil {
		t.ctx, t.cancel = context.WithCancel(context.Background())
		t.work = make(chan func(context.Context))
	}
	t.running.Add(1)
	select {
	case t.work <- task:
	default:
		go t.run(t.ctx, t.work, task)
	}
	return true
}

// run runs a task, and then what comes, until nothing has come for some time.
func (t *Tasks) run(ctx context.Context, work <-chan func(context.Context), task func(context.Context)) {
	spare := time.NewTimer(spareFor)
	defer spare.Stop()
	for {
		task(ctx)
		t.running.Done()
		spare.Reset(spareFor)
		select {
		case task = <-work:
		case <-spare.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close waits for the tasks, for some time; then it ends their context and waits
// until they have heard.
func (t *Tasks) Close(grace time.Duration) {
	t.mu.Lock()
	t.closed = true
	cancel := t.cancel
	t.mu.Unlock()
	if cancel == nil {
		return
	}
	defer cancel()
	timer := time.AfterFunc(grace, cancel)
	defer timer.Stop()
	t.running.Wait()
}

// Pause waits for a time; false: ctx ended before.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
