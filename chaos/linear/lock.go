package linear

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind is what an Op does.
type Kind string

// Kinds.
const (
	Acquire Kind = "acquire"
	// Release is a call of the lease's Release. One that said "not held" is taken for unknown: clients that have
	// given a lease up by their own deadline release it at the service all the same.
	Release Kind = "release"
	// Expire is the end of the lease's TTL: CallNS is the time at which the last renewal that is known to have
	// come through was sent, plus the TTL as granted.
	Expire Kind = "expire"
	// SessionEnd is the end of the session that a lock lives by: CallNS is the earliest time at which
	// the service may have ended it, such as that of the client's death.
	SessionEnd Kind = "session-end"
)

// Op is an operation on a lock, or the end of a lease. Stamps are ns of one clock, at least 0.
type Op struct {
	Kind   Kind
	Worker int // who; at least 0
	// Lease is which acquisition this is about: a number of its own for each Acquire, and of that lease for
	// all other kinds.
	Lease  int
	CallNS int64
	// ReturnNS < 0: it never returned, and its outcome is unknown. Ends of leases have none: it is ignored.
	ReturnNS int64
	HasToken bool // of an Acquire: it was given Token
	Token    uint64
	OK       bool // it said that it was done; else, unless Unknown, that it was not
	Unknown  bool // it may have been done, or be done at any time after its call
}

// ends reports whether the kind is the end of a lease.
func (k Kind) ends() bool { return k == Expire || k == SessionEnd }

// sure reports whether o has surely been done, between its call and its return.
func (o Op) sure() bool { return o.OK && !o.Unknown && o.ReturnNS >= 0 }

// check says what is wrong with o.
func (o Op) check() error {
	switch {
	case o.Kind != Acquire && o.Kind != Release && !o.Kind.ends():
		return fmt.Errorf("kind %q is not known", o.Kind)
	case o.Worker < 0:
		return fmt.Errorf("worker %d: want at least 0", o.Worker)
	case o.CallNS < 0:
		return fmt.Errorf("called at %d ns: want at least 0", o.CallNS)
	case o.ReturnNS >= 0 && o.ReturnNS < o.CallNS && !o.Kind.ends():
		return fmt.Errorf("returned at %d ns, before its call at %d", o.ReturnNS, o.CallNS)
	}
	return nil
}

// Lock judges the history of a lock; limit is at most, and by default, [Limit]. The order of history is of
// no meaning.
func Lock(history []Op, limit time.Duration) Result {
	acquired := map[int]bool{}
	for i, o := range history {
		if err := o.check(); err != nil {
			return undecided("operation %d, %s of lease %d: %v", i, o.Kind, o.Lease, err)
		}
		if o.Kind == Acquire {
			if acquired[o.Lease] {
				return undecided("operation %d: a second acquire of lease %d", i, o.Lease)
			}
			acquired[o.Lease] = true
		}
	}
	if len(history) == 0 {
		return undecided("no operation to judge")
	}
	return lockProblem(history).check(limit)
}

// lockProblem sorts out what has to be placed: all that surely was done. The rest says when leases may be over,
// or says nothing.
func lockProblem(history []Op) problem {
	var stamps []int64
	over := map[int]int64{}     // by lease: the earliest moment at which it may be over
	doubtful := map[int]int64{} // by lease: call of the first release that was not sure
	for _, o := range history {
		stamps = append(stamps, o.CallNS)
		if o.Kind.ends() || o.Kind == Release && !o.sure() {
			over[o.Lease] = earliest(over, o.Lease, o.CallNS)
		}
		if o.Kind == Release && !o.sure() {
			doubtful[o.Lease] = earliest(doubtful, o.Lease, o.CallNS)
		}
		if o.ReturnNS >= 0 && !o.Kind.ends() {
			stamps = append(stamps, o.ReturnNS)
		}
	}
	origin, end := extent(stamps)

	// A release that is said again after one that was not sure finds the lease, or does not: clients
	// may well say that this is fine.
	again := func(o Op) bool { return o.CallNS >= earliest(doubtful, o.Lease, never) }
	released := map[int]bool{}
	for _, o := range history {
		released[o.Lease] = released[o.Lease] || o.Kind == Release && o.sure() && !again(o)
	}

	p := problem{}
	workers := map[int]int{}
	for _, o := range history {
		if o.Kind == Acquire {
			workers[o.Lease] = o.Worker
		}
		step := lockStep{kind: o.Kind, lease: o.Lease, worker: o.Worker, token: o.Token, hasToken: o.HasToken, ret: o.ReturnNS}
		unknown := o.Unknown || o.ReturnNS < 0
		switch {
		case o.Kind == Acquire && o.sure(), o.Kind == Release && o.sure() && !again(o):
		case o.Kind == Acquire && unknown && released[o.Lease]: // it was granted: its release says so
			step.ret = never
		default:
			p.notes = append(p.notes, note(o, origin, end))
			continue
		}
		p.ops = append(p.ops, porcupine.Operation{ClientId: o.Worker, Input: step, Metadata: span(o.CallNS, step.ret, origin),
			Call: o.CallNS - origin, Return: min(step.ret, end) - origin})
	}
	p.model = lockModel(over, workers, origin)
	return p
}

// earliest returns the smaller of at and what m has for the lease.
func earliest(m map[int]int64, lease int, at int64) int64 {
	if t, ok := m[lease]; ok {
		return min(t, at)
	}
	return at
}

// note is how the picture shows what need not be placed. Ends of leases have rows of their own.
func note(o Op, origin, end int64) porcupine.Annotation {
	a := porcupine.Annotation{ClientId: o.Worker, Start: o.CallNS - origin, End: end - origin}
	if o.ReturnNS >= 0 {
		a.End = o.ReturnNS - origin
	}
	switch {
	case o.Kind.ends():
		a.Tag, a.End = fmt.Sprintf("lease %d", o.Lease), end-origin
		a.Description = fmt.Sprintf("%s of lease %d: from here on it may be over", o.Kind, o.Lease)
	case o.Unknown || o.ReturnNS < 0:
		a.Description = fmt.Sprintf("%s of lease %d: outcome unknown", o.Kind, o.Lease)
	case o.OK:
		a.Description = fmt.Sprintf("%s of lease %d, said again: not judged", o.Kind, o.Lease)
	default:
		a.Description = fmt.Sprintf("%s of lease %d: refused", o.Kind, o.Lease)
	}
	a.Details = "from " + ms(o.CallNS, origin)
	return a
}
