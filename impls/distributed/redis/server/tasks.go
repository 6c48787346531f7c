package server

import (
	"context"
	"sync"
	"time"
)

// Tasks are what a lock still does for callers that have gone, such as deleting what a
// request without a reply may have left. The zero value is ready.
type Tasks struct {
	mu      sync.Mutex
	closed  bool
	ctx     context.Context // of all tasks; made with the first
	cancel  context.CancelFunc
	running sync.WaitGroup
}

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
	}
	ctx := t.ctx
	t.running.Go(func() { task(ctx) })
	return true
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
