package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lockbench/results"
	"lockbench/results/gate"
	"lockbench/results/pairs"
)

// TestCoverage: of many recordings of equal programs, the bounds that a figure
// rests on miss the true share of false alarms in about one of twenty, and those
// over moving blocks in far more, since these all have the coins of one
// recording. The gate is one with a large alpha, so that there are alarms.
func TestCoverage(t *testing.T) {
	const rounds, budget, cells, sigma, recordings, gates = 256, 32, 1, 0.03, 60, 500
	loose, err := gate.ParseRules("rules", []byte("alpha: 0.2\nrules:\n  - metric: wall_ns_per_op\n    max-regression: 0.01%\n"))
	if err != nil {
		t.Fatal(err)
	}
	// The truth: one gate of each of many recordings.
	truth := share{}
	for i := range 3000 {
		rec := synthetic(t, uint64(1000+i), budget, sigma, always(0), cells)
		res, err := rec.gateOver(loose, rec.along(from(0, budget)))
		if err != nil {
			t.Fatal(err)
		}
		truth.n++
		if res.Verdict == gate.Fail {
			truth.k++
		}
	}
	rate := truth.value()
	missed := map[string]int{}
	for i := range recordings {
		rec := synthetic(t, uint64(i), rounds, sigma, always(0), cells)
		for _, c := range []struct {
			way string
			run func() (*tally, error)
		}{
			{byCoins, func() (*tally, error) { return rec.redraw(loose, gates, budget, uint64(i)) }},
			{byTurns, func() (*tally, error) { return rec.apart(loose, budget) }},
			{byBlocks, func() (*tally, error) { return rec.moving(loose, gates, budget, uint64(i)) }},
		} {
			got, err := c.run()
			if err != nil {
				t.Fatal(err)
			}
			if lo, hi := got.alarms().bounds(); rate < lo || rate > hi {
				missed[c.way]++
			}
		}
	}
	t.Logf("true rate %s; bounds that miss it, of %d: %v", truth.text(), recordings, missed)
	// 60 trials of 5 %: more than 9 have a probability of 0.1 %.
	for _, way := range []string{byCoins, byTurns} {
		if missed[way] > 9 {
			t.Errorf("%s: bounds miss the truth in %d of %d recordings", way, missed[way], recordings)
		}
	}
	if missed[byBlocks] < 15 {
		t.Errorf("%s: bounds miss the truth in %d of %d recordings: then they would be trials", byBlocks, missed[byBlocks], recordings)
	}
}

// TestFoundCoverage is the same of the share of slowdowns that is found, by
// tests of single cells whose lengths differ.
func TestFoundCoverage(t *testing.T) {
	const rounds, budget, cells, sigma, recordings = 256, 64, 2, 0.05, 60
	rules := rules(t, threshold)
	truth := share{}
	for i := range 1500 {
		rec := synthetic(t, uint64(5000+i), budget, sigma, always(0.05), cells)
		got, err := rec.singles(rules, budget)
		if err != nil {
			t.Fatal(err)
		}
		truth.k, truth.n = truth.k+got.cellsOf(gate.Fail).k, truth.n+got.cellsOf(gate.Fail).n
	}
	rate := truth.value()
	above := 0
	var sum share
	for i := range recordings {
		got, err := synthetic(t, uint64(i), rounds, sigma, always(0.05), cells).singles(rules, budget)
		if err != nil {
			t.Fatal(err)
		}
		found := got.cellsOf(gate.Fail)
		sum.k, sum.n = sum.k+found.k, sum.n+found.n
		if lo, _ := found.bounds(); lo > rate {
			above++
		}
	}
	t.Logf("true share %s; all recordings %s; lower bounds above it: %d of %d", truth.text(), sum.text(), above, recordings)
	if rate < 0.3 || rate > 0.95 {
		t.Errorf("true share: got %g, want one that can be missed on both sides", rate)
	}
	// A side has 2.5 %: more than 6 of 60 have a probability of 0.1 %.
	if above > 6 {
		t.Errorf("the lower bound is above the truth in %d of %d recordings", above, recordings)
	}
	if lo, hi := sum.bounds(); rate < lo-0.03 || rate > hi+0.03 {
		t.Errorf("share over all recordings %s, the truth is %s: long tests are left out", sum.text(), truth.text())
	}
}

// TestTurns: tests one after the other share no pair, and end as they begin.
func TestTurns(t *testing.T) {
	const budget = 128
	for _, c := range []struct {
		name   string
		rounds int
		shift  float64
		sigma  float64
		want   []float64 // pairs of each test
	}{
		{"found at once", 600, 0.20, 0.005, repeat(16, (600-budget)/16+1)},
		{"never decided", 600, threshold, 0.005, repeat(budget, 600/budget)},
		{"room for one", budget, 0.20, 0.005, repeat(16, 1)},
		{"a recording that is shorter than the budget", 64, 0.20, 0.005, repeat(16, 1)},
	} {
		rec := synthetic(t, 3, c.rounds, c.sigma, always(c.shift), 2)
		used := map[string]map[int]int{}
		got, err := rec.singles(rules(t, threshold), budget)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range got.cells {
			if fmt.Sprint(x.pairs) != fmt.Sprint(c.want) {
				t.Errorf("%s: tests of %s take %v pairs, want %v", c.name, x.lock, x.pairs, c.want)
			}
			used[x.lock] = map[int]int{}
		}
		whole, err := rec.apart(rules(t, threshold), budget)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(whole.pairs) != fmt.Sprint(c.want) {
			t.Errorf("%s: gates take %v pairs, want %v", c.name, whole.pairs, c.want)
		}
		sum := 0.0
		for _, n := range whole.pairs {
			sum += n
		}
		if sum > float64(c.rounds) {
			t.Errorf("%s: gates one after the other take %g pairs of %d", c.name, sum, c.rounds)
		}
	}
	// The levels are those of the whole gate: the test of a cell says what it
	// says there.
	rec := synthetic(t, 8, 128, 0.03, func(cell, _ int) float64 { return 0.02 * float64(cell) }, 5)
	whole, err := rec.gateOver(rules(t, threshold), rec.along(from(0, budget)))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range rec.cells {
		x, err := rec.single(rules(t, threshold), c, 0, budget)
		if want := whole.Tests[i]; err != nil || x.Verdict != want.Verdict || x.Measured != want.Measured || x.Look == nil || *x.Look != *want.Look {
			t.Errorf("%s alone: got %+v, %v, want %+v", c.Name, x, err, want)
		}
	}
}

// TestSinglesBadOutcome: a repetition that ended badly ends its test, which has
// not found anything; the next one begins after it.
func TestSinglesBadOutcome(t *testing.T) {
	rec := synthetic(t, 3, 160, 0.005, always(0.20), 1)
	r := rec.cells[0].rounds[3]
	r.Outcomes = map[string]map[string]int{results.SideOld: {results.OutcomeOK: 1}, results.SideNew: {results.OutcomeError: 1}}
	r.Pairs, r.Dropped = nil, map[string]int{pairs.DroppedOutcome: 1}
	got, err := rec.singles(rules(t, threshold), 128)
	if err != nil || fmt.Sprint(got.cells[0].pairs) != "[4 16 16]" || got.cellsOf(gate.Fail) != (share{2, 3}) || got.cellsOf(gate.Inconclusive).k != 1 {
		t.Errorf("got %+v, %v, want three tests, the first of 4 pairs without a verdict", got, err)
	}
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// TestRedrawn: the coins exchange halves, each pair of each cell by itself, and
// whatever is planted is gone.
func TestRedrawn(t *testing.T) {
	rec := synthetic(t, 6, 64, 0.001, always(0.20), 2)
	m := lookup(t)
	tr := rec.redrawn(rand.New(rand.NewPCG(1, 1)), 64)
	equal, swapped := 0, 0
	for n := range 64 {
		a, b := tr[0][n].LogRatios(m)[0], tr[1][n].LogRatios(m)[0]
		if a < 0 {
			swapped++
		}
		if (a < 0) == (b < 0) {
			equal++
		}
		want := rec.cells[0].rounds[n].LogRatios(m)[0]
		if a != want && a != -want {
			t.Errorf("pair %d: got %g, want %g or its negative", n, a, want)
		}
	}
	if swapped < 16 || swapped > 48 || equal < 16 || equal > 48 {
		t.Errorf("of 64 pairs %d are exchanged, and %d as in the other cell", swapped, equal)
	}
	round := *rec.cells[0].rounds[0]
	round.Outcomes = map[string]map[string]int{results.SideOld: {results.OutcomeOK: 1}, results.SideNew: {results.OutcomeHang: 1}}
	x := exchanged(&round)
	if x.Outcomes[results.SideOld][results.OutcomeHang] != 1 || x.Outcomes[results.SideNew][results.OutcomeOK] != 1 || x.Pairs[0].New.Side != results.SideNew || x.Pairs[0].Old.Side != results.SideOld {
		t.Errorf("exchanged: got %+v", x)
	}
	if y := exchanged(x); fmt.Sprint(y.Outcomes) != fmt.Sprint(round.Outcomes) || y.Pairs[0].New.ThroughputOps != round.Pairs[0].New.ThroughputOps {
		t.Errorf("exchanged twice: got %+v, want %+v", y, round)
	}
	got, err := rec.redraw(rules(t, threshold), 200, 64, 1)
	if err != nil || got.alarms().k > 4 || got.alarms().n != 200 {
		t.Errorf("alarms of 200 redrawn gates: got %+v, %v", got.alarms(), err)
	}
}

// TestLayoutGates: layouts that differ by far more than the threshold make half
// of the gates fail with one build a side, and fewer with more; none do nothing.
func TestLayoutGates(t *testing.T) {
	rec := synthetic(t, 6, 256, 0.005, always(0), 1)
	var got []share
	for _, c := range []struct {
		effect float64
		builds int
	}{{0.20, 1}, {0.04, 1}, {0.04, 4}, {0, 1}} {
		s, err := rec.layoutGates(rules(t, threshold), []float64{c.effect}, c.builds, 200, 64, 2)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	// Of a normal distribution with deviation 0.20, 46 % are beyond 0.0198.
	if got[0].value() < 0.35 || got[0].value() > 0.55 || got[1].k <= got[2].k || got[3].k > 2 {
		t.Errorf("alarms: got %v", got)
	}
}
