package cell

import (
	"context"
	"errors"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/lock/loop"
	"lockbench/workloads"
)

// apply makes the protected write of a guarded lock.
func (w *rworker) apply(g *grant, delta int64) error {
	guarded, ok := g.Lease.(lock.Guarded)
	if !ok {
		return errors.New("the lease has no protected write")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(w.r.r.TTLNS))
	defer cancel()
	return guarded.Apply(ctx, delta)
}

// settle counts a guarded write by what its own call and the release, which commits
// it, said: acknowledged if both did, not done if one says so, else unknown.
func (w *rworker) settle(key int, delta int64, released, applied error) {
	switch {
	case applied == nil && released == nil:
		w.r.arena.Acknowledged(key, delta)
		w.count.acked++
	case errors.Is(applied, lock.ErrNotHeld), errors.Is(released, lock.ErrNotHeld) && !errors.Is(applied, lock.ErrUnknown):
	default:
		w.r.arena.Unknown(key, delta)
		w.count.unknownWrite++
	}
}

// update is the operation of an optimistic lock.
func (w *rworker) update(key int, from int64) {
	called := clock.Shared()
	ctx, ok := w.ctx.begin(called+w.r.r.AcquireTimeoutNS, false)
	if !ok {
		return
	}
	trace := lock.NewTrace()
	ctx = &withDeadline{ctx, w.r.local(called + w.r.r.AcquireTimeoutNS)}
	attempts, err := w.r.opt.Update(lock.WithTrace(ctx, trace), w.r.keys[key], func(v int64) int64 {
		w.wait(w.t.Section[w.n%len(w.t.Section)], nil)
		return v + 1
	})
	why := w.ctx.finish()
	now := clock.Shared()
	switch {
	case err == nil:
		w.r.arena.Acknowledged(key, 1)
		w.bad = 0
	case errors.Is(err, lock.ErrUnknown):
		w.r.arena.Unknown(key, 1)
	}
	in := w.measured(now)
	switch {
	case err == nil && in:
		w.count.acquire.Record(now-from, 1)
		w.count.ops++
		w.count.acked++
		w.count.got++
		w.count.attempts += int64(attempts)
		w.count.trips += int64(trace.Trips())
		w.count.arrivals++
		if attempts > 1 {
			w.count.contended++
		}
	case err == nil:
	case why == stopped:
		w.open(from)
	case why == expired && in:
		w.count.timeouts++
	case why == expired:
	case errors.Is(err, lock.ErrNotAcquired) && !unreachable(err):
		if in {
			w.count.gaveUp++
		}
	default:
		if unknown := errors.Is(err, lock.ErrUnknown); in && unknown {
			w.count.unknownWrite++
			w.count.unknown++
		} else if in {
			w.count.errors++
		}
		w.failing(err, now)
	}
}

// transfer moves an amount from one key to the other under both locks. The second
// acquisition is made while the first lease is held; if that is lost meanwhile, the
// transfer is given up, and if the worker is in a circle of waiters then, the lost lease
// was the deadlock's way out.
func (w *rworker) transfer(pair [2]int, from int64) {
	first, second := pair[0], pair[1]
	if w.r.order() == workloads.OrderSorted && first > second {
		first, second = second, first
	}
	a, _ := w.acquire(first, loop.OpLock, from, false)
	if a == nil {
		return
	}
	ea := w.enter(first, a)
	w.wait(w.t.Section[w.n%len(w.t.Section)]/2, a)
	w.circle.Store(false)
	w.second.Store(int64(second) + 1)
	lost, byServer := w.watch(a, second), w.count.deadServer
	b, _ := w.acquire(second, loop.OpLock, clock.Shared(), true)
	w.second.Store(0)
	switch circle := lost(); {
	case !circle || w.count.deadServer > byServer:
	case w.r.c.info.Remote.Expires:
		w.count.deadTTL++
	default: // nothing but the server ends this lock's leases: its word came second
		w.count.deadServer++
	}
	defer w.r.arena.Free(first)
	if b == nil {
		w.exit(first, ea, a)
		w.giveBack(a)
		return
	}
	defer w.r.arena.Free(second)
	eb := w.enter(second, b)
	const amount = 7
	var applied error
	guarded := w.r.c.info.Kind == lock.KindGuarded
	if guarded {
		applied = errors.Join(w.apply(a, sign(first == pair[0])*amount), w.apply(b, sign(second == pair[0])*amount))
	} else if !isLost(a) && !isLost(b) {
		w.r.arena.Move(pair[0], pair[1], amount)
	}
	w.wait(w.t.Section[w.n%len(w.t.Section)]/2, a)
	w.exit(second, eb, b)
	w.exit(first, ea, a)
	errB := w.giveBack(b)
	errA := w.release(a)
	if guarded {
		// The leases are of one owner and so of one transaction: the last release
		// commits both writes.
		released := errors.Join(errB, errA)
		w.settle(first, sign(first == pair[0])*amount, released, applied)
		w.settle(second, sign(second == pair[0])*amount, released, applied)
	}
}

// sign is -1 for the key that an amount is taken from.
func sign(from bool) int64 {
	if from {
		return -1
	}
	return 1
}

func isLost(g *grant) bool {
	select {
	case <-g.Lost():
		return true
	default:
		return false
	}
}

// watch ends the wait for the second key when the first lease is about to end, or lost. The function
// that it returns ends the watching and reports whether a deadlock ended so.
func (w *rworker) watch(a *grant, second int) (deadlocked func() bool) {
	quit, out := make(chan struct{}), make(chan bool, 1)
	go func() {
		far := time.Now().Add(time.Duration(w.r.r.AcquireTimeoutNS) * 2)
		if !w.r.careful(a, far, quit) {
			out <- false
			return
		}
		circle := w.inCircle(second)
		w.ctx.interrupt()
		out <- circle
	}()
	return func() bool { close(quit); return <-out }
}

// giveBack releases a lease that is no operation of its own.
func (w *rworker) giveBack(g *grant) error {
	err := g.Release(context.Background())
	if err != nil && !errors.Is(err, lock.ErrNotHeld) {
		w.count.lastError = err.Error()
		if w.measured(clock.Shared()) {
			w.count.unknown++
		}
	}
	return err
}
