package linear

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/chaos/witness"
)

// Access is an operation on the store that checks fencing tokens. Stamps are ns of one clock, at least 0.
type Access struct {
	Kind     string // witness.OpRead, witness.OpWrite
	Worker   int    // at least 0
	CallNS   int64
	ReturnNS int64 // < 0: it never returned, and its outcome is unknown
	HasToken bool  // without one the store was not asked, and the access is not judged
	Token    uint64
	Value    int64 // written, or read
	OK       bool  // taken; else, unless Unknown, refused for its token
	Unknown  bool  // it may have been taken, or be taken at any time after its call
}

// Stored returns the accesses of a witness's log. Each takes no time: it was stamped where it took effect.
func Stored(log []witness.Op) []Access {
	var out []Access
	for _, op := range log {
		a := Access{Kind: op.Kind, Worker: op.Worker, CallNS: op.AtNS, ReturnNS: op.AtNS,
			HasToken: op.HasToken, Token: op.Token, Value: op.Value, OK: op.Fenced}
		if op.Kind == witness.OpRead {
			a.Value = op.FencedValue // Value is the other store's
		}
		out = append(out, a)
	}
	return out
}

// check says what is wrong with a.
func (a Access) check() error {
	switch {
	case a.Kind != witness.OpRead && a.Kind != witness.OpWrite:
		return fmt.Errorf("kind %q is not known", a.Kind)
	case a.Worker < 0:
		return fmt.Errorf("worker %d: want at least 0", a.Worker)
	case a.CallNS < 0:
		return fmt.Errorf("called at %d ns: want at least 0", a.CallNS)
	case a.ReturnNS >= 0 && a.ReturnNS < a.CallNS:
		return fmt.Errorf("returned at %d ns, before its call at %d", a.ReturnNS, a.CallNS)
	}
	return nil
}

// Register judges the history of the store that checks fencing tokens, which holds 0 at first; limit is
// at most, and by default, [Limit]. The order of history is of no meaning.
func Register(history []Access, limit time.Duration) Result {
	var stamps []int64
	for i, a := range history {
		if err := a.check(); err != nil {
			return undecided("operation %d, %s by worker %d: %v", i, a.Kind, a.Worker, err)
		}
		stamps = append(stamps, a.CallNS, max(a.CallNS, a.ReturnNS))
	}
	if len(history) == 0 {
		return undecided("no operation to judge")
	}
	origin, end := extent(stamps)
	p := problem{model: registerModel()}
	for _, a := range history {
		if !a.HasToken {
			continue
		}
		if a.Unknown || a.ReturnNS < 0 {
			a.Unknown, a.ReturnNS = true, never
		}
		p.ops = append(p.ops, porcupine.Operation{ClientId: a.Worker, Input: a, Metadata: span(a.CallNS, a.ReturnNS, origin),
			Call: a.CallNS - origin, Return: min(a.ReturnNS, end) - origin})
	}
	return p.check(limit)
}

// registerState is the store between two operations.
type registerState struct {
	value int64
	token uint64 // largest seen; 0 before any, which refuses nothing
}

func registerModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return registerState{} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(registerState).step(input.(Access))
			return ok, next
		},
		DescribeOperation: func(input, _ any) string { return input.(Access).String() },
		DescribeState: func(state any) string {
			s := state.(registerState)
			return fmt.Sprintf("the store holds %d, largest token %d", s.value, s.token)
		},
		DescribeOperationMetadata: func(m any) string {
			s, _ := m.(string)
			return s
		},
	}
}

// step takes or refuses. An access of unknown outcome is both: it does what it can where it is placed, and it can be
// placed after all others. A round has very few of them, those of clients that died.
func (s registerState) step(a Access) (registerState, bool) {
	taken := a.Token >= s.token
	if !a.Unknown && taken != a.OK {
		return s, false
	}
	if !taken {
		return s, true
	}
	if a.Kind == witness.OpRead && !a.Unknown && a.Value != s.value {
		return s, false
	}
	s.token = a.Token
	if a.Kind == witness.OpWrite {
		s.value = a.Value
	}
	return s, true
}

func (a Access) String() string {
	s := fmt.Sprintf("%s of %d by worker %d with token %d", a.Kind, a.Value, a.Worker, a.Token)
	switch {
	case a.Unknown && a.Kind == witness.OpRead:
		return fmt.Sprintf("read by worker %d with token %d: outcome unknown", a.Worker, a.Token)
	case a.Unknown:
		return s + ": outcome unknown"
	case !a.OK:
		return s + ": refused"
	}
	return s
}
