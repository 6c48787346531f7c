package lock

import (
	"context"
	"sync/atomic"
	"time"
)

// Meter counts what one client process sends, in all: acquisitions, releases,
// renewals, waiting and cleaning up. A nil Meter counts nothing.
type Meter struct {
	Commands atomic.Int64 // requests to servers: a command, a script call, a transaction, a statement
	Orphans  atomic.Int64 // grants that came after the caller had left, and were released
	Renewals atomic.Int64 // renewals that succeeded
	Lost     atomic.Int64 // leases that ended before they were released
}

// Command counts n requests.
func (m *Meter) Command(n int64) {
	if m != nil {
		m.Commands.Add(n)
	}
}

// Orphan counts a grant that came too late.
func (m *Meter) Orphan() {
	if m != nil {
		m.Orphans.Add(1)
	}
}

// Trace counts what one operation of one worker waits for. It travels in the
// context, through libraries that pass contexts on. Each operation has a Trace of
// its own: a request that is still under way when the operation has ended counts
// in the trace of the operation that sent it.
type Trace struct {
	// sent is a ring of the times at which requests were sent that the
	// operation waited for, on the critical path, in ns after epoch.
	sent     [traceRing]atomic.Int64
	n        atomic.Int32 // requests so far
	attempts atomic.Int32
}

const traceRing = 16

// epoch is that of all traces: one of each would cost two readings of clocks an operation.
var epoch = time.Now()

// NewTrace returns an empty trace.
func NewTrace() *Trace { return &Trace{} }

// Trip notes that a request is being sent whose reply the operation waits for.
// Requests sent side by side, of which the operation waits for all (the servers
// of Redlock, a pipeline), are one trip: note it once.
func (t *Trace) Trip() {
	if t == nil {
		return
	}
	i := t.n.Add(1) - 1
	t.sent[i%traceRing].Store(int64(time.Since(epoch)))
}

// Attempt notes an attempt to get the lock; in a queue there is one.
func (t *Trace) Attempt() {
	if t != nil {
		t.attempts.Add(1)
	}
}

// Trips returns the number of round trips.
func (t *Trace) Trips() int { return int(t.n.Load()) }

// Attempts returns the number of attempts.
func (t *Trace) Attempts() int { return int(t.attempts.Load()) }

// TripsSince returns how many of the round trips were begun at or after a time:
// those between a handoff's release and its grant. It is exact up to 16.
func (t *Trace) TripsSince(at time.Time) int {
	from, have, n := int64(at.Sub(epoch)), int(t.n.Load()), 0
	for i := max(0, have-traceRing); i < have; i++ {
		if t.sent[i%traceRing].Load() >= from {
			n++
		}
	}
	return n
}

type traceKey struct{}

// WithTrace returns a context that carries the trace.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the context's trace, or nil, whose methods count nothing.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}
