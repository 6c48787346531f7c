package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lockbench/impls/planted"
	"lockbench/results"
	"lockbench/results/gate"
	"lockbench/results/pairs"
)

// synthetic makes a recording of cells whose new side is slower by the given
// shares, by the build that a round compares: both sides share a drift, each has
// noise of its own.
func synthetic(t *testing.T, seed uint64, rounds int, sigma float64, shift func(cell, round int) float64, cells int) *recording {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	rec := &recording{name: "synthetic"}
	drift := 0.0
	for c := range cells {
		rec.cells = append(rec.cells, &cell{Cell: gate.Cell{Name: fmt.Sprintf("cell%d", c), Lock: fmt.Sprintf("%slock%d", planted.Prefix, c), Workload: "w", Workers: 1}, seconds: 0.05})
	}
	for n := range rounds {
		drift = 0.9*drift + 0.1*rng.NormFloat64()
		rec.combos = append(rec.combos, [2]int{n % 2, 2 + n/2%2})
		for i, c := range rec.cells {
			var b pairs.Builder
			for _, side := range []string{results.SideOld, results.SideNew} {
				ns := 200 * math.Exp(drift+sigma*rng.NormFloat64())
				if side == results.SideNew {
					ns *= 1 + shift(i, n)
				}
				b.Add(&results.Sample{Type: results.TypeSample, Cell: c.Name, Lock: c.Lock, Workload: c.Workload, Workers: 1, Rep: n, Side: side,
					Outcome: results.OutcomeOK, Ops: 1000, ThroughputOps: 1e9 / ns, WallNSPerOp: ns, CPUNSPerOp: ns})
			}
			c.rounds = append(c.rounds, b.Cell(c.Name))
		}
	}
	return rec
}

func always(v float64) func(int, int) float64 { return func(int, int) float64 { return v } }

func rules(t *testing.T, allowed float64) *gate.Rules {
	t.Helper()
	r, err := rulesOf(metric, allowed)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.List) != 1 || r.List[0].MaxRegression != allowed || r.Alpha != gate.DefaultAlpha {
		t.Fatalf("rules: got %+v, want one that allows %g", r, allowed)
	}
	return r
}

func TestReplay(t *testing.T) {
	const gates, budget = 100, 128
	for _, c := range []struct {
		name         string
		shift        float64
		lo, hi       float64 // share of cells that fail
		passLo       float64 // share of cells that pass, at least
		wantAlarming bool
	}{
		{"no change", 0, 0, 0.001, 0.99, false},
		{"20 % slower", 0.20, 0.99, 1, 0, true},
		{"5 % slower", 0.05, 0.80, 1, 0, true},
		{"5 % faster", -0.05, 0, 0, 0.99, false},
	} {
		rec := synthetic(t, 7, 600, 0.02, always(c.shift), 4)
		got, err := rec.moving(rules(t, threshold), gates, budget, 3)
		if err != nil {
			t.Fatal(err)
		}
		fail, pass := got.cellsOf(gate.Fail), got.cellsOf(gate.Pass)
		if fail.value() < c.lo || fail.value() > c.hi || pass.value() < c.passLo || fail.n != 4*gates {
			t.Errorf("%s: %d of %d cells failed and %d passed, want a share from %g to %g, and %g", c.name, fail.k, fail.n, pass.k, c.lo, c.hi, c.passLo)
		}
		if alarms := got.alarms(); (alarms.k > 0) != c.wantAlarming || alarms.n != gates {
			t.Errorf("%s: %d of %d gates failed", c.name, alarms.k, alarms.n)
		}
		if quantile(got.pairs, 0) < 16 || quantile(got.pairs, 1) > budget {
			t.Errorf("%s: %g to %g pairs", c.name, quantile(got.pairs, 0), quantile(got.pairs, 1))
		}
		// Each cell took as long as its pairs: 0.05 s each, all four at most.
		for i, s := range got.seconds {
			if s < 0.05*got.pairs[i]-1e-9 || s > 4*0.05*got.pairs[i]+1e-9 {
				t.Errorf("%s: gate %d took %g s for %g pairs", c.name, i, s, got.pairs[i])
			}
		}
		again, err := rec.moving(rules(t, threshold), gates, budget, 3)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
			t.Errorf("%s: the same seed gives another tally: %v, %v", c.name, again, err)
		}
	}
}

// TestReplayBadOutcome: what a live gate says of a hang, the replay says.
func TestReplayBadOutcome(t *testing.T) {
	rec := synthetic(t, 7, 64, 0.02, always(0), 2)
	for _, r := range rec.cells[1].rounds {
		r.Outcomes = map[string]map[string]int{results.SideOld: {results.OutcomeOK: 1}, results.SideNew: {results.OutcomeHang: 1}}
		r.Pairs, r.Dropped = nil, map[string]int{pairs.DroppedOutcome: 1}
	}
	got, err := rec.moving(rules(t, threshold), 10, 64, 1)
	if err != nil || got.verdict[gate.Violation] != 10 || got.alarms().k != 10 {
		t.Errorf("hangs: got %v, %v, want 10 violations", got, err)
	}
	if n := rec.cells[1].dropped(); n != 64 {
		t.Errorf("dropped: got %d, want 64", n)
	}
}

// TestReplayByBuild: one pair of builds is slower. A gate over all builds sees
// a quarter of that, a gate over that pair alone sees it all.
func TestReplayByBuild(t *testing.T) {
	rec := synthetic(t, 9, 512, 0.01, func(_, n int) float64 {
		if n%2 == 0 && n/2%2 == 0 {
			return 0.05
		}
		return 0
	}, 2)
	builds := rec.byBuild()
	if len(builds) != 4 || len(builds[0]) != 128 || builds[0][1] != 4 {
		t.Fatalf("builds: got %d, the first of %v", len(builds), builds[0])
	}
	whole, err := rec.moving(rules(t, threshold), 200, 128, 1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := rec.oneEach(rules(t, threshold), builds, 128)
	if err != nil {
		t.Fatal(err)
	}
	if whole.alarms().k > 0 || one.alarms() != (share{1, 4}) {
		t.Errorf("alarms: %d of 200 over all builds, %d of %d over one pair of builds; want none, and 1 of 4", whole.alarms().k, one.alarms().k, one.alarms().n)
	}
	m := lookup(t)
	if got := rec.layoutEffect(rec.cells[0], m, builds); got < 0.02 || got > 0.03 {
		t.Errorf("layout effect: got %g, want about 0.0244, the deviation of 0.0488, 0, 0, 0", got)
	}
	same := synthetic(t, 9, 512, 0.01, always(0), 1)
	if got := same.layoutEffect(same.cells[0], m, same.byBuild()); got > 0.002 {
		t.Errorf("layout effect of equal builds: got %g", got)
	}
}

func lookup(t *testing.T) results.Metric {
	t.Helper()
	m, err := results.LookupMetric(metric)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestBlock(t *testing.T) {
	starts := map[int]int{}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := block(rng, 5, 3)
		if len(b) != 3 || b[1] != b[0]+1 || b[2] != b[0]+2 {
			t.Fatalf("block: got %v, want three neighbours", b)
		}
		starts[b[0]]++
	}
	// The first and the last block are drawn as well, and no other one.
	if len(starts) != 3 || starts[0] < 500 || starts[1] < 500 || starts[2] < 500 {
		t.Errorf("starts: got %v, want 0, 1, 2", starts)
	}
	if b := block(rng, 2, 2); b[0] != 0 || b[1] != 1 {
		t.Errorf("a block as long as the recording: got %v", b)
	}
}

func TestNaive(t *testing.T) {
	m := lookup(t)
	rec := synthetic(t, 11, 1024, 0.03, always(0), 5)
	const gates = 60
	real, err := rec.redraw(rules(t, tiny), gates, 128, 5)
	if err != nil {
		t.Fatal(err)
	}
	looked := rec.naiveAlarms(m, tiny, 0.05, gates, 128, 5)
	if same := rec.naiveAlarms(m, tiny, gate.DefaultAlpha/5, gates, 128, 5); same.k > looked.k {
		t.Errorf("alarms of looking after every pair: %d at the level of the gate's cells, %d at 5 %%", same.k, looked.k)
	}
	if real.alarms().k > 2 || looked.k < 6 || looked.n != gates {
		t.Errorf("false alarms of %d gates: %d by the gate, %d by looking after every pair; want next to none, and many", gates, real.alarms().k, looked.k)
	}
	for _, c := range []struct {
		xs   []float64
		want bool
	}{
		{nil, false},
		{[]float64{1, 1, 1, 1, 1, 1, 1}, false},   // one fewer than it looks at
		{[]float64{1, 1, 1, 1, 1, 1, 1, 1}, true}, // beyond
		{[]float64{-1, -1, -1, -1, -1, -1, -1, -1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, false}, // passed before
	} {
		if got := naive(c.xs, 0.5, 0.05); got != c.want {
			t.Errorf("naive %v: got %v, want %v", c.xs, got, c.want)
		}
	}
}
