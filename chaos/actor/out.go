package actor

import (
	"io"
	"sync"

	"lockbench/internal/clock"
)

// out writes events in the order in which they were given, one Write a line.
//
// What the verdict rests on is written before its actor goes on (now): the parent may kill this
// process at any moment. The rest waits in a queue for a goroutine of its own (later), so that a parent
// which does not read for a while delays nobody.
type out struct {
	w io.Writer

	mu      sync.Mutex // of the queue
	pending [][]byte

	writing sync.Mutex
	wake    chan struct{} // there is something in the queue; has room for one
	broken  chan struct{} // closed at the first error, after which nothing is written
	err     error         // set before broken is closed
}

// maxPending is how many events may wait; beyond that whoever gives one waits for the parent.
const maxPending = 4096

// maxText bounds an error in words, in bytes.
const maxText = 1 << 10

func newOut(w io.Writer) *out {
	return &out{w: w, wake: make(chan struct{}, 1), broken: make(chan struct{})}
}

// now writes the event and all that wait before it.
func (o *out) now(e Event) {
	o.put(e)
	o.drain()
}

// later leaves the event to the goroutine of run.
func (o *out) later(e Event) {
	if o.put(e) > maxPending {
		o.drain()
		return
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// put queues the event and returns how many wait.
func (o *out) put(e Event) int {
	if e.AtNS == 0 {
		e.AtNS = clock.Shared()
	}
	e.Text = clip(e.Text, maxText)
	b, err := line(e)
	if err != nil { // an event has nothing that cannot be encoded, and no long text
		panic("chaos actor: " + err.Error())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending = append(o.pending, b)
	return len(o.pending)
}

// drain writes what waits. Who comes while another writes finds its own event written, or
// writes it.
func (o *out) drain() {
	o.writing.Lock()
	defer o.writing.Unlock()
	o.mu.Lock()
	lines := o.pending
	o.pending = nil
	o.mu.Unlock()
	for _, b := range lines {
		if o.err != nil {
			return
		}
		if _, err := o.w.Write(b); err != nil {
			o.err = err
			close(o.broken)
		}
	}
}

// run writes what was left to it, until quit is closed.
func (o *out) run(quit <-chan struct{}) {
	for {
		select {
		case <-o.wake:
			o.drain()
		case <-quit:
			return
		}
	}
}
