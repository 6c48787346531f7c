package cell

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/lock/loop"
)

// What an acquisition came to, without a lock.
type refusal int

const (
	noLock  refusal = iota // not in time, or the lock gave up
	halted                 // the stop
	failing                // an error
)

// acquire gets the lock, trying again as the policy says, and records how long it
// took from an instant on. second: another key is held meanwhile, and the stop does not end the
// wait.
func (w *rworker) acquire(key int, kind loop.Kind, from int64, second bool) (*grant, refusal) {
	o := w.opts
	limit := w.r.r.AcquireTimeoutNS
	switch kind {
	case loop.OpTry:
		o.Try = true
	case loop.OpTimed:
		limit = w.r.c.spec.Load.TimedWaitNS
	}
	for {
		called := clock.Shared()
		ctx, ok := w.ctx.begin(called+limit, second)
		if !ok {
			w.open(from)
			return nil, halted
		}
		ctx = &withDeadline{ctx, w.r.local(called + limit)}
		trace := lock.NewTrace()
		w.r.arena.Waiting(w.id, key)
		l, err := w.r.leaser.Acquire(lock.WithTrace(ctx, trace), w.r.keys[key], o)
		why := w.ctx.finish()
		now := clock.Shared()
		if err == nil {
			w.r.arena.Waiting(w.id, -1)
			w.bad = 0
			if now >= w.r.stopAt { // a transfer's, which the stop does not cut off
				w.open(from)
			}
			if w.measured(now) {
				w.count.acquire.Record(now-from, 1)
				w.count.got++
				w.count.trips += int64(trace.Trips())
				w.count.attempts += int64(trace.Attempts())
			}
			return &grant{Lease: l, trace: trace, called: called}, noLock
		}
		again, refusal := w.refused(err, kind, why, now)
		w.r.arena.Waiting(w.id, -1)
		if !again {
			if refusal == halted {
				w.open(from)
			}
			return nil, refusal
		}
	}
}

// grant is a lease and how it was got.
type grant struct {
	lock.Lease
	trace  *lock.Trace
	called int64 // when Acquire was called, on the shared clock
}

// open records a wait that the stop has cut off, with its length until then.
func (w *rworker) open(from int64) {
	if w.r.c.spec.Ops == 0 && w.r.stopAt > from && w.measured(max(from, w.r.warmEnd)) {
		w.count.acquire.Record(w.r.stopAt-from, 1)
	}
}

// refused counts an acquisition that brought no lock.
func (w *rworker) refused(err error, kind loop.Kind, ended ending, now int64) (again bool, why refusal) {
	c := &w.count
	in := w.measured(now)
	add := func(p *int64) {
		if in {
			*p++
		}
	}
	switch {
	case ended == stopped:
		return false, halted
	case ended == interrupted: // by its worker, who counts why
		return false, noLock
	case kind == loop.OpTry && errors.Is(err, lock.ErrNotAcquired):
		add(&c.tryFailed)
		return false, noLock
	case errors.Is(err, lock.ErrDeadlock):
		c.deadServer++ // deadlocks are counted whenever they end
		return false, noLock
	case unreachable(err):
		add(&c.errors)
		return false, w.failing(err, now)
	case ended == expired:
		add(&c.timeouts)
		if w.circle.Swap(false) {
			c.deadTimeout++
		}
	case errors.Is(err, lock.ErrNotAcquired):
		add(&c.gaveUp)
	case errors.Is(err, lock.ErrUnknown):
		add(&c.unknown)
		return false, w.failing(err, now)
	default:
		add(&c.errors)
		return false, w.failing(err, now)
	}
	w.bad = 0
	again = w.r.r.OnTimeout == OnTimeoutRetry && kind == loop.OpLock && w.second.Load() == 0 && now < w.r.stopAt
	if w.r.r.OnTimeout == OnTimeoutFallback && kind == loop.OpLock && w.pairs == nil {
		add(&c.fallbacks) // the section follows
	}
	if again {
		add(&c.retries)
		w.r.hot.Add(1)
	}
	return again, noLock
}

// unreachable reports whether an acquisition failed because a server did not answer, and
// not because somebody else holds the lock: also where the lock rightly says that it surely does
// not hold it.
func unreachable(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Failures without a success: after failPause the next attempt, after failLimit the
// repetition is over. A restart of a server is shorter.
const (
	failPause = 10 * time.Millisecond
	failLimit = 2 * time.Second
	// failEnd is how long before the stop failures must have begun for the repetition to have
	// ended with a dead server.
	failEnd = 200 * time.Millisecond
)

// failing ends the repetition when there are only failures.
func (w *rworker) failing(err error, now int64) refusal {
	w.count.lastError = err.Error()
	switch {
	case w.bad == 0:
		w.bad = now
	case now-w.bad > int64(failLimit):
		w.r.fail(fmt.Errorf("nothing but failures for %v: %w", failLimit, err))
	}
	time.Sleep(failPause)
	return failing
}
