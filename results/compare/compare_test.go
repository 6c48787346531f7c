package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lockbench/results"
)

// A bench is a run in the making.
type bench struct {
	run     results.Run
	samples []*results.Sample
}

func newBench(id string) *bench {
	return &bench{run: results.Run{
		Type: "run", Schema: 1, RunID: id, Reps: 5, Workloads: []string{"w"},
		Spec: map[string]any{"duration_ns": 1e6, "warmup_ns": 1e5, "sample_every": 64,
			"workloads": []any{map[string]any{"name": "w", "section": "100", "workers": "all"}}},
		Host:        map[string]any{"cpu_model": "Z80", "logical_cpus": 2, "kernel": "6.1", "governor": "performance", "mem_total_bytes": 8e9, "virtualized": false},
		Go:          results.GoInfo{Version: "go1.26", GOOS: "linux", GOARCH: "amd64", Build: map[string]string{"-pgo": "off"}},
		Program:     results.Program{Path: "p", Version: "v1", Protocol: 1},
		Calibration: results.Calibration{UnitNS: 1},
	}}
}

// cell adds repetitions with these throughputs; 0 is one without operations.
func (b *bench) cell(lock string, rates ...float64) *bench {
	for _, r := range rates {
		rep := 0
		for _, s := range b.samples {
			if s.Lock == lock {
				rep++
			}
		}
		jain := 0.9
		b.samples = append(b.samples, &results.Sample{
			Cell: lock + "/workload=w/workers=2", Lock: lock, Workload: "w", Workers: 2, Cores: 2, Clients: 1, Rep: rep,
			Dispatch: "direct", Threads: "free", Control: lock == "null", Outcome: results.OutcomeOK, ThroughputOps: r,
			Acquire: &results.Latency{Count: 10, P99: 100, Max: 200}, Fairness: results.Fairness{Jain: &jain},
		})
	}
	return b
}

func side(t *testing.T, label string, benches ...*bench) *Side {
	t.Helper()
	builder := results.NewBuilder()
	for _, b := range benches {
		if err := builder.Add(label, results.Record{Type: "run", Run: &b.run}); err != nil {
			t.Fatal(err)
		}
		for _, s := range b.samples {
			if err := builder.Add(label, results.Record{Type: "sample", Sample: s}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &Side{Label: label, Report: builder.Report()}
}

func metrics(t *testing.T, list ...string) []results.Metric {
	t.Helper()
	var out []results.Metric
	for _, n := range list {
		m, err := results.LookupMetric(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// steps are n values from a first one up by 1 %.
func steps(n int, first float64) []float64 {
	var out []float64
	for i := range n {
		out = append(out, first*(1+0.01*float64(i)))
	}
	return out
}

func TestVerdicts(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range []struct {
		name     string
		metric   string
		old, new []float64 // throughputs
		want     Verdict
		ratio    float64
	}{
		{"half as fast", "throughput_ops_s", steps(7, 1000), steps(7, 500), Slower, 0.5},
		{"the same as a time", "wall_ns_per_op", steps(7, 1000), steps(7, 500), Slower, 2},
		{"twice as fast", "throughput_ops_s", steps(7, 1000), steps(7, 2000), Faster, 2},
		{"no difference", "throughput_ops_s", steps(7, 1000), steps(7, 1000), NotShown, 1},
		{"equal values", "throughput_ops_s", []float64{5, 5, 5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 5, 5, 5}, NotShown, 1},
		{"three repetitions", "throughput_ops_s", steps(3, 1000), steps(3, 500), TooFew, 0.5},
		{"one repetition", "throughput_ops_s", steps(1, 1000), steps(1, 500), TooFew, 0.5},
		{"one against many", "throughput_ops_s", steps(1, 1000), steps(9, 500), TooFew, 0.52},
		{"nothing done any more", "throughput_ops_s", steps(7, 1000), make([]float64, 7), Slower, 0},
		{"nothing done, as a time", "wall_ns_per_op", steps(7, 1000), make([]float64, 7), Slower, inf},
		{"never did anything", "throughput_ops_s", make([]float64, 7), make([]float64, 7), NotShown, 1},
		{"never did anything, as a time", "wall_ns_per_op", make([]float64, 7), make([]float64, 7), NotShown, 1},
	} {
		c, err := Compare(side(t, "old", newBench("a").cell("mcs", x.old...)), side(t, "new", newBench("b").cell("mcs", x.new...)),
			Options{Metrics: metrics(t, x.metric)})
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		r := c.Rows[0]
		if r.Verdict != x.want || r.Ratio.Center != x.ratio && math.Abs(r.Ratio.Center/x.ratio-1) > 1e-9 {
			t.Errorf("%s: got %q, ratio %g, want %q, %g", x.name, r.Verdict, r.Ratio.Center, x.want, x.ratio)
		}
		if one := len(x.old) < 2; one != (r.P == nil) || one && r.Ratio.OK {
			t.Errorf("%s: got p %v, interval %v; one repetition has neither", x.name, r.P, r.Ratio)
		}
	}
}

// TestRatio: the estimate is the median of all pairwise ratios, not the ratio of
// the medians.
func TestRatio(t *testing.T) {
	old, new := []float64{1, 2, 100}, []float64{3, 3, 50}
	c, err := Compare(side(t, "old", newBench("a").cell("mcs", old...)), side(t, "new", newBench("b").cell("mcs", new...)),
		Options{Metrics: metrics(t, "throughput_ops_s")})
	if err != nil {
		t.Fatal(err)
	}
	var all []float64
	for _, o := range old {
		for _, n := range new {
			all = append(all, n/o)
		}
	}
	slices.Sort(all)
	r := c.Rows[0]
	if math.Abs(r.Ratio.Center-all[4]) > 1e-12 || r.Old.Median != 2 || r.New.Median != 3 || r.Ratio.Center == 1.5 {
		t.Errorf("got ratio %g of medians %g and %g, want %g of 2 and 3", r.Ratio.Center, r.Old.Median, r.New.Median, all[4])
	}
}

// TestTooFew is the case: 5 against 5 cannot pass over 40 rows.
func TestTooFew(t *testing.T) {
	a, b := newBench("a"), newBench("b")
	for i := range 40 {
		lock := fmt.Sprintf("lock%02d", i)
		a.cell(lock, steps(5, 1000)...)
		b.cell(lock, steps(5, 10)...)
	}
	a.cell("null", steps(5, 1000)...)
	b.cell("null", steps(5, 1000)...)
	run := func(o Options) *Comparison {
		o.Metrics = metrics(t, "throughput_ops_s")
		c, err := Compare(side(t, "old", a), side(t, "new", b), o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := run(Options{})
	if c.Tests != 40 || c.TooFew != 40 || c.NeedReps != 7 {
		t.Errorf("got %d tests, %d too few, %d needed, want 40, 40, 7 (2/3432*40 = 0.023; 2/924*40 = 0.087)", c.Tests, c.TooFew, c.NeedReps)
	}
	for _, r := range c.Rows {
		if r.Control {
			continue
		}
		if r.Verdict != TooFew || math.Abs(r.MinP-2.0/252) > 1e-12 || math.Abs(*r.AdjP-80.0/252) > 1e-12 {
			t.Fatalf("got %q, smallest %g, corrected %g, want too few, 2/252, 80/252", r.Verdict, r.MinP, *r.AdjP)
		}
	}
	f, err := ParseFilter("lock=lock0[0-4]")
	if err != nil {
		t.Fatal(err)
	}
	if c := run(Options{Filters: []Filter{f}}); c.Tests != 5 || c.TooFew != 0 || c.NeedReps != 0 || c.Rows[0].Verdict != Slower {
		t.Errorf("of 5 rows: got %d tests, %d too few, first %q; want 5, 0, slower", c.Tests, c.TooFew, c.Rows[0].Verdict)
	}
	// 40 rows at a larger alpha.
	if c := run(Options{Alpha: 0.4}); c.TooFew != 0 {
		t.Errorf("at 0.4: got %d too few, want 0", c.TooFew)
	}
}

// TestFalseAlarms: of tables of 8 rows without any difference, at most 5 % show one.
func TestFalseAlarms(t *testing.T) {
	const tables = 400
	hits := 0
	for seed := range tables {
		a, b := newBench("a"), newBench("b")
		for i := range 8 {
			lock := fmt.Sprintf("lock%d", i)
			a.cell(lock, noise(seed, i, 8)...)
			b.cell(lock, noise(seed, i+100, 8)...)
		}
		c, err := Compare(side(t, "old", a), side(t, "new", b), Options{Metrics: metrics(t, "throughput_ops_s")})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(c.Rows, func(r *Row) bool { return r.Verdict != NotShown }) {
			hits++
		}
	}
	if most := 0.05*tables + 5*math.Sqrt(tables*0.05*0.95); float64(hits) > most || hits == 0 {
		t.Errorf("%d of %d tables show a difference, want 1 to %.0f", hits, tables, most)
	}
}

func noise(seed, stream, n int) []float64 {
	x := uint64(seed)*1_000_003 + uint64(stream)*7919 + 1
	var out []float64
	for range n {
		// SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		out = append(out, 1000+float64((z^z>>31)%1000))
	}
	return out
}

func TestControls(t *testing.T) {
	c, err := Compare(side(t, "old", newBench("a").cell("mcs", steps(7, 1000)...).cell("null", steps(7, 1000)...)),
		side(t, "new", newBench("b").cell("mcs", steps(7, 1000)...).cell("null", steps(7, 3000)...)), Options{Metrics: metrics(t, "throughput_ops_s")})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Rows[0]; !r.Control || r.Verdict != ControlDiffer || c.Tests != 1 {
		t.Errorf("got %q first, of %d tests, want the control first, differing, and 1 test", r.Verdict, c.Tests)
	}
	if !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "null/") && strings.Contains(w, "does nothing") }) {
		t.Errorf("no warning that the control differs: %q", c.Warnings)
	}
}

func TestOneSided(t *testing.T) {
	a := newBench("a").cell("mcs", steps(7, 1000)...).cell("gone", 1).cell("bad", 1, 1).cell("both", 1).cell("hung", steps(7, 10)...)
	b := newBench("b").cell("mcs", steps(7, 1000)...).cell("extra", 1).cell("bad", 1, 1).cell("both", 1).cell("hung", steps(6, 10)...).cell("hung", 1)
	set := func(x *bench, i int, outcome, reason string) {
		x.samples[i].Outcome, x.samples[i].Reason = outcome, reason
	}
	set(b, 9, results.OutcomeViolation, "two inside") // bad, second repetition
	set(a, 10, results.OutcomeSkipped, "no TryLock")  // both
	set(b, 10, results.OutcomeSkipped, "no TryLock")
	set(b, 17, results.OutcomeHang, "no progress")
	c, err := Compare(side(t, "old", a), side(t, "new", b), Options{Metrics: metrics(t, "throughput_ops_s")})
	if err != nil {
		t.Fatal(err)
	}
	want := []OneSided{
		{"old", "bad/workload=w/workers=2", "violation: two inside"}, {"", "both/workload=w/workers=2", "skipped: no TryLock"},
		{"new", "extra/workload=w/workers=2", ""}, {"old", "gone/workload=w/workers=2", ""},
	}
	if !slices.Equal(c.OneSided, want) {
		t.Errorf("cells without rows: got %+v, want %+v", c.OneSided, want)
	}
	alarms := []Alarm{{"new", "bad/workload=w/workers=2", "violation", 1, 2, "two inside"}, {"new", "hung/workload=w/workers=2", "hang", 1, 7, "no progress"}}
	if !slices.Equal(c.Alarms, alarms) {
		t.Errorf("alarms: got %+v, want %+v", c.Alarms, alarms)
	}
	if len(c.Rows) != 2 || c.Rows[0].New.N != 6 {
		t.Errorf("got %d rows, want those of hung (6 repetitions) and mcs", len(c.Rows))
	}
}
