package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func quiet(int) {}

// TestInterleave: each side once a round, in changing order, and the same with the same seed.
func TestInterleave(t *testing.T) {
	record := func() (rounds []values, order string, told int) {
		var sides []side
		for i, name := range []string{"a", "b", "c"} {
			sides = append(sides, side{name, func(context.Context) (values, error) {
				order += name
				return values{name: float64(len(order)), name + "2": float64(i + 1)}, nil
			}})
		}
		rounds, err := interleave(t.Context(), seeded(), 40, sides, func(int) { told++ })
		if err != nil {
			t.Fatal(err)
		}
		return rounds, order, told
	}
	rounds, order, told := record()
	seen := map[string]bool{}
	for i := range 40 {
		chunk := order[3*i : 3*i+3]
		seen[chunk] = true
		if s := strings.Split(chunk, ""); len(slices.Compact(slices.Sorted(slices.Values(s)))) != 3 {
			t.Errorf("round %d ran %s: want each side once", i, chunk)
		}
		if r := rounds[i]; len(r) != 6 || int(r["b"]) != 3*i+1+strings.Index(chunk, "b") || r["c2"] != 3 {
			t.Errorf("round %d (%s): got %v", i, chunk, r)
		}
	}
	if len(seen) != 6 || told != 40 {
		t.Errorf("%d of 6 orders in 40 rounds; %d rounds were told", len(seen), told)
	}
	if _, again, _ := record(); again != order {
		t.Errorf("same seed, other order:\n%s\n%s", order, again)
	}
}

func TestInterleaveEnds(t *testing.T) {
	gone := errors.New("gone")
	good := side{"good", func(context.Context) (values, error) { return values{"x": 1}, nil }}
	bad := side{"bad", func(context.Context) (values, error) { return nil, gone }}
	if _, err := interleave(t.Context(), seeded(), 3, []side{good, bad}, quiet); !errors.Is(err, gone) || !strings.Contains(err.Error(), "round 1, bad") {
		t.Errorf("a side fails: got %v", err)
	}
	if _, err := interleave(t.Context(), seeded(), 3, []side{good, good}, quiet); err == nil {
		t.Error("two sides that measure the same: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	_, err := interleave(ctx, seeded(), 3, []side{{"cancel", func(context.Context) (values, error) { runs++; cancel(); return nil, nil }}}, quiet)
	if !errors.Is(err, context.Canceled) || runs != 1 {
		t.Errorf("interrupted: got %v after %d runs", err, runs)
	}
}
