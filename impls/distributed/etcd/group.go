package etcd

import "sync"

// group is the goroutines that a client has left to finish something.
type group struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// start runs f on a goroutine of its own; false: the client is closed.
func (g *group) start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Go(f)
	return true
}

// close lets nothing start any more; wait waits for what runs.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *group) wait() { g.running.Wait() }
