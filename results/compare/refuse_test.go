package compare

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"lockbench/results"
	"lockbench/results/stat"
)

// TestRefusals changes one thing on the new side, or on both.
func TestRefusals(t *testing.T) {
	spec := func(b *bench) map[string]any { return b.run.Spec.(map[string]any) }
	for _, x := range []struct {
		name   string
		change func(old, new *bench)
		o      Options
		want   string // in the error; "" = none
	}{
		{"nothing", func(_, _ *bench) {}, Options{}, ""},
		{"dispatch", func(_, n *bench) {
			each(n, func(s *results.Sample) { s.Dispatch = "interface"; s.Cell += "/dispatch=interface" })
		}, Options{},
			"mcs/workload=w/workers=2: dispatch direct in old and interface in new"},
		{"threads", func(_, n *bench) { each(n, func(s *results.Sample) { s.Threads = "locked" }) }, Options{}, "threads free in old and locked in new"},
		{"section", func(_, n *bench) {
			spec(n)["workloads"] = []any{map[string]any{"name": "w", "section": "200", "workers": "all"}}
		}, Options{}, `the workload w: section 100 and 200`},
		{"workers by default", func(_, n *bench) {
			spec(n)["workloads"] = []any{map[string]any{"name": "w", "section": "100", "workers": "2"}}
		}, Options{}, ""},
		{"another workload beside", func(_, n *bench) {
			spec(n)["workloads"] = append(spec(n)["workloads"].([]any), map[string]any{"name": "v", "section": "1"})
		}, Options{}, ""},
		{"fixed work", func(_, n *bench) { spec(n)["ops"] = 1000 }, Options{}, "a fixed time and 1000 operations"},
		{"length", func(_, n *bench) { spec(n)["duration_ns"] = 2e6 }, Options{}, ""},
		{"length, and a maximum", func(_, n *bench) { spec(n)["duration_ns"] = 2e6 }, Options{Metrics: metrics(t, "acquire_rep_max_ns")},
			"acquire_rep_max_ns grows with how long is measured"},
		{"length, and a count", func(_, n *bench) { spec(n)["warmup_ns"] = 2e6 }, Options{Metrics: metrics(t, "ctx_voluntary")}, "ctx_voluntary grows"},
		{"nothing in common", func(_, n *bench) {
			each(n, func(s *results.Sample) { s.Lock, s.Cell = "tas", "tas/workload=w/workers=2" })
		}, Options{}, "no cell in common"},
		{"no repetition", func(_, n *bench) { n.samples = nil }, Options{}, "no cell in common"},
		{"none at all", func(o, n *bench) { o.samples, n.samples = nil, nil }, Options{}, "there are no cells"},
		{"a paired session", func(_, n *bench) { n.run.Programs = []results.SideProgram{{Side: "old"}} }, Options{}, "is a paired session"},
		{"a metric that nothing has", func(_, _ *bench) {}, Options{Metrics: metrics(t, "handoff_p50_ns")}, "no repetition has handoff_p50_ns"},
		{"alpha", func(_, _ *bench) {}, Options{Alpha: 1}, "alpha"},
		{"alpha that is no number", func(_, _ *bench) {}, Options{Alpha: math.NaN()}, "alpha"},
		{"a header that says nothing", func(_, n *bench) { n.run.Spec = "?" }, Options{}, ""},
	} {
		a, b := newBench("a").cell("mcs", steps(7, 1000)...), newBench("b").cell("mcs", steps(7, 1000)...)
		x.change(a, b)
		c, err := Compare(side(t, "old", a), side(t, "new", b), x.o)
		var refused *Error
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", x.name, err)
		case x.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), x.want) || refused.Hint() == ""):
			t.Errorf("%s: got %+v, error %v, want one with a hint and %q", x.name, c, err, x.want)
		}
	}
}

func each(b *bench, f func(*results.Sample)) {
	for _, s := range b.samples {
		f(s)
	}
}

func TestDifferences(t *testing.T) {
	for _, x := range []struct {
		change func(*results.Run)
		want   Difference
	}{
		{func(r *results.Run) { r.Host.(map[string]any)["cpu_model"] = "6502" }, Difference{"CPU model", "Z80", "6502"}},
		{func(r *results.Run) { r.Host.(map[string]any)["logical_cpus"] = 8 }, Difference{"logical CPUs", "2", "8"}},
		{func(r *results.Run) { r.Host.(map[string]any)["kernel"] = "6.2" }, Difference{"kernel", "6.1", "6.2"}},
		{func(r *results.Run) { r.Host.(map[string]any)["governor"] = "powersave" }, Difference{"governor", "performance", "powersave"}},
		{func(r *results.Run) { delete(r.Host.(map[string]any), "governor") }, Difference{"governor", "performance", "unknown"}},
		{func(r *results.Run) { r.Host.(map[string]any)["mem_total_bytes"] = 16e9 }, Difference{"memory", "7.5 GiB", "14.9 GiB"}},
		{func(r *results.Run) { r.Host.(map[string]any)["virtualized"] = true }, Difference{"virtualization", "no", "yes"}},
		{func(r *results.Run) { r.Go.Version = "go1.27" }, Difference{"Go version", "go1.26", "go1.27"}},
		{func(r *results.Run) { r.Go.GOARCH = "arm64" }, Difference{"GOOS/GOARCH", "linux/amd64", "linux/arm64"}},
		{func(r *results.Run) { r.Go.Build = map[string]string{"-pgo": "off", "-race": "true"} }, Difference{"build setting -race", "unknown", "true"}},
		{func(r *results.Run) { r.Program.Version = "v2" }, Difference{"program version", "v1", "v2"}},
	} {
		b := newBench("b").cell("mcs", 1)
		x.change(&b.run)
		got := differences(side(t, "old", newBench("a").cell("mcs", 1)).Report.Runs, side(t, "new", b).Report.Runs)
		if !slices.Equal(got, []Difference{x.want}) {
			t.Errorf("got %+v, want %+v alone", got, x.want)
		}
	}
	same := Differences(side(t, "old", newBench("a")).Report.Runs[0], side(t, "new", newBench("b")).Report.Runs[0])
	if len(same) > 0 {
		t.Errorf("equal hosts: got %+v", same)
	}
}

// TestPooling: repetitions of several runs count together only if the runs
// were measured alike.
func TestPooling(t *testing.T) {
	new := side(t, "new", newBench("c").cell("mcs", steps(8, 1000)...))
	one, two := newBench("a").cell("mcs", steps(4, 1000)...), newBench("b").cell("mcs", steps(4, 1000)...)
	c, err := Compare(side(t, "old", one, two), new, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Rows[0].Old.N != 8 || !strings.Contains(strings.Join(c.Warnings, "\n"), "old: the repetitions of 2 runs") {
		t.Errorf("got %d repetitions, warnings %q; want 8 and one about two runs", c.Rows[0].Old.N, c.Warnings)
	}
	two.run.Host.(map[string]any)["cpu_model"] = "6502"
	if _, err = Compare(side(t, "old", one, two), new, Options{}); err == nil || !strings.Contains(err.Error(), "old: runs a and b differ in CPU model: Z80 and 6502") {
		t.Errorf("two hosts: got %v, want a refusal", err)
	}
	two = newBench("b").cell("mcs", steps(4, 1000)...)
	two.run.Spec.(map[string]any)["duration_ns"] = 5e6
	if _, err = Compare(side(t, "old", one, two), new, Options{}); err == nil || !strings.Contains(err.Error(), "throughput interval: 1ms and 5ms") {
		t.Errorf("two lengths: got %v, want a refusal", err)
	}
	if _, err = Compare(side(t, "x", one), side(t, "x", two), Options{}); err == nil {
		t.Error("two sides of one name: want a refusal")
	}
	if c, err = Compare(side(t, "old", one), side(t, "new", one), Options{}); err != nil || !strings.Contains(strings.Join(c.Warnings, "\n"), "run a is on both sides") {
		t.Errorf("a run with itself: got %v, want a warning", err)
	}
}

func TestRowNotes(t *testing.T) {
	a, b := newBench("a").cell("mcs", steps(7, 1000)...), newBench("b").cell("mcs", steps(7, 1000)...)
	slow, fast := 195.0, 35.0
	each(a, func(s *results.Sample) { s.CoherenceNS = &fast })
	each(b, func(s *results.Sample) { s.CoherenceNS, s.Cores, s.RW = &slow, 4, "shared" })
	b.run.Calibration.UnitNS = 1.1
	c, err := Compare(side(t, "old", a), side(t, "new", b), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"2 and 4 cores", "rw=none and rw=shared", "coherence 35 and 195 ns"}; !slices.Equal(c.Rows[0].Notes, want) {
		t.Errorf("got notes %q, want %q", c.Rows[0].Notes, want)
	}
	if back, err := Compare(side(t, "old", b), side(t, "new", a), Options{}); err != nil || !slices.Contains(back.Rows[0].Notes, "coherence 195 and 35 ns") {
		t.Errorf("exchanged: got %v, want the coherence modes", err)
	}
	if !strings.Contains(strings.Join(c.Warnings, "\n"), "a work unit took 1 and 1.1 ns") {
		t.Errorf("got %q, want a warning about the work unit", c.Warnings)
	}
	if !strings.Contains(rowNames(c), "jain") || len(c.Rows) != len(DefaultMetrics()) {
		t.Errorf("default metrics: got %s", rowNames(c))
	}
	if c.Rows[0].Ratio.N != 14 || c.Rows[0].Ratio.OK != stat.MannWhitney(make([]float64, 7), make([]float64, 7), DefaultAlpha).OK {
		t.Errorf("got %+v", c.Rows[0].Ratio)
	}
}

func rowNames(c *Comparison) string {
	var out []string
	for _, r := range c.Rows {
		out = append(out, r.Metric.Name)
	}
	return strings.Join(out, " ")
}

// FuzzHeader compares runs with any spec and host: what programs of others
// wrote may be of any shape.
func FuzzHeader(f *testing.F) {
	f.Add(`{"workloads":[{"name":"w","section":"100"}],"duration_ns":1}`, `{"cpu_model":"Z80","mem_total_bytes":1e300,"caches":[{}]}`)
	f.Add(`{"workloads":[{"name":1},{}],"ops":-1}`, `[1]`)
	f.Add(`null`, `{"cpu_model":{"a":[]},"smt":null}`)
	f.Fuzz(func(t *testing.T, spec, host string) {
		a, b := newBench("a").cell("mcs", steps(7, 1000)...), newBench("b").cell("mcs", steps(7, 1000)...)
		var x, y any
		if json.Unmarshal([]byte(spec), &x) != nil || json.Unmarshal([]byte(host), &y) != nil {
			return
		}
		b.run.Spec, b.run.Host = x, y
		c, err := Compare(side(t, "old", a), side(t, "new", b), Options{})
		var refused *Error
		if err != nil && !errors.As(err, &refused) || err == nil && len(c.Rows) == 0 {
			t.Errorf("spec %s, host %s: got %v, %v", spec, host, c, err)
		}
	})
}

func FuzzParseFilter(f *testing.F) {
	for _, text := range []string{"lock=mcs*", "*/workers=2", "[", "a=b", "lock=[^a]", "\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := ParseFilter(text)
		if err != nil {
			return
		}
		if _, err := filter([]Filter{x}, []Named{{"mcs/workload=w/workers=2", "mcs", "w", 2}}, func(n Named) Named { return n }); err != nil && !strings.Contains(err.Error(), "matches no cell") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
