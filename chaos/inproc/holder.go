package inproc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
)

// holder is the one whom the fault hits.
type holder struct {
	s      setup
	h      lock.Handle
	sec    *section
	gid    atomic.Int64
	tid    atomic.Int64 // of its thread, if it is bound to it
	fault  atomic.Int64 // stamp taken just before the fault; 0: not yet
	back   atomic.Int64 // stamp taken just before Unlock; 0: not given back
	point  chan struct{}
	inject chan struct{} // closed by the injector
	over   chan struct{} // closed at the round's end: a holder that lives on ends
	// recovered gets what was recovered above the section.
	recovered chan any
}

func newHolder(s setup, h lock.Handle, sec *section) *holder {
	return &holder{s: s, h: h, sec: sec, point: make(chan struct{}), inject: make(chan struct{}), over: make(chan struct{}), recovered: make(chan any, 1)}
}

// run acquires, stands at the point, and lets the fault happen.
func (h *holder) run() {
	h.gid.Store(self())
	tid, _ := thread()
	h.tid.Store(int64(tid))
	h.h.Lock()
	v := h.sec.enter(0, roleHolder)
	close(h.point)
	<-h.inject
	switch h.s.Fault {
	case GoroutineExit:
		h.exit(v)
	case PanicInSection:
		h.above(v)
	case StalledHolder:
		h.stall(v)
	}
	// The goroutine that panicked is alive, as a server is after a request that failed; so is its thread.
	<-h.over
}

// exit ends the goroutine inside of the section: nothing of the section runs after the stamp.
func (h *holder) exit(v *stay) {
	h.fault.Store(clock.Shared())
	v.leave()
	runtime.Goexit()
}

// above is what stands above the section.
func (h *holder) above(v *stay) {
	defer func() { h.recovered <- recover() }()
	h.panics(v)
}

var errPanic = errors.New("panic in the section")

// panics is the section. What unwinds it ends the claim; Unlock is reached if it is deferred.
func (h *holder) panics(v *stay) {
	defer func() {
		v.leave()
		if h.s.Deferred {
			h.back.Store(clock.Shared())
			h.h.Unlock()
		}
	}()
	h.fault.Store(clock.Shared())
	panic(errPanic)
}

// stall sleeps, and then leaves the section in order.
func (h *holder) stall(v *stay) {
	h.fault.Store(clock.Shared())
	time.Sleep(h.s.stall())
	v.leave()
	h.back.Store(clock.Shared())
	h.h.Unlock()
}

// felt returns the evidence of the fault, or "" if there was none in time. Before the lock is given back, or
// the observation is over, it does no more than look at one dump: to look costs the waiters time.
func (h *holder) felt(ctx context.Context, bound bool) string {
	switch h.s.Fault {
	case PanicInSection:
		select {
		case v := <-h.recovered:
			if v == errPanic {
				return fmt.Sprintf("recovered above the section: %v", v)
			}
		case <-ctx.Done():
		}
	case StalledHolder:
		runtime.Gosched() // the holder has just been let go: it comes first
		for ctx.Err() == nil && h.back.Load() == 0 {
			if state, _, ok := inDump(dumps(), h.gid.Load()); ok && state == "sleep" && h.back.Load() == 0 {
				return fmt.Sprintf("goroutine %d sleeps inside", h.gid.Load())
			}
			time.Sleep(time.Millisecond)
		}
	case GoroutineExit:
		for ctx.Err() == nil {
			if _, _, ok := inDump(dumps(), h.gid.Load()); !ok {
				return fmt.Sprintf("goroutine %d has ended", h.gid.Load()) + h.thread(bound)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return ""
}

// thread says what became of a bound holder's thread.
func (h *holder) thread(bound bool) string {
	switch tid := int(h.tid.Load()); {
	case !bound || tid == 0:
		return ""
	case threadGone(tid):
		return fmt.Sprintf(", and its thread %d", tid)
	default:
		return fmt.Sprintf(", its thread %d has not", tid)
	}
}
