package actor

import (
	"sync"
	"time"

	"lockbench/internal/claims"
	"lockbench/internal/clock"
	"lockbench/lock"
)

// hold is an actor's lease and its claim.
//
//	inside --leave--> left --free, after the release--> freed
type hold struct {
	a     *actor
	id    int // of the command that acquired it
	lease lock.Lease
	key   string
	ttl   time.Duration
	token *uint64 // nil: none
	value int64   // its counter: what it read, and one more with each write
	watch *watch

	worker, slot int

	mu     sync.Mutex // of the claim
	entry  claims.Entry
	inside bool
	freed  bool
}

// isInside reports whether the claim stands.
func (h *hold) isInside() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.inside
}

// leave gives the claim up, once, and tells it with the number of the command that did it.
func (h *hold) leave(id int, tell func(Event)) {
	h.mu.Lock()
	if !h.inside {
		h.mu.Unlock()
		return
	}
	at := h.a.s.p.arena.Exit(h.worker, h.slot, h.entry, h.over())
	h.inside = false
	h.mu.Unlock()
	tell(Event{Ev: EvLeft, ID: id, Actor: h.a.n, AtNS: at})
}

// free notes that a release has returned, or that there will be none.
func (h *hold) free() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.freed {
		h.freed = true
		h.a.s.p.arena.Free(h.slot)
	}
}

// drop leaves it without a release.
func (h *hold) drop(tell func(Event)) {
	h.leave(h.id, tell)
	h.watch.end()
	h.free()
}

// over is until when the lease is valid by its own deadline, on the shared clock; 1: it was lost,
// nobody knows since when; 0: it has no deadline.
func (h *hold) over() int64 {
	deadline, ok := h.lease.ValidUntil()
	switch {
	case h.isLost() && !(ok && time.Until(deadline) <= 0):
		return 1
	case ok:
		return h.a.s.p.times.of(deadline)
	}
	return 0
}

func (h *hold) isLost() bool {
	select {
	case <-h.lease.Lost():
		return true
	default:
		return false
	}
}

// ended says by what a careful holder sees that its lease has ended; "": it has not.
func (h *hold) ended(margin time.Duration) string {
	if h.isLost() {
		return "the lock said so"
	}
	if deadline, ok := h.lease.ValidUntil(); ok && time.Until(deadline) <= margin {
		return "its deadline"
	}
	return ""
}

// watch tells what becomes of a lease until its release begins.
type watch struct {
	quit, done chan struct{}
	once       sync.Once
}

// watchEvery is how often a lease's deadline is looked at, at most; else 100 times a TTL.
const watchEvery = 5 * time.Millisecond

func newWatch() *watch { return &watch{quit: make(chan struct{}), done: make(chan struct{})} }

// end returns when nothing more will be told.
func (w *watch) end() {
	w.once.Do(func() { close(w.quit) })
	<-w.done
}

// follow is the watch: until is the deadline that was told last, 0 for none.
func (h *hold) follow(until int64) {
	defer close(h.watch.done)
	lost := h.lease.Lost()
	var look <-chan time.Time
	if _, ok := h.lease.ValidUntil(); ok {
		t := time.NewTicker(max(watchEvery, h.ttl/100))
		defer t.Stop()
		look = t.C
	}
	for {
		select {
		case <-h.watch.quit:
			return
		case <-lost:
			h.a.s.say(Event{Ev: EvLost, ID: h.id, Actor: h.a.n, AtNS: clock.Shared()})
			lost = nil
		case <-look:
			deadline, ok := h.lease.ValidUntil()
			if now := h.a.s.p.times.of(deadline); ok && now != until {
				until = now
				h.a.s.sayLater(Event{Ev: EvRenewed, ID: h.id, Actor: h.a.n, UntilNS: now, AtNS: clock.Shared()})
			}
		}
	}
}
