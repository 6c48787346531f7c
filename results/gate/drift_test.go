package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lockbench/results"
	"lockbench/results/stat"
)

// TestFilesDrift moves the machine one way and the lock the other: the controls
// are too noisy to prove that they moved, and must not let a regression pass for
// that.
func TestFilesDrift(t *testing.T) {
	const files = 60
	for _, tc := range []struct {
		machine, lock, threshold float64
		reps                     int
		controls, noise          float64
	}{
		{1.04, 0.93, 5, 10, 0.02, 0.005}, {1.04, 0.92, 5, 10, 0.04, 0.005}, {1.03, 0.93, 5, 20, 0.03, 0.005},
		{1.015, 0.97, 2, 15, 0.02, 0.003}, {1.045, 0.91, 5, 10, 0.05, 0.01},
	} {
		rules := parse(t, fmt.Sprintf("rules: [{lock: mcs, metric: throughput_ops_s, max-regression: %g%%}]", tc.threshold))
		passes, naive := 0, 0
		for seed := range uint64(files) {
			r := rand.New(rand.NewPCG(seed, 22))
			spec := fileSpec{id: "a", reps: tc.reps, kernel: "6.1", coherent: 40, noise: tc.controls, rate: map[string]float64{"null": 8e6, "mutex": 2e6, "mcs": 3e6}}
			old := spec.side(t, "old", 2*seed)
			spec.id, spec.rate = "b", map[string]float64{"null": 8e6 * tc.machine, "mutex": 2e6 * tc.machine, "mcs": 3e6 * tc.machine}
			new := spec.side(t, "new", 2*seed+1)
			for _, s := range old.Report.Runs[0].Samples {
				if s.Lock == "mcs" {
					s.ThroughputOps = 3e6 * math.Exp(tc.noise*r.NormFloat64())
				}
			}
			for _, s := range new.Report.Runs[0].Samples {
				if s.Lock == "mcs" {
					s.ThroughputOps = 3e6 * tc.machine * tc.lock * math.Exp(tc.noise*r.NormFloat64())
				}
			}
			res, err := Files(rules, old, new)
			if err != nil {
				t.Fatal(err)
			}
			got := res.Tests[0]
			if got.Verdict == Pass {
				passes++
			}
			if got.Drift != nil && got.Ratio.Lo >= 1-tc.threshold/100 {
				naive++ // the controls agreed, and what was measured is within
			}
		}
		if passes > 0 {
			t.Errorf("%+v: %d of %d regressions passed, want 0", tc, passes, files)
		}
		t.Logf("%+v: of %d, %d would have passed as measured", tc, files, naive)
		if naive == 0 && tc.machine == 1.015 {
			t.Errorf("%+v: none would pass without the drift; the simulation is blind", tc)
		}
	}
}

func TestDriftInWords(t *testing.T) {
	spec := fileSpec{id: "a", reps: 20, noise: 0.01, kernel: "6.1", coherent: 40, rate: map[string]float64{"null": 8e6, "mutex": 2e6, "mcs": 3e6}}
	old := spec.side(t, "old", 1)
	spec.id = "b"
	spec.rate["mcs"] *= 0.9
	res, err := Files(parse(t, "rules: [{lock: mcs, metric: wall_ns_per_op, max-regression: 20%}]"), old, spec.side(t, "new", 2))
	if err != nil {
		t.Fatal(err)
	}
	got := res.Tests[0]
	if got.Verdict != Pass || !strings.Contains(got.Reason, "; measured +11 % to +13 %, and the controls leave a drift of -1.") {
		t.Errorf("got %s, %q", got.Verdict, got.Reason)
	}
	if d, c := got.Drift, got.Corrected; d.Lo > 1 || d.Hi < 1 || c.Lo >= got.Ratio.Lo || c.Hi <= got.Ratio.Hi {
		t.Errorf("measured %+v, drift %+v, corrected %+v: want a drift about 1, and a wider interval", got.Ratio, d, c)
	}
}

func TestWithout(t *testing.T) {
	inf := math.Inf(1)
	for _, tc := range []struct{ measured, drift, want [2]float64 }{
		{[2]float64{-1, 2}, [2]float64{0, 0}, [2]float64{-1, 2}},
		{[2]float64{-1, 2}, [2]float64{-3, 5}, [2]float64{-6, 5}},
		{[2]float64{-inf, inf}, [2]float64{-inf, inf}, [2]float64{-inf, inf}},
		{[2]float64{inf, inf}, [2]float64{0, inf}, [2]float64{-inf, inf}},
		{[2]float64{-inf, -inf}, [2]float64{-inf, 0}, [2]float64{-inf, inf}},
	} {
		got := without(stat.Interval{Lo: tc.measured[0], Hi: tc.measured[1], OK: true}, stat.Interval{Lo: tc.drift[0], Hi: tc.drift[1]})
		if got.Lo != tc.want[0] || got.Hi != tc.want[1] {
			t.Errorf("%v less %v: got %g to %g, want %v", tc.measured, tc.drift, got.Lo, got.Hi, tc.want)
		}
	}
}

// TestFilesTails sees that two files have the same rules about what is missing.
func TestFilesTails(t *testing.T) {
	for _, tc := range []struct {
		name   string
		every  int
		spoil  func(*results.Sample)
		rules  string
		whole  Verdict
		reason string
	}{
		{"as it is", 0, nil, "rules: [{lock: mcs, metric: acquire_p99_ns, max-regression: 50%}]", Pass, "within"},
		{"lacks it in one of eight", 8, func(s *results.Sample) { s.Acquire = nil }, "rules: [{lock: mcs, metric: acquire_p99_ns, max-regression: 50%}]",
			Inconclusive, "5 of 40 repetitions of the new side are more than twice as bad as allowed or lack the figure, and only 0 of 40 of the old; measured -1 % to +0.74 %, and the controls leave a drift of -0.61 % to +0.48 %; 5 repetitions lack the metric on the new side"},
		{"lacks it in two of five", 2, func(s *results.Sample) {
			if s.Rep%10 != 1 {
				s.Acquire = nil
			}
		}, "rules: [{lock: mcs, metric: acquire_p99_ns, limit: 50ms}]", Inconclusive, "16 repetitions lack the metric on the new side"},
		{"stops in one of eight", 8, stop, "rules: [{lock: mcs, metric: throughput_ops_s, limit: 1M/s}]", Inconclusive, "within"},
	} {
		spec := fileSpec{id: "a", reps: 40, noise: 0.01, kernel: "6.1", coherent: 40, rate: map[string]float64{"null": 8e6, "mutex": 2e6, "mcs": 3e6}}
		old := spec.side(t, "old", 1)
		spec.id = "b"
		new := spec.side(t, "new", 2)
		for _, s := range append(old.Report.Runs[0].Samples, new.Report.Runs[0].Samples...) {
			s.Ops, s.Acquire = 1000, &results.Latency{Count: 9, P99: int64(1e15 / s.ThroughputOps / 1e3)}
		}
		for _, s := range new.Report.Runs[0].Samples {
			if s.Lock == "mcs" && tc.every > 0 && s.Rep%tc.every == tc.every-1 {
				tc.spoil(s)
			}
		}
		res, err := Files(parse(t, "alpha: 0.05\n"+tc.rules), old, new)
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict != tc.whole || !strings.Contains(res.Tests[0].Reason, tc.reason) {
			t.Errorf("%s: got %s, %q, findings %v; want %s, %q", tc.name, res.Verdict, res.Tests[0].Reason, res.Safety, tc.whole, tc.reason)
		}
	}
}

func TestLayout(t *testing.T) {
	set := func(text string) map[string]bool {
		m := map[string]bool{}
		for _, p := range strings.Fields(text) {
			m[p] = true
		}
		return m
	}
	for _, tc := range []struct{ old, new, want string }{
		{"a", "a", ""},
		{"a", "b", "one build a side: alpha does not cover code layout"},
		{"a b", "c d", "2 builds a side: "},
		{"a b c d", "e f g h", ""},
		{"a b c d", "e", "4 builds of the old side and 1 of the new: "},
		{"a", "a b", "one build of the old side and 2 of the new: "},
	} {
		got := layout(set(tc.old), set(tc.new))
		if (tc.want == "") != (got == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s and %s: got %q, want %q", tc.old, tc.new, got, tc.want)
		}
	}
	run := &results.Run{Programs: []results.SideProgram{{Side: "old", File: "a", SHA256: "1"}, {Side: "new", File: "b", SHA256: "1"}}}
	if got := sessionLayout(run); got != "" {
		t.Errorf("the same program by two names: got %q", got)
	}
	run.Programs[1].SHA256 = "2"
	if got := sessionLayout(run); !strings.Contains(got, "-randlayout=N") {
		t.Errorf("two programs: got %q", got)
	}
}
