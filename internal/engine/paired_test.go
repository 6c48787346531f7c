package engine

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"lockbench/impls"
	"lockbench/results"
)

// paired returns a session of this test binary against itself.
func paired(t *testing.T, to *sink, mode string, old, new int) (*Paired, *Plan) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(quick("mutex", "ticket"), impls.Catalog(), here(t))
	if err != nil {
		t.Fatal(err)
	}
	r := childRunner(mode, to)
	s := &Paired{Runner: r, Plan: p}
	for i := range old {
		s.Old = append(s.Old, Program{Side: results.SideOld, Index: i, Path: exe})
	}
	for i := range new {
		s.New = append(s.New, Program{Side: results.SideNew, Index: old + i, Path: exe})
	}
	return s, p
}

func TestPairsRunBackToBack(t *testing.T) {
	to := &sink{}
	s, p := paired(t, to, "real", 1, 1)
	var sum Summary
	const rounds = 3
	if err := s.Begin(rounds, &sum); err != nil {
		t.Fatal(err)
	}
	for n := range rounds {
		if err := s.Round(context.Background(), n, p.Cells, &sum); err != nil {
			t.Fatal(err)
		}
	}
	want := rounds * len(p.Cells) * 2
	if sum.Total != want || sum.Done != want || len(to.samples) != want || sum.Outcomes[results.OutcomeOK] != want {
		t.Fatalf("%d rounds of %d cells: got %+v and %d samples, want %d, all ok", rounds, len(p.Cells), sum, len(to.samples), want)
	}
	for i := 0; i < len(to.samples); i += 2 {
		a, b := to.samples[i], to.samples[i+1]
		if a.Cell != b.Cell || a.Rep != b.Rep || a.Seed != b.Seed || a.Side == b.Side || a.Second || !b.Second || a.Program == b.Program {
			t.Errorf("samples %d and %d: got %s %s rep %d second %v program %d and %s %s rep %d second %v program %d, want the halves of a pair", i, i+1,
				a.Cell, a.Side, a.Rep, a.Second, a.Program, b.Cell, b.Side, b.Rep, b.Second, b.Program)
		}
	}
}

// TestOrderWithinPairs: the order is a fair coin for each pair, the same for
// the same seed, another for another cell.
func TestOrderWithinPairs(t *testing.T) {
	const n = 10_000
	first, alike := 0, 0
	for i := range n {
		a := newFirst(1, "mutex", i)
		if a != newFirst(1, "mutex", i) {
			t.Fatalf("pair %d: the order is not reproduced", i)
		}
		if a {
			first++
		}
		if a == newFirst(1, "ticket", i) {
			alike++
		}
	}
	// Six standard deviations of a fair coin.
	limit := 6 * math.Sqrt(n) / 2
	if math.Abs(float64(first)-n/2) > limit || math.Abs(float64(alike)-n/2) > limit {
		t.Errorf("of %d pairs the new side was first in %d, and two cells agreed in %d: want about half", n, first, alike)
	}
}

func TestProgramsOfPairs(t *testing.T) {
	for _, x := range []struct{ old, new int }{{1, 1}, {1, 3}, {3, 1}, {2, 2}, {3, 3}, {2, 3}, {4, 2}, {6, 4}} {
		s := &Paired{Old: make([]Program, x.old), New: make([]Program, x.new)}
		for i := range s.Old {
			s.Old[i].Index = i
		}
		for i := range s.New {
			s.New[i].Index = i
		}
		seen := map[string]int{}
		for n := range 5 * x.old * x.new {
			o, w := s.programs(n)
			seen[fmt.Sprint(o.Index, w.Index)]++
		}
		if len(seen) != x.old*x.new {
			t.Errorf("%d old and %d new programs: %d combinations came, want %d", x.old, x.new, len(seen), x.old*x.new)
		}
		for c, k := range seen {
			if k != 5 {
				t.Errorf("%d old and %d new programs: combination %s came %d times, want 5", x.old, x.new, c, k)
			}
		}
	}
}

func TestInterruptDropsThePairInFlight(t *testing.T) {
	to := &sink{}
	s, p := paired(t, to, "real", 1, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var sum Summary
	if err := s.Begin(1, &sum); err != nil {
		t.Fatal(err)
	}
	if err := s.Round(ctx, 0, p.Cells, &sum); err != nil {
		t.Fatal(err)
	}
	if err := s.End(ctx, &sum); err != nil {
		t.Fatal(err)
	}
	if len(to.samples) != 0 || !sum.Interrupted || len(to.events) != 1 || to.events[0].Kind != results.EventInterrupted {
		t.Errorf("got %d samples, %+v, events %+v; want none, interrupted, and the event", len(to.samples), sum, to.events)
	}
}
