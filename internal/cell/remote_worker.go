package cell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"lockbench/internal/claims"
	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/lock/loop"
	"lockbench/results"
	"lockbench/workloads"
)

// rworker is one goroutine of a client process.
type rworker struct {
	r     *remote
	id    int // among the workers of all clients
	t     workloads.Tables
	pairs [][2]int // of transfers
	n     int      // operations begun
	ctx   *waitCtx
	opts  lock.AcquireOptions
	due   int64 // open loop: the next planned arrival

	count rcounts
	began int64 // when the measured part of its work began
	left  int64 // when it had left
	bad   int64 // when failures without a success between them began; 0: none

	releaseTrips int64        // that its latest release took
	second       atomic.Int64 // transfer: the key+1 that it waits for while it holds another; 0: none
	circle       atomic.Bool  // and it was in a circle of waiters when the time-out came
	x            uint64
}

// rcounts is what a worker counts in the measured interval.
type rcounts struct {
	ops, tryFailed, timeouts, gaveUp, retries, fallbacks, unknown, errors int64
	acked, unknownWrite                                                   int64
	deadTTL, deadTimeout, deadServer                                      int64
	got, trips, attempts, arrivals, contended, backlog                    int64
	handoffTrips                                                          [results.MaxHandoffTrips + 1]int64
	acquire, release, handoff, inside, think, late                        *results.Hist
	insideNS, thinkNS                                                     mean
	lastError                                                             string
}

// sleepFrom is the length, in ns, from which work is slept instead of computed: what
// uses no processor leaves it to the servers, which may be on the same machine.
const sleepFrom = 50_000

func newRworker(r *remote, i int) *rworker {
	spec := r.c.spec
	w := &rworker{r: r, id: spec.Client*spec.Workers + i, ctx: newWaitCtx(), releaseTrips: 1, x: uint64(i) + 1}
	w.t = spec.Load.Tables(w.id, spec.Workers*spec.Clients, spec.Seed)
	if r.order() != "" {
		w.pairs = spec.Load.Pairs(w.id, spec.Seed)
	}
	w.opts = lock.AcquireOptions{TTL: time.Duration(r.r.TTLNS), Renew: r.r.Renew, Fence: r.r.Fence, Wait: r.r.Wait}
	if r.r.Depth > 1 || r.order() != "" {
		w.opts.Owner = "w" + strconv.Itoa(w.id)
	}
	c := &w.count
	c.acquire, c.release, c.handoff = results.NewHist(), results.NewHist(), results.NewHist()
	c.inside, c.think, c.late = results.NewHist(), results.NewHist(), results.NewHist()
	return w
}

// main runs operations until the stop, or until its share of fixed work is done.
func (w *rworker) main() {
	spec := w.r.c.spec
	quota := int64(-1)
	if spec.Ops > 0 {
		total := int64(spec.Workers)
		quota = spec.Ops / total
		if int64(w.id%spec.Workers) < spec.Ops%total {
			quota++
		}
	}
	w.due = w.r.start + w.t.OffsetNS
	rested := w.r.start // when the last operation was over; read only if there is think time
	thinks := slices.Max(w.t.Think) > 0
	for {
		now := clock.Shared()
		if now >= w.r.stopAt || w.r.failed.Load() != nil || quota == 0 {
			break
		}
		if w.began == 0 && now >= w.r.warmEnd {
			w.began = now
		}
		start, planned := now, int64(0)
		if units := w.t.Think[w.n%len(w.t.Think)]; units > 0 {
			w.wait(units, nil)
			start = clock.Shared()
		}
		if len(w.t.GapsNS) > 0 {
			planned = w.arrive()
			start = clock.Shared()
			if planned >= w.r.stopAt || start >= w.r.stopAt {
				break
			}
		}
		if thinks && len(w.t.GapsNS) == 0 && w.measured(start) {
			w.count.think.Record(start-rested, 1)
			w.count.thinkNS.add(start-rested, 1)
		}
		w.operation(start, planned)
		w.n++
		w.r.hot.Add(1)
		if quota > 0 && w.began > 0 { // those of the warm-up are not of the fixed work
			quota--
		}
		if thinks {
			rested = clock.Shared()
		}
	}
	if w.bad != 0 && clock.Shared()-w.bad > int64(failEnd) {
		w.r.fail(fmt.Errorf("nothing but failures until the end: %s", w.count.lastError))
	}
	if len(w.t.GapsNS) > 0 {
		w.backlog()
	}
	w.left = clock.Shared()
}

// measured reports whether an instant is in the measured interval. Of fixed work it is
// from the first operation that began after the warm-up.
func (w *rworker) measured(at int64) bool {
	if w.r.c.spec.Ops > 0 {
		return w.began > 0
	}
	return at >= w.r.warmEnd && at < w.r.stopAt
}

// arrive waits for the next planned arrival and returns when it was. The harness's own
// lateness is recorded if it had to wait.
func (w *rworker) arrive() int64 {
	due := w.due
	w.due += w.t.GapsNS[w.n%len(w.t.GapsNS)]
	now := clock.Shared()
	if now >= due {
		return due
	}
	for now < due && now < w.r.stopAt {
		time.Sleep(time.Duration(min(due, w.r.stopAt) - now))
		now = clock.Shared()
	}
	if w.measured(now) {
		w.count.late.Record(max(0, now-due), 1)
	}
	return due
}

// backlog records the planned arrivals that were not served, as waits of at least
// their length.
func (w *rworker) backlog() {
	for k := w.n; w.due < w.r.stopAt && w.count.backlog < 1<<20; k++ {
		w.count.acquire.Record(w.r.stopAt-w.due, 1)
		w.count.backlog++
		w.due += max(1, w.t.GapsNS[k%len(w.t.GapsNS)])
	}
}

// kind is what sort of operation the n-th is, and its key.
func (w *rworker) kind() (loop.Kind, int) {
	if len(w.t.Ops) == 0 {
		return loop.OpLock, 0
	}
	op := w.t.Ops[w.n%len(w.t.Ops)]
	return op.Kind, int(op.Lock)
}

// operation is one: acquire, section, release. start is when it arrived.
func (w *rworker) operation(start, planned int64) {
	kind, key := w.kind()
	from := start
	if planned > 0 {
		from = planned
	}
	switch {
	case w.r.opt != nil:
		w.update(key, from)
		return
	case w.pairs != nil:
		w.transfer(w.pairs[w.n%len(w.pairs)], from)
		return
	}
	if w.measured(start) {
		w.count.arrivals++
		if w.r.arena.Busy(key) {
			w.count.contended++
		}
	}
	g, refusal := w.acquire(key, kind, from, false)
	if g == nil {
		if refusal == noLock && w.r.r.OnTimeout == OnTimeoutFallback && kind == loop.OpLock {
			w.wait(w.t.Section[w.n%len(w.t.Section)], nil)
		}
		return
	}
	applied := w.section(key, g)
	released := w.release(g)
	w.r.arena.Free(key)
	if w.r.c.info.Kind == lock.KindGuarded {
		w.settle(key, 1, released, applied)
	}
}

// section claims the key, works, and gives the claim up. What was acquired inside is
// released inside, so that a lock which its first release frees is seen to be free. It returns
// the error of the guarded write, if there is one.
func (w *rworker) section(key int, g *grant) (applied error) {
	e := w.enter(key, g)
	if w.r.c.info.Kind == lock.KindGuarded {
		applied = w.apply(g, 1)
	}
	w.touch(key)
	for _, l := range w.reenter(key) {
		if err := l.Release(context.Background()); err != nil && !errors.Is(err, lock.ErrNotHeld) {
			w.count.lastError = err.Error()
			w.count.errors++
		}
	}
	w.wait(w.t.Section[w.n%len(w.t.Section)], g)
	if w.proving(e.At) {
		w.r.careful(g, time.Now().Add(provingHold), w.r.stop)
	}
	w.exit(key, e, g)
	return applied
}

// In the first half of the warm-up claims are held for longer than a round trip, which is
// what an empty section of a measured operation is not: two holders then meet.
const provingHold = time.Millisecond

// proving reports whether a section that was entered at an instant is one of these.
func (w *rworker) proving(at int64) bool {
	return at < w.r.start+w.r.c.spec.WarmupNS/2 && w.r.arena.Workers() > 1 && !w.r.c.spec.Load.Own
}

// enter claims the key and takes the handoff's figures.
func (w *rworker) enter(key int, g *grant) claims.Entry {
	token, has := g.Token()
	e := w.r.arena.Enter(w.id, key, token, has)
	if e.Releaser >= 0 && e.Releaser != w.id && e.Released > g.called && w.measured(e.At) {
		w.count.handoff.Record(e.At-e.Released, 1)
		n := int64(g.trace.TripsSince(w.r.local(e.Released))) + e.ReleaseTrips
		w.count.handoffTrips[min(n, results.MaxHandoffTrips)]++
	}
	return e
}

// exit gives the claim up and takes the section's length.
func (w *rworker) exit(key int, e claims.Entry, g *grant) {
	w.r.arena.SetReleaseTrips(key, w.releaseTrips)
	at := w.r.arena.Exit(w.id, key, e, w.r.overSince(g))
	if w.measured(at) && !w.proving(e.At) {
		w.count.inside.Record(at-e.At, 1)
		w.count.insideNS.add(at-e.At, 1)
	}
}

// release gives a lease back and reports its error. It counts the operation, if the lock was
// held to its end and is surely given back: one that a dead server did not answer, or whose
// lease was lost before, is none.
func (w *rworker) release(g *grant) error {
	before := clock.Shared()
	trace := lock.NewTrace()
	// No deadline of ours: the lock bounds its release by the TTL.
	err := g.Release(lock.WithTrace(context.Background(), trace))
	now := clock.Shared()
	w.releaseTrips = int64(trace.Trips())
	if !w.measured(now) {
		return err
	}
	switch {
	case err == nil:
		w.count.release.Record(now-before, 1)
		w.count.ops++
	case errors.Is(err, lock.ErrNotHeld): // the client counts it among the lost leases
		w.count.release.Record(now-before, 1)
	case errors.Is(err, lock.ErrUnknown):
		w.count.unknown++
		w.count.lastError = err.Error()
	default:
		w.count.errors++
		w.count.lastError = err.Error()
	}
	return err
}

// reenter acquires the key again, as often as the depth says.
func (w *rworker) reenter(key int) (extra []lock.Lease) {
	for range w.r.r.Depth - 1 {
		l, err := w.r.leaser.Acquire(context.Background(), w.r.keys[key], w.opts)
		if err != nil { // the first one is lost, or the lock is not reentrant
			w.count.lastError = err.Error()
			w.count.errors++
			break
		}
		extra = append(extra, l)
	}
	return extra
}

// wait is work or think time of some units. A careful holder of g, if there is one,
// ends it when its lease does.
func (w *rworker) wait(units uint32, g *grant) {
	ns := float64(units) * w.r.c.spec.UnitNS
	switch {
	case ns < sleepFrom:
		w.x = loop.Spin(w.x, units)
	case g == nil:
		t := time.NewTimer(time.Duration(ns))
		defer t.Stop()
		select {
		case <-t.C:
		case <-w.r.stop:
		}
	default:
		w.r.careful(g, time.Now().Add(time.Duration(ns)), nil)
	}
}

// margin is how long before its lease ends a careful holder leaves: it is not woken at
// once, and the next holder may be let in at that very instant. A busy machine wakes
// sleepers some milliseconds late.
func (r *remote) margin() time.Duration {
	ttl := time.Duration(r.r.TTLNS)
	return min(ttl/2, max(ttl/10, 20*time.Millisecond))
}

// local is an instant of the shared clock as a time of this process.
func (r *remote) local(at int64) time.Time { return r.base.Add(time.Duration(at - r.baseShared)) }

// overSince returns until when a lease is valid by its own deadline, on the shared clock; 1 if
// it was lost, 0 if it has no deadline. Whoever is granted the key after that is the next holder
// by right.
func (r *remote) overSince(g *grant) int64 {
	deadline, ok := g.ValidUntil()
	if isLost(g) && !(ok && time.Until(deadline) <= 0) {
		return 1 // it is not known since when
	}
	if ok {
		return r.baseShared + int64(deadline.Sub(r.base))
	}
	return 0
}

// careful waits until an instant, or until quit, or until the lease of g is about to end
// or is lost; it reports whether that was why.
func (r *remote) careful(g *grant, until time.Time, quit <-chan struct{}) (ending bool) {
	for {
		next := until
		if deadline, ok := g.ValidUntil(); ok {
			if deadline = deadline.Add(-r.margin()); time.Until(deadline) <= 0 {
				return true
			} else if deadline.Before(next) { // it may have been renewed by then
				next = deadline
			}
		}
		t := time.NewTimer(time.Until(next))
		select {
		case <-t.C:
			if next.Equal(until) {
				return false
			}
		case <-g.Lost():
			t.Stop()
			return true
		case <-quit:
			t.Stop()
			return false
		}
	}
}

// touch reads and writes the lines that the lock protects.
func (w *rworker) touch(key int) {
	load := w.r.c.spec.Load
	if load.ReadLines+load.WriteLines == 0 {
		return
	}
	lines := w.r.arena.Lines(key)
	for i := range load.ReadLines {
		w.x += uint64(lines[i*claims.LineBytes])
	}
	for i := range load.WriteLines {
		lines[(load.ReadLines+i)*claims.LineBytes]++
	}
}

// halt ends the worker's wait, unless it waits for a transfer's second key: such a
// wait is to end by itself, so that a deadlock's way out is seen.
func (w *rworker) halt() { w.ctx.halt(w.pairs != nil) }

// expire is called by the goroutine of the time-outs. Who waits for whom is looked at
// before the wait is ended, because its end dissolves the circle.
func (w *rworker) expire(now int64) {
	if k := w.second.Load(); k > 0 && w.ctx.due(now) && w.inCircle(int(k-1)) {
		w.circle.Store(true)
	}
	w.ctx.expire(now)
}

// inCircle reports whether the worker, which waits for a key, is in a circle of waiters
// that nobody has reported yet.
func (w *rworker) inCircle(key int) bool {
	members, id := w.r.arena.Cycle(w.id, key)
	return members != nil && w.r.arena.Report(id)
}
