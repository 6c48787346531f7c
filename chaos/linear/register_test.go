package linear

import (
	"io"
	"strings"
	"testing"

	"lockbench/chaos/witness"
)

func TestRegister(t *testing.T) {
	read := func(worker int, token uint64, call, ret, value int64) Access {
		return Access{Kind: witness.OpRead, Worker: worker, CallNS: call, ReturnNS: ret, HasToken: true, Token: token, Value: value, OK: true}
	}
	write := func(worker int, token uint64, call, ret, value int64) Access {
		return Access{Kind: witness.OpWrite, Worker: worker, CallNS: call, ReturnNS: ret, HasToken: true, Token: token, Value: value, OK: true}
	}
	refused := func(a Access) Access { a.OK = false; return a }
	unknown := func(a Access) Access { a.OK, a.Unknown = false, true; return a }
	hung := func(a Access) Access { a.OK, a.ReturnNS = false, -1; return a }
	for _, c := range []struct {
		name    string
		history []Access
		want    string
		why     string
	}{
		{"one after the other", []Access{read(1, 1, 0, 1, 0), write(1, 1, 2, 3, 7), read(2, 2, 4, 5, 7), write(2, 2, 6, 7, 8)}, Yes, ""},
		{"equal tokens pass", []Access{write(1, 1, 0, 1, 5), write(2, 1, 2, 3, 6), read(1, 1, 4, 5, 6)}, Yes, ""},
		{"a stale write is refused", []Access{write(1, 1, 0, 1, 5), read(2, 2, 2, 3, 5), refused(write(1, 1, 4, 5, 6)), read(2, 2, 6, 7, 5)}, Yes, ""},
		{"a stale write is taken", []Access{write(1, 1, 0, 1, 5), read(2, 2, 2, 3, 5), write(1, 1, 4, 5, 6)}, No,
			"write of 6 by worker 1 with token 1, +0.000 ms to +0.000 ms, has no place: the store holds 5, largest token 2"},
		{"a stale write is taken that overlaps with the read which registers", []Access{write(1, 1, 0, 1, 5), read(2, 2, 2, 6, 6), write(1, 1, 4, 5, 6)}, Yes, ""},
		{"the rightful holder is refused", []Access{read(1, 2, 0, 1, 0), refused(write(1, 2, 2, 3, 5))}, No, "refused"},
		{"a refused write shows", []Access{write(1, 2, 0, 1, 5), refused(write(2, 1, 2, 3, 6)), read(1, 2, 4, 5, 6)}, No, "read of 6"},
		{"a read that is behind", []Access{write(1, 1, 0, 1, 5), write(1, 1, 2, 3, 6), read(1, 1, 4, 5, 5)}, No, "read of 5"},
		{"an unknown write that shows, later than it returned", []Access{unknown(write(1, 1, 0, 1, 5)), read(1, 1, 2, 3, 0), read(1, 1, 4, 5, 5)}, Yes, ""},
		{"an unknown write that does not show", []Access{hung(write(1, 1, 0, 0, 5)), read(2, 2, 4, 5, 0), read(2, 2, 6, 7, 0)}, Yes, ""},
		{"an unknown write that comes and goes", []Access{hung(write(1, 1, 0, 0, 5)), read(1, 1, 4, 5, 5), read(1, 1, 6, 7, 0)}, No, "read of 0"},
		{"an unknown read that registered its token", []Access{hung(read(2, 2, 0, 0, 0)), refused(write(1, 1, 4, 5, 6))}, Yes, ""},
		{"an unknown read has no value that could be wrong", []Access{write(1, 1, 0, 1, 5), hung(read(1, 1, 4, 0, 0))}, Yes, ""},
		{"without tokens there is nothing to judge", []Access{{Kind: witness.OpWrite, Value: 6, OK: true}}, Unknown, "no operation"},
		{"nothing", nil, Unknown, "no operation"},
		{"a return before the call", []Access{read(1, 1, 5, 4, 0)}, Unknown, "before its call"},
		{"a kind that is not known", []Access{{Kind: "add"}}, Unknown, `kind "add"`},
		{"a worker that is none", []Access{read(-1, 1, 0, 1, 0)}, Unknown, "worker -1"},
		{"a stamp that is none", []Access{read(1, 1, -2, 1, 0)}, Unknown, "called at -2"},
	} {
		got := Register(c.history, 0)
		if got.Verdict != c.want || !strings.Contains(got.Why, c.why) || (got.Why == "") != (got.Verdict == Yes) {
			t.Errorf("%s:\n%+v\n got %s, %q\nwant %s, %q", c.name, c.history, got.Verdict, got.Why, c.want, c.why)
		}
		if err := got.HTML(io.Discard); (err == nil) != (c.want != Unknown) {
			t.Errorf("%s: HTML: %v", c.name, err)
		}
	}
}

// TestStoredByTheWitness: what the witness's stores do is linearizable, whatever is asked of them.
func TestStoredByTheWitness(t *testing.T) {
	s, err := witness.Serve("")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := witness.Dial(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for seed := range uint64(5) {
		rng := newRand(seed)
		for i := range 60 {
			worker, token := rng.IntN(3), 1+uint64(i/8)-min(rng.Uint64N(2), uint64(i/8))
			with := &token
			if rng.IntN(5) == 0 {
				with = nil
			}
			if rng.IntN(2) == 0 {
				_, err = c.Read(t.Context(), "k", worker, with)
			} else {
				_, err = c.Write(t.Context(), "k", worker, with, int64(i))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		history := Stored(s.Log("k"))
		s.Forget("k")
		if got := Register(history, 0); got.Verdict != Yes {
			t.Errorf("seed %d: %s, %s", seed, got.Verdict, got.Why)
		}
		// The stamps are distinct enough to have one order: what was refused was not taken, and the other way round.
		for i := range history {
			if !history[i].HasToken || i > 0 && history[i-1].CallNS == history[i].CallNS ||
				i+1 < len(history) && history[i+1].CallNS == history[i].CallNS {
				continue
			}
			planted := append([]Access(nil), history...)
			planted[i].OK = !planted[i].OK
			if got := Register(planted, 0); got.Verdict != No {
				t.Errorf("seed %d, operation %d, %s, is said to be the opposite: %s, want %s", seed, i, planted[i], got.Verdict, No)
			}
		}
	}
}
