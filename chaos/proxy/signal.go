package proxy

import "sync"

// signal tells whoever waits that something has changed. Unlike sync.Cond it can be waited for
// together with a context; it costs a mutex where nobody waits.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // nil: nobody waits
}

// next returns a channel that the next fire closes. Take it before looking at the state.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// kick wakes the one goroutine that waits on ch, or the next that will; ch has room for one.
func kick(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // it will wake up anyway, and look
	}
}
