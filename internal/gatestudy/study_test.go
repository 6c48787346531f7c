package main

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lockbench/internal/figure"
	"lockbench/results/gate"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		name     string
		r        response
		slowdown float64
		want     uint32 // 0 = an error
	}{
		{"nothing hidden", response{a: 0, b: 0.0045}, 0.10, 22},
		{"30 units hidden", response{a: -0.135, b: 0.0045}, 0.10, 52},
		{"the smallest", response{a: 0, b: 0.05}, 0.05, 1},
		{"less than a unit", response{a: 0, b: 0.5}, 0.05, 0},
		{"more than can be written", response{a: 0, b: 1e-9}, 0.05, 0},
		{"faster by work", response{a: 0, b: -0.0045}, 0.10, 0},
		{"no response", response{a: 0, b: 0}, 0.10, 0},
		{"not a number", response{a: math.NaN(), b: 1}, 0.10, 0},
	} {
		c.r.lock = "planted:x"
		got, err := c.r.units(c.slowdown)
		if got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s: got %d, %v, want %d", c.name, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "x: ") {
			t.Errorf("%s: %v does not name the lock", c.name, err)
		}
	}
	if h := (response{a: -0.135, b: 0.0045}).hidden(); math.Abs(h-30) > 1e-9 {
		t.Errorf("hidden: got %g, want 30", h)
	}
}

// TestResponses: three probes of a known response give it back.
func TestResponses(t *testing.T) {
	var probes []*recording
	for k, u := range probeUnits() {
		rec := synthetic(t, uint64(k), 64, 0.005, always(0.0045*(float64(u)-30)), 2)
		probes = append(probes, rec)
	}
	got, err := responses(probes)
	if err != nil || len(got) != 2 {
		t.Fatalf("responses: got %v, %v", got, err)
	}
	for _, r := range got {
		if n, err := r.units(0.10); err != nil || n < 50 || n > 54 || math.Abs(r.hidden()-30) > 3 {
			t.Errorf("%s: %d units for 10 %%, %v, %g hidden; want about 52 and 30", r.lock, n, err, r.hidden())
		}
	}
	probes[1].cells[0].rounds[0].Pairs = nil
	for _, r := range probes[1].cells[0].rounds {
		r.Pairs = nil
	}
	if _, err := responses(probes); err == nil {
		t.Error("responses without pairs: want an error")
	}
}

func TestSpread(t *testing.T) {
	rec := synthetic(t, 3, 512, 0.03, always(0.10), 1)
	s := spreadOf(rec.cells[0], lookup(t))
	want := 0.03 * math.Sqrt2 // of two halves
	if s.sigma < 0.9*want || s.sigma > 1.1*want || s.kept != 512 {
		t.Errorf("spread: got %g of %d, want about %g of 512", s.sigma, s.kept, want)
	}
	if s.centre.Lo > math.Log(1.10) || s.centre.Hi < math.Log(1.10) {
		t.Errorf("centre: %+v misses the planted 10 %%", s.centre)
	}
	if math.Abs(s.lag) > 0.1 {
		t.Errorf("lag 1 of independent pairs: got %g: the drift is common to both halves", s.lag)
	}
}

func TestLag1(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	walk := make([]float64, 500)
	for i := 1; i < len(walk); i++ {
		walk[i] = 0.8*walk[i-1] + rng.NormFloat64()
	}
	if got := lag1(walk); got < 0.65 || got > 0.9 {
		t.Errorf("autoregression of 0.8: got %g", got)
	}
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{nil, 0}, {[]float64{1, 2}, 0}, {[]float64{5, 5, 5, 5}, 0}, {[]float64{1, 2, 3, 4}, 1}, {[]float64{1, -1, 1, -1, 1, -1}, -1}, {[]float64{1, 2, math.Inf(1), 3e9}, 0.5}} {
		if got := lag1(c.xs); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("lag1 %v: got %g, want %g", c.xs, got, c.want)
		}
	}
}

func TestPairsNeeded(t *testing.T) {
	if z := normalQuantile(0.975); math.Abs(z-1.959964) > 1e-5 {
		t.Errorf("the quantile of 97.5 %%: got %g", z)
	}
	for _, c := range []struct{ sigma, gap, alpha, power, want float64 }{
		{0.05, 0.03, 0.05, 0.8, 22}, // (1.96 + 0.8416)^2 (5/3)^2 = 21.8
		{0.05, 0, 0.05, 0.8, math.Inf(1)},
		{0.05, -0.1, 0.05, 0.8, math.Inf(1)},
	} {
		if got := pairsNeeded(c.sigma, c.gap, c.alpha, c.power); got != c.want {
			t.Errorf("%+v: got %g", c, got)
		}
	}
	// The formula and the gate agree: with so many pairs about the share of
	// gates decides that the formula says.
	const budget = 64
	plan := gate.NewPlan(gate.DefaultAlpha, 1, budget)
	level := plan.Looks[len(plan.Looks)-1].Alpha
	z := normalQuantile(1-level/2) + normalQuantile(0.8)
	sigma := gap(0.05) * math.Sqrt(budget) / z / math.Sqrt2 // of a half
	rec := synthetic(t, 21, 2048, sigma, always(0.05), 1)
	got, err := rec.moving(rules(t, threshold), 400, budget, 2)
	if err != nil {
		t.Fatal(err)
	}
	if v := got.cellsOf(gate.Fail).value(); v < 0.6 || v > 0.95 {
		t.Errorf("share found with the pairs that the formula says: got %g, want about 0.8", v)
	}
}

func TestFigures(t *testing.T) {
	st := &study{o: options{layouts: 2, pairs: 512, slow: []int{6500, 1200, 512}, contend: 512, workers: 1, live: 3, gates: 400, budget: 128, locks: []string{"lock0"}}, failed: map[string]error{}}
	for _, f := range st.figures() {
		if f.OK() || !strings.Contains(f.String(), "(not measured)") {
			t.Errorf("nothing was measured: got %q", f)
		}
	}
	for _, s := range st.o.sessions() {
		builds := len(s.old)
		rec := synthetic(t, 5, s.pairs, 0.005, always(s.slowdown), 1)
		if builds == 1 {
			for n := range rec.combos {
				rec.combos[n] = [2]int{0, 1}
			}
		}
		p := part{session: s, rec: rec, spreads: []spread{spreadOf(rec.cells[0], lookup(t))}, effects: []float64{0.01}}
		for _, m := range []string{metric, otherMetric} {
			if err := p.replay(st.o, m); err != nil {
				t.Fatal(err)
			}
		}
		st.parts = append(st.parts, p)
	}
	test := func(lock string, v gate.Verdict) gate.Test { return gate.Test{Cell: gate.Cell{Lock: lock}, Verdict: v} }
	st.live = []*liveGate{
		{Session: partSame, Result: &gate.Result{Verdict: gate.Pass, Tests: []gate.Test{test("a", gate.Pass), test("b", gate.Pass)}}},
		// The gate fails, and is wrong about a lock all the same.
		{Session: "slow5", Result: &gate.Result{Verdict: gate.Fail, Tests: []gate.Test{test("a", gate.Fail), test("b", gate.Pass), test("c", gate.Inconclusive)}}},
	}
	st.lost = []string{"live gate 3: no verdict"}
	got := map[string]figure.Figure{}
	for _, f := range st.figures() {
		got[f.Name] = f
	}
	for _, c := range []struct {
		name string
		ok   bool
		n    int // 0 = whatever
	}{
		{"gate_false_alarms_same", true, 400},
		{"gate_false_alarms_layouts", false, (512-128)/16 + 1},
		{"gate_false_alarms_one_layout", false, 4}, // whatever the number of -gates
		{"gate_found_slow20", true, (6500-128)/16 + 1},
		{"gate_found_slow10", false, (1200-128)/16 + 1}, // 68 in a row do not prove 95 %
		{"gate_found_slow5", true, 0},
		{"gate_live_false_alarms", true, 1}, {"gate_live_false_passes", false, 3},
	} {
		f, there := got[c.name]
		if !there || f.OK() != c.ok || c.n > 0 && f.N != c.n {
			t.Errorf("%s: got %v %q of %d, want ok %v of %d", c.name, there, f, f.N, c.ok, c.n)
		}
	}
	if len(got) != 8 {
		t.Errorf("figures: got %d, want 8", len(got))
	}
	if v := got["gate_live_false_passes"].Value; v != 1 {
		t.Errorf("a slow lock that passed in a gate that failed: got %g, want 1", v)
	}
	doc := st.verdicts(metric) + st.remedies() + st.liveTable() + st.layoutTable()
	for _, want := range []string{byCoins, byTurns, byBlocks, "one for each of 4 combinations, which share builds", "Independent are pairs of builds", "these share 2 builds a side",
		"False passes, locks that pass with one: 1 of 3"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the tables lack %q:\n%s", want, doc)
		}
	}
	// Few gates cannot show a small share.
	if n := inARow(0.01); n != 368 || inARow(0.05) != 72 || inARow(0.2) != 17 {
		t.Errorf("successes in a row for 1, 5, 20 %%: got %d, %d, %d", n, inARow(0.05), inARow(0.2))
	}
	if n := trialsNeeded(share{0, 300}); n != 368 {
		t.Errorf("0 of 300: got %d more", n)
	}
	if n := trialsNeeded(share{4, 300}); n != 0 {
		t.Errorf("4 of 300: got %d, want none", n)
	}
}

func TestFlags(t *testing.T) {
	for _, bad := range [][]string{{"x"}, {"-only", "nope"}, {"-budget", "4"}, {"-pairs", "100"}, {"-layouts", "0"}, {"-layouts", "20"},
		{"-gates", "0"}, {"-workers", "0"}, {"-live", "-1"}, {"-slow-pairs", "512,512"}, {"-slow-pairs", "x"}, {"-slow-pairs", "512,512,64"}, {"-write", "x", "-only", "same"}, {"-nope"}, {"-budget", "100000"}} {
		var b strings.Builder
		if _, err := parse(bad, &b); err == nil {
			t.Errorf("%v: want an error", bad)
		}
	}
	var b strings.Builder
	o, err := parse(nil, &b)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(o.locks); n != 10 || o.pairs < 1000 || o.gates < 300 || o.live < 30 {
		t.Errorf("the default is not the study: %d locks, %d pairs, %d gates, %d live", n, o.pairs, o.gates, o.live)
	}
	kinds := map[string]int{}
	for _, s := range o.liveGates() {
		kinds[s.name]++
	}
	if kinds[partSame]+kinds[partLayouts] != 15 || kinds["slow5"] < 4 || len(kinds) != 5 {
		t.Errorf("live gates: got %v, want half without a slowdown", kinds)
	}
}
