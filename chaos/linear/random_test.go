package linear

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6c696e656172)) }

// simulate makes the history of a correct lock that meets faults. Each lease is granted at one moment,
// and is over at one moment, and what the clients see of these is drawn around them.
func simulate(rng *rand.Rand, leases int, tokens, ttl bool) []Op {
	var out []Op
	now := int64(1000)
	some := func(n int64) int64 { return rng.Int64N(n) }
	for i := range leases {
		worker := rng.IntN(4)
		granted := now + some(50)
		a := Op{Kind: Acquire, Worker: worker, Lease: i, CallNS: granted - some(900), ReturnNS: granted + some(100), OK: true}
		if tokens {
			a.HasToken, a.Token = true, uint64(i+1)
		}
		over := a.ReturnNS + 1000 + some(1000) // by the service, if nobody releases
		rel := Op{Kind: Release, Worker: worker, Lease: i, CallNS: a.ReturnNS + 1 + some(900)}
		done := rel.CallNS + some(50)
		rel.ReturnNS = done + some(50)
		end := Op{Kind: Expire, Worker: worker, Lease: i, CallNS: over - some(300), ReturnNS: -1}
		fate := rng.IntN(9)
		switch fate {
		case 0: // killed, or stopped for good
			rel.Kind = ""
		case 1: // the release has no answer, and was done
			rel.Unknown = true
		case 2: // the release never reached the service
			rel.Unknown, done = true, over
		case 3: // too late
			rel.CallNS = over + some(500)
			rel.ReturnNS, done = rel.CallNS+some(50), over
		case 4: // said to be late, and done
		case 5: // the acquisition has no answer, its client is gone
			a.OK, a.Unknown, a.ReturnNS, a.HasToken, a.Token = false, true, -1, false, 0
			rel.Kind, done = "", over
		case 6: // the acquisition has no answer, and was released when it was found
			a.OK, a.Unknown, a.HasToken, a.Token = false, true, false, 0
			rel.OK = true
		default:
			rel.OK = true
		}
		if fate == 0 {
			done = over
		}
		out = append(out, a)
		if rel.Kind != "" {
			out = append(out, rel)
		}
		if ttl || done == over {
			if !ttl {
				end.Kind = SessionEnd
			}
			out = append(out, end)
		}
		for range rng.IntN(3) { // others give up waiting, or lose their connection
			call := granted - some(300)
			o := Op{Kind: Acquire, Worker: 4, Lease: 1000 + len(out), CallNS: call, ReturnNS: call + some(600)}
			o.Unknown = rng.IntN(2) == 0
			out = append(out, o)
		}
		now = done
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// doubleGrant adds an acquisition within the time of a lease that surely stood; ok is false if there is no such time.
func doubleGrant(rng *rand.Rand, history []Op) (planted []Op, ok bool) {
	for _, i := range rng.Perm(len(history)) {
		a := history[i]
		if a.Kind != Acquire || !a.sure() {
			continue
		}
		until := int64(never)
		for _, o := range history {
			if o.Lease == a.Lease && o.Kind != Acquire {
				until = min(until, o.CallNS)
			}
		}
		if until == never {
			until = a.ReturnNS + 100
		}
		if until-a.ReturnNS < 3 {
			continue
		}
		call := a.ReturnNS + 1 + rng.Int64N(until-a.ReturnNS-2)
		second := Op{Kind: Acquire, Worker: 5, Lease: 9999, CallNS: call, ReturnNS: call + rng.Int64N(until-call), OK: true}
		return append(slices.Clone(history), second), true
	}
	return nil, false
}

// checkCorrect: a correct lock is never blamed, and one double grant always is.
func checkCorrect(t *testing.T, seed uint64, leases int) {
	t.Helper()
	rng := newRand(seed)
	history := simulate(rng, leases, rng.IntN(2) == 0, rng.IntN(2) == 0)
	got := Lock(history, 0)
	// If no acquisition is sure there is nothing to judge.
	if got.Verdict != Yes && (got.Verdict != Unknown || slices.ContainsFunc(history, Op.sure)) {
		t.Errorf("seed %d, %d leases: a correct lock is %s: %s\n%+v", seed, leases, got.Verdict, got.Why, history)
	}
	if planted, ok := doubleGrant(rng, history); ok {
		if got := Lock(planted, 0); got.Verdict != No {
			t.Errorf("seed %d, %d leases: a double grant is %s: %s\n%+v", seed, leases, got.Verdict, got.Why, planted)
		}
	}
}

func TestCorrectLocks(t *testing.T) {
	for seed := range uint64(1000) {
		checkCorrect(t, seed, 1+int(seed%12))
	}
	for seed := range uint64(3) { // longer than any round
		checkCorrect(t, seed, 150)
	}
}

func FuzzCorrectLocks(f *testing.F) {
	f.Add(uint64(1), uint8(3))
	f.Add(uint64(99), uint8(40))
	f.Fuzz(func(t *testing.T, seed uint64, leases uint8) { checkCorrect(t, seed, 1+int(leases%64)) })
}

// jumble makes a history without any sense to it, small enough for the reference.
func jumble(rng *rand.Rand) []Op {
	var out []Op
	for i := range 1 + rng.IntN(4) {
		worker := rng.IntN(3)
		op := func(kind Kind) Op {
			call := rng.Int64N(20)
			o := Op{Kind: kind, Worker: worker, Lease: i, CallNS: call, ReturnNS: call + rng.Int64N(10)}
			switch rng.IntN(6) {
			case 0:
				o.Unknown = true
			case 1:
				o.ReturnNS = -1
			case 2: // refused
			default:
				o.OK = true
			}
			return o
		}
		a := op(Acquire)
		if rng.IntN(2) == 0 {
			a.HasToken, a.Token = true, rng.Uint64N(5)
		}
		out = append(out, a)
		for range rng.IntN(3) {
			o := op(Release)
			if o.ReturnNS >= 0 && rng.IntN(3) > 0 { // after the grant, as a client does it
				o.CallNS, o.ReturnNS = o.CallNS+10, o.ReturnNS+10
			}
			out = append(out, o)
		}
		if rng.IntN(2) == 0 {
			o := op(Expire)
			o.CallNS += 10
			out = append(out, o)
		}
	}
	return out
}

// reference judges by the letter: each operation of unknown outcome, and each end of a lease, was done at some time
// after its call, or was not done; it tries all the ways.
func reference(history []Op) string {
	var sure, perhaps []Op
	for _, o := range history {
		doubtful := slices.ContainsFunc(history, func(d Op) bool {
			return d.Kind == Release && d.Lease == o.Lease && !d.sure() && d.CallNS <= o.CallNS
		})
		switch {
		case o.Kind == Expire || o.Kind == Release && !o.sure():
			o.Kind = Expire
			perhaps = append(perhaps, o)
		case o.Kind == Release && doubtful: // said again
		case o.sure():
			sure = append(sure, o)
		case o.Unknown || o.ReturnNS < 0:
			perhaps = append(perhaps, o)
		}
	}
	if len(sure) == 0 {
		return Unknown
	}
	type state struct {
		held  bool
		lease int
		token uint64
	}
	model := porcupine.Model{
		Init: func() any { return state{token: 0} },
		Step: func(s, input, _ any) (bool, any) {
			st, o := s.(state), input.(Op)
			if o.Kind != Acquire {
				return st.held && st.lease == o.Lease, state{token: st.token}
			}
			// Tokens are counted from 1 here, so that the lowest is above none.
			if st.held || o.HasToken && o.Token+1 <= st.token {
				return false, st
			}
			next := state{held: true, lease: o.Lease, token: st.token}
			if o.HasToken {
				next.token = o.Token + 1
			}
			return true, next
		},
	}
	for set := range 1 << len(perhaps) {
		var ops []porcupine.Operation
		for _, o := range sure {
			ops = append(ops, porcupine.Operation{Input: o, Call: o.CallNS, Return: o.ReturnNS})
		}
		for i, o := range perhaps {
			if set>>i&1 == 1 {
				ops = append(ops, porcupine.Operation{Input: o, Call: o.CallNS, Return: 1000})
			}
		}
		if porcupine.CheckOperations(model, ops) {
			return Yes
		}
	}
	return No
}

// TestAgainstReference: one number a lease decides what an operation for each thing that may have happened does.
func TestAgainstReference(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(2000) {
		history := jumble(newRand(seed))
		got, want := Lock(history, 0), reference(history)
		if got.Verdict != want {
			t.Fatalf("seed %d: got %s (%s), want %s\n%s", seed, got.Verdict, got.Why, want, listed(history))
		}
		seen[want]++
	}
	for _, v := range []string{Yes, No, Unknown} {
		if seen[v] < 100 {
			t.Errorf("%d histories are %s: the test compares too little", seen[v], v)
		}
	}
}

func listed(history []Op) (s string) {
	for _, o := range history {
		s += fmt.Sprintf("%+v\n", o)
	}
	return s
}
