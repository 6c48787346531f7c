package witness

import (
	"errors"
	"slices"
	"testing"
)

func TestStores(t *testing.T) {
	read := func(worker int, token uint64) Op {
		return Op{Kind: OpRead, Worker: worker, HasToken: token > 0, Token: token}
	}
	write := func(worker int, token uint64, v int64) Op {
		return Op{Kind: OpWrite, Worker: worker, HasToken: token > 0, Token: token, Value: v}
	}
	// did is what an operation is to be logged as.
	did := func(op Op, value int64, fenced bool, fencedValue int64) Op {
		op.Value, op.Fenced, op.FencedValue = value, fenced, fencedValue
		return op
	}
	for _, c := range []struct {
		name string
		in   []Op
		want []Op
	}{
		{"no token: the fenced store is not asked",
			[]Op{write(1, 0, 7), read(2, 0)},
			[]Op{did(write(1, 0, 7), 7, false, 0), did(read(2, 0), 7, false, 0)}},
		{"equal tokens pass",
			[]Op{read(1, 5), write(1, 5, 1), write(1, 5, 2)},
			[]Op{did(read(1, 5), 0, true, 0), did(write(1, 5, 1), 1, true, 1), did(write(1, 5, 2), 2, true, 2)}},
		{"a lower token is refused, by the fenced store alone",
			[]Op{write(2, 6, 10), write(1, 5, 1)},
			[]Op{did(write(2, 6, 10), 10, true, 10), did(write(1, 5, 1), 1, false, 10)}},
		{"a read registers its token: the stale write that comes before the successor's first is refused",
			[]Op{write(1, 5, 1), read(2, 6), write(1, 5, 2), write(2, 6, 2)},
			[]Op{did(write(1, 5, 1), 1, true, 1), did(read(2, 6), 1, true, 1), did(write(1, 5, 2), 2, false, 1), did(write(2, 6, 2), 2, true, 2)}},
		{"a read with a lower token is refused, and registers nothing",
			[]Op{write(2, 6, 9), read(1, 5), write(2, 6, 10)},
			[]Op{did(write(2, 6, 9), 9, true, 9), did(read(1, 5), 9, false, 9), did(write(2, 6, 10), 10, true, 10)}},
		{"token 0 is a token, and the lowest",
			[]Op{{Kind: OpWrite, HasToken: true, Value: 3}, write(1, 1, 4), {Kind: OpWrite, HasToken: true, Value: 5}},
			[]Op{did(Op{Kind: OpWrite, HasToken: true}, 3, true, 3), did(write(1, 1, 4), 4, true, 4), did(Op{Kind: OpWrite, HasToken: true}, 5, false, 4)}},
	} {
		var s stores
		for i, op := range c.in {
			now := int64(100 + i)
			got, err := s.apply(op, now)
			want := c.want[i]
			want.AtNS = now
			if err != nil || got != want {
				t.Errorf("%s: operation %d, %+v:\n got %+v, %v\nwant %+v", c.name, i, op, got, err, want)
			}
		}
		if len(s.log) != len(c.in) {
			t.Errorf("%s: %d operations logged, want %d: %+v", c.name, len(s.log), len(c.in), s.log)
		}
	}
}

// TestFull: what is not kept in the log is not taken by the stores either.
func TestFull(t *testing.T) {
	s := stores{log: make([]Op, MaxOps)}
	before := slices.Clone(s.log)
	if op, err := s.apply(Op{Kind: OpWrite, Value: 5}, 1); !errors.Is(err, errFull) {
		t.Errorf("operation %d of a key: %+v, %v; want errFull", MaxOps+1, op, err)
	}
	if s.unfenced != 0 || !slices.Equal(s.log, before) {
		t.Errorf("a write that was not taken left %d, and %d operations", s.unfenced, len(s.log))
	}

	srv := &Server{keys: map[string]*stores{}}
	for i := range MaxKeys {
		srv.keys[string(rune('a'+i))] = &stores{}
	}
	if _, err := srv.apply(request{key: "one more", op: Op{Kind: OpRead}}); !errors.Is(err, errFull) {
		t.Errorf("key %d: %v, want errFull", MaxKeys+1, err)
	}
	if _, err := srv.apply(request{key: "a", op: Op{Kind: OpRead}}); err != nil {
		t.Errorf("a key that is there: %v", err)
	}
}
