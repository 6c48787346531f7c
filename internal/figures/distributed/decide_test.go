package main

import (
	"math"
	"strings"
	"testing"

	"lockbench/internal/figure"
	"lockbench/results"
)

var (
	least = figure.Figure{Name: "speed", Unit: "ratio", Op: figure.AtLeast, Limit: 0.8}
	most  = figure.Figure{Name: "cost", Unit: "ratio", Op: figure.AtMost, Limit: 0.05}
)

// around returns n ratios about a centre, alternately a factor above and below it.
func around(centre, factor float64, n int) []float64 {
	var out []float64
	for i := range n {
		out = append(out, centre*math.Pow(factor, float64(1-2*(i%2))))
	}
	return out
}

func TestPaired(t *testing.T) {
	for _, c := range []struct {
		name string
		f    figure.Figure
		want string
	}{
		{"met", paired(least, around(0.9, 1.05, 12)), "figure speed 0.9 ratio target >= 0.8 ok"},
		{"the bound does not meet it", paired(least, around(0.82, 1.2, 12)), "figure speed 0.82 ratio target >= 0.8 short"},
		{"missed", paired(least, around(0.7, 1.01, 12)), "figure speed 0.7 ratio target >= 0.8 short"},
		{"an upper limit", paired(most, around(0.04, 1.1, 12)), "figure cost 0.04 ratio target <= 0.05 ok"},
		{"an upper limit, missed by the bound", paired(most, around(0.045, 1.3, 12)), "figure cost 0.045 ratio target <= 0.05 short"},
		{"one round was disturbed", paired(least, append(around(0.9, 1.05, 14), 0.001)), "figure speed 0.9 ratio target >= 0.8 ok"},
		{"all alike", paired(least, around(1, 1, 6)), "figure speed 1 ratio target >= 0.8 ok"},
		{"five rounds", paired(least, around(0.9, 1.05, 5)), "figure speed (5 rounds have no 95 % interval: 6 or more have) ratio target >= 0.8 short"},
		{"none", paired(least, nil), "figure speed (no rounds) ratio target >= 0.8 short"},
		{"zero", paired(least, []float64{1, 1, 0, 1, 1, 1}), "figure speed (0 in round 3 is no ratio) ratio target >= 0.8 short"},
		{"missing", paired(least, []float64{1, math.NaN(), 1, 1, 1, 1}), "figure speed (NaN in round 2 is no ratio) ratio target >= 0.8 short"},
		{"infinite", paired(least, []float64{1, 1, 1, 1, 1, math.Inf(1)}), "figure speed (+Inf in round 6 is no ratio) ratio target >= 0.8 short"},
		{"in percent", scaled(paired(most, around(0.04, 1.1, 12)), 100), "figure cost 4 ratio target <= 0.05 short"},
	} {
		if got := c.f.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPairedBounds: ratios and their inverses have inverse intervals.
func TestPairedBounds(t *testing.T) {
	r, inv := around(0.9, 1.2, 11), []float64{}
	for _, x := range r {
		inv = append(inv, 1/x)
	}
	f, g := paired(least, r), paired(least, inv)
	if !(f.Lo < f.Value && f.Value < f.Hi) || math.Abs(f.Lo*g.Hi-1) > 1e-12 || math.Abs(f.Value*g.Value-1) > 1e-12 {
		t.Errorf("got %v to %v and %v to %v", f.Lo, f.Hi, g.Lo, g.Hi)
	}
}

// named returns a figure or note by name.
func named(t *testing.T, r figure.Report, name string) figure.Figure {
	t.Helper()
	for _, f := range append(r.Figures, r.Notes...) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no %s in %+v", name, r)
	return figure.Figure{}
}

func targetsOf(t *testing.T, name string) []figure.Figure {
	t.Helper()
	for _, g := range groups() {
		if g.name == name {
			return g.targets
		}
	}
	t.Fatalf("no group %s", name)
	return nil
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Abs(b) }

// TestRedisPair: SET at 40,000/s and EVALSHA at 10,000/s are 8,000 pairs a second, with one
// connection; four times as many with eight.
func TestRedisPair(t *testing.T) {
	var rounds []values
	for i := range 8 {
		k := 1 + float64(i)/10 // the machine's speed, which differs from round to round
		rounds = append(rounds, values{
			"one": 6800 * k, "workers": 24000 * k, "processes": 16000 * k, "one/null": 0.008, "one/null-cpu": 0.02,
			"set-1": 40000 * k, "eval-1": 10000 * k, "set-8": 160000 * k, "eval-8": 40000 * k,
			"fresh-set-1": 20000 * k, "fresh-eval-1": 20000 * k, "fresh-set-8": 80000 * k, "fresh-eval-8": 80000 * k,
		})
	}
	rep := redisPairFigures(rounds, targetsOf(t, "redis-pair"))
	for name, want := range map[string]float64{
		"redis-pair-1": 0.85, "redis-pair-8": 0.75, "harness-cost": 0.8, "harness-cost-cpu": 2,
		"redis-pair-8-processes": 0.5, "redis-pair-1-fresh-keys": 0.68, "redis-pair-8-fresh-keys": 0.6,
		"redis-pairs-1": 6800 * 1.35, "redis-benchmark-evalsha-8": 40000 * 1.35,
	} {
		if f := named(t, rep, name); !near(f.Value, want) || f.N != 8 {
			t.Errorf("%s: got %+v, want %v", name, f, want)
		}
	}
	for _, f := range rep.Figures {
		if !f.OK() {
			t.Errorf("want ok: %s", f)
		}
	}
	delete(rounds[3], "eval-8")
	rep = redisPairFigures(rounds, targetsOf(t, "redis-pair"))
	if f := named(t, rep, "redis-pair-8"); f.Err == nil || f.OK() {
		t.Errorf("a missing measurement: got %s", f)
	}
	if f := named(t, rep, "redis-pair-1"); !f.OK() {
		t.Errorf("a measurement that it does not need is missing: got %s", f)
	}
}

func remoteSample(lock string, ns float64, handoffNS int64, trips float64) *results.Sample {
	return &results.Sample{Cell: lock + "/x", Lock: lock, Ops: 1000, WallNSPerOp: ns, Remote: &results.Remote{Service: "redis", HandoffTrips: &trips},
		Handoff: &results.Latency{Count: 10, P50: handoffNS}}
}

func TestHandoff(t *testing.T) {
	make := func(pubsub, redsync int64, trips float64) map[int]map[string]*results.Sample {
		reps := map[int]map[string]*results.Sample{}
		for i := range 8 {
			reps[i] = map[string]*results.Sample{
				"redis-pubsub": remoteSample("redis-pubsub", 1, pubsub+int64(i), trips), "redsync": remoteSample("redsync", 1, redsync, 1)}
		}
		return reps
	}
	targets := targetsOf(t, "handoff")
	rep := handoffFigures(make(300e3, 15e6, 2), make(300e3, 100e3, 2), targets)
	for _, want := range []string{"figure pubsub-handoff 0.02 ratio target <= 0.05 ok", "figure pubsub-handoff-trips 2 1 target <= 3 ok"} {
		if got := named(t, rep, strings.Fields(want)[1]).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if f := named(t, rep, "pubsub-handoff-greedy"); math.Abs(f.Value-3) > 1e-3 {
		t.Errorf("greedy: got %+v", f)
	}
	if f := named(t, rep, "redsync-handoff-p50"); f.Value != 15000 || f.Unit != "us" {
		t.Errorf("redsync: got %+v", f)
	}
	if rep := handoffFigures(make(1e6, 15e6, 4), make(1, 1, 1), targets); named(t, rep, "pubsub-handoff").OK() || named(t, rep, "pubsub-handoff-trips").OK() {
		t.Errorf("1 ms against 15 with 4 trips: got %v", rep.Figures)
	}
	bad := make(300e3, 15e6, 2)
	bad[5]["redsync"].Handoff, bad[5]["redis-pubsub"].Remote.HandoffTrips = nil, nil
	for _, f := range handoffFigures(bad, make(1, 1, 1), targets).Figures {
		if f.Err == nil || !strings.Contains(f.Err.Error(), "repetition 6") {
			t.Errorf("no handoff in a repetition: got %s", f)
		}
	}
}

// TestRivals: a lock that takes nine tenths of a peer's time does 1.11 times as many pairs.
func TestRivals(t *testing.T) {
	p := rivals{ours: "redis", peers: []string{"redsync", "redislock"}}
	reps := map[int]map[string]*results.Sample{}
	for i := range 8 {
		ns := 1000 * float64(i+1)
		reps[i] = map[string]*results.Sample{"redis": remoteSample("redis", 0.9*ns, 1, 1),
			"redsync": remoteSample("redsync", ns, 1, 1), "redislock": remoteSample("redislock", 0.7*ns, 1, 1)}
	}
	got, err := walls(reps, "redis", "redsync", "redislock")
	if err != nil {
		t.Fatal(err)
	}
	figs, notes := p.decide(got, 1, targetsOf(t, "peers-redis"))
	want := []string{"figure redis-vs-redsync 1.111 ratio target >= 0.95 ok", "figure redis-vs-redislock 0.7778 ratio target >= 0.95 short"}
	if g := []string{figs[0].String(), figs[1].String()}; g[0] != want[0] || g[1] != want[1] || len(notes) != 3 {
		t.Errorf("got %q and %d notes, want %q and 3", g, len(notes), want)
	}
	figs, notes = p.decide(got, 8, nil)
	if len(figs) != 0 || len(notes) != 5 || notes[0].Name != "redis-vs-redsync-8" {
		t.Errorf("8 workers: got %v, %v", figs, notes)
	}
}

// TestWalls: a repetition in which something went wrong is no measurement.
func TestWalls(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spoil      func(*results.Sample) *results.Sample
	}{
		{"missing", "no sample", func(*results.Sample) *results.Sample { return nil }},
		{"no operations", "no acquisitions", func(s *results.Sample) *results.Sample { s.Ops = 0; return s }},
		{"not distributed", "not a distributed cell", func(s *results.Sample) *results.Sample { s.Remote = nil; return s }},
		{"timeouts", "3 timeouts", func(s *results.Sample) *results.Sample { s.Remote.Timeouts = 3; return s }},
		{"errors", "1 errors", func(s *results.Sample) *results.Sample { s.Remote.Errors = 1; return s }},
		{"lost leases", "2 leases lost", func(s *results.Sample) *results.Sample { s.Remote.LostLeases = 2; return s }},
	} {
		reps := map[int]map[string]*results.Sample{0: {"a": remoteSample("a", 1, 1, 1)}, 1: {"a": c.spoil(remoteSample("a", 1, 1, 1))}}
		if _, err := walls(reps, "a"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "repetition 2") {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}
