package inproc

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
)

// Roles in a round.
const (
	roleHolder  = "holder"
	rolePlain   = "plain"   // waits with Lock
	roleTimed   = "timed"   // waits with LockFor
	roleContext = "context" // waits with LockContext
	roleLast    = "last"    // tries with TryLock, and comes with Lock when the others have been in
)

// method is the name of the method in which a role waits.
var method = map[string]string{rolePlain: "Lock", roleTimed: "LockFor", roleContext: "LockContext"}

// stayTime is how long who gets in stays: long enough that another who is let in beside is seen.
const stayTime = time.Millisecond

// cast returns the roles of the waiters, at least two where the lock takes as many workers, and whether there
// is a last comer. The holder is one worker more.
func cast(caps lock.Caps, maxWorkers int) (waiters []string, last bool) {
	waiters = []string{rolePlain}
	if caps.Timed {
		waiters = append(waiters, roleTimed)
	}
	if caps.Context {
		waiters = append(waiters, roleContext)
	}
	if len(waiters) < 2 {
		waiters = append(waiters, rolePlain)
	}
	if maxWorkers == 0 || len(waiters)+2 <= maxWorkers {
		return waiters, true
	}
	return waiters[:max(0, min(len(waiters), maxWorkers-1))], false
}

// spawn starts a worker's goroutine. Of a lock that is bound to threads it has a thread of its own, which
// ends with it; the first thread, which never ends, is put aside for the rest of the process's life.
func spawn(bound bool, f func()) {
	go func() {
		if !bound {
			f()
			return
		}
		runtime.LockOSThread()
		if _, first := thread(); first {
			spawn(bound, f)
			select {}
		}
		f()
	}()
}

// waiter is one who queues behind the holder.
type waiter struct {
	id    int
	role  string
	h     lock.Handle
	limit time.Duration // timed and context
	gid   atomic.Int64
	call  atomic.Int64
	got   atomic.Bool  // set before end
	end   atomic.Int64 // 0: it has not come back
	done  chan struct{}
}

// run acquires, stays a while, and gives back.
func (w *waiter) run(s *section) {
	defer close(w.done)
	w.gid.Store(self())
	w.call.Store(clock.Shared())
	got := w.acquire()
	end := clock.Shared()
	w.got.Store(got)
	w.end.Store(end)
	if got {
		pass(s, w.id, w.role, w.h)
	}
}

func (w *waiter) acquire() bool {
	switch w.role {
	case roleTimed:
		return w.h.(lock.TimedLocker).LockFor(w.limit)
	case roleContext:
		ctx, cancel := context.WithTimeout(context.Background(), w.limit)
		defer cancel()
		return w.h.(lock.ContextLocker).LockContext(ctx) == nil
	}
	w.h.Lock()
	return true
}

// wait tells how the wait went, up to end.
func (w *waiter) wait(end int64) wait {
	out := wait{Role: w.role, CallNS: w.call.Load(), EndNS: w.end.Load(), Outcome: left}
	if w.role != rolePlain {
		out.LimitNS = int64(w.limit)
	}
	switch {
	case out.EndNS == 0:
		out.Outcome, out.EndNS = waits, max(end, out.CallNS)
	case w.got.Load():
		out.Outcome = granted
	}
	return out
}

// pass is the section and the release.
func pass(s *section, who int, role string, h lock.Handle) {
	v := s.enter(who, role)
	time.Sleep(stayTime)
	v.leave()
	h.Unlock()
}

// comer is the last one. It has one goroutine for all that it does, since a handle may be bound to its thread.
type comer struct {
	id   int
	h    lock.Handle
	work chan func()
}

func (c *comer) run() {
	for f := range c.work {
		f()
	}
}

// try calls TryLock; ok is false if it does not come back within the time.
func (c *comer) try(s *section, patience time.Duration) (t try, ok bool) {
	out := make(chan try, 1)
	c.work <- func() {
		got := c.h.(lock.TryLocker).TryLock()
		out <- try{clock.Shared(), got}
		if got {
			pass(s, c.id, roleLast, c.h)
		}
	}
	select {
	case t = <-out:
		return t, true
	case <-time.After(patience):
		return try{}, false
	}
}

// lock calls Lock, and reports whether it got in and out within the time.
func (c *comer) lock(s *section, patience time.Duration) bool {
	done := make(chan struct{})
	c.work <- func() {
		c.h.Lock()
		pass(s, c.id, roleLast, c.h)
		close(done)
	}
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}
