package results

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEstimate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		in     []float64
		median float64
		lo, hi float64 // 0 = absent
		mad    float64
		warn   bool
	}{
		{"one", []float64{5}, 5, 0, 0, 0, true},
		{"five", []float64{5, 1, 4, 2, 3}, 3, 0, 0, 1, true},
		{"six", []float64{6, 5, 4, 3, 2, 1}, 3.5, 1, 6, 1.5, false},
		{"seven", []float64{10, 70, 30, 40, 50, 60, 20}, 40, 10, 70, 20, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := append([]float64(nil), tc.in...)
			e := NewEstimate(in)
			if diff := cmp.Diff(tc.in, in); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
			var lo, hi float64
			if e.Lo != nil {
				lo, hi = *e.Lo, *e.Hi
			}
			if e.N != len(tc.in) || e.Median != tc.median || lo != tc.lo || hi != tc.hi || *e.MAD != tc.mad || (len(e.Warnings) > 0) != tc.warn {
				t.Errorf("input %v: got %+v (interval %g to %g), want median %g, %g to %g, MAD %g, warning %v",
					tc.in, e, lo, hi, tc.median, tc.lo, tc.hi, tc.mad, tc.warn)
			}
			if e.Lo != nil && e.Confidence < Confidence {
				t.Errorf("confidence: got %g, want at least %g", e.Confidence, Confidence)
			}
		})
	}
	if e := NewEstimate(nil); e != nil {
		t.Errorf("nothing: got %+v, want absent", e)
	}
	e := NewEstimate([]float64{0, 0, 0, 0, 0, 0})
	if e.CV != nil {
		t.Errorf("zeros: got %+v, want no CV", e)
	}
}

func TestBimodal(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []float64
		want bool
	}{
		{"two modes", []float64{100, 101, 99, 130, 131, 100, 129}, true},
		{"six are too few", []float64{100, 101, 130, 131, 100, 129}, false},
		{"one outlier", []float64{100, 101, 99, 100, 101, 100, 150}, false},
		{"modes 5 % apart", []float64{100, 100, 100, 105, 105, 105, 105}, false},
		{"spread", []float64{100, 110, 120, 130, 140, 150, 160}, false},
		{"equal", []float64{7, 7, 7, 7, 7, 7, 7}, false},
		{"zeros", make([]float64, 7), false},
	} {
		if got := Bimodal(tc.in); got != tc.want {
			t.Errorf("%s %v: got %v, want %v", tc.name, tc.in, got, tc.want)
		}
	}
}

// TestBimodalRates checks the rates that the comment on Bimodal gives.
func TestBimodalRates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const trials = 5000
	one, two := 0, 0
	for range trials {
		a, b := make([]float64, 7), make([]float64, 7)
		for i := range a {
			a[i] = 100 * (1 + 0.10*r.NormFloat64())
			b[i] = 100 * (1 + 0.02*r.NormFloat64())
			if r.IntN(2) == 0 {
				b[i] *= 1.3
			}
		}
		if Bimodal(a) {
			one++
		}
		if Bimodal(b) {
			two++
		}
	}
	if one > trials*8/1000 {
		t.Errorf("one mode: the sign in %d of %d, want at most 0.8 %%", one, trials)
	}
	if two < trials*70/100 {
		t.Errorf("two modes: the sign in %d of %d, want at least 70 %%", two, trials)
	}
}

func reps(n int, edit func(i int, s *Sample)) []*Sample {
	var out []*Sample
	for i := range n {
		s := testSample("mcs", i, 100_000)
		if edit != nil {
			edit(i, s)
		}
		out = append(out, s)
	}
	return out
}

func setRate(s *Sample, ops int64) {
	s.Ops, s.ThroughputOps, s.WallNSPerOp = ops, float64(ops)*10, 1e8/float64(ops)
	s.PerWorkerOps = []int64{ops / 2, ops - ops/2}
}

func TestSummarize(t *testing.T) {
	for _, tc := range []struct {
		name    string
		in      []*Sample
		planned int
		outcome string
		worst   int
		ok      int
		marks   string
	}{
		{"clean", reps(7, nil), 7, OutcomeOK, 0, 7, ""},
		{"few", reps(5, nil), 5, OutcomeOK, 0, 5, "few"},
		{"incomplete", reps(6, nil), 7, OutcomeOK, 0, 6, "incomplete 6/7"},
		{"noisy", reps(7, func(i int, s *Sample) { setRate(s, int64(100_000+20_000*i)) }), 7, OutcomeOK, 0, 7, "noisy"},
		{"bimodal", reps(7, func(i int, s *Sample) { setRate(s, int64(100_000+11_500*(i%2))) }), 7, OutcomeOK, 0, 7, "bimodal"},
		{"starved", reps(7, func(i int, s *Sample) {
			if i < 2 {
				s.PerWorkerOps = []int64{100_000, 0}
			}
		}), 7, OutcomeOK, 0, 7, "starved 2/7"},
		{"flags", reps(7, func(i int, s *Sample) {
			if i > 3 {
				s.Flags = []string{"gc: 2 collections", "gc", "coherence"}
			}
		}), 7, OutcomeOK, 0, 7, "coherence 3/7, gc 3/7"},
		{"hang", reps(7, func(i int, s *Sample) {
			if i == 3 {
				s.Outcome, s.Reason = OutcomeHang, "stuck"
			}
		}), 7, OutcomeHang, 1, 6, ""},
		{"violation beats hang", reps(7, func(i int, s *Sample) {
			switch i {
			case 0:
				s.Outcome = OutcomeHang
			case 5:
				s.Outcome = OutcomeViolation
			}
		}), 7, OutcomeViolation, 1, 5, "few"},
		{"nothing ok", reps(2, func(i int, s *Sample) { s.Outcome = OutcomeError }), 2, OutcomeError, 2, 0, ""},
		{"skipped once for all repetitions", reps(1, func(i int, s *Sample) { s.Outcome = OutcomeSkipped }), 7, OutcomeSkipped, 1, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Summarize(tc.in, tc.planned)
			var marks []string
			for _, m := range c.Marks {
				marks = append(marks, m.String())
			}
			if got := strings.Join(marks, ", "); got != tc.marks {
				t.Errorf("marks: got %q, want %q", got, tc.marks)
			}
			if c.Outcome != tc.outcome || c.WorstOf != tc.worst || c.OKReps != tc.ok {
				t.Errorf("got outcome %s in %d, %d ok; want %s in %d, %d ok", c.Outcome, c.WorstOf, c.OKReps, tc.outcome, tc.worst, tc.ok)
			}
			if (c.Metrics.Throughput != nil) != (tc.ok > 0) {
				t.Errorf("numbers: got %v with %d ok repetitions", c.Metrics.Throughput, tc.ok)
			}
			if tc.ok == 0 {
				if diff := cmp.Diff(Metrics{}, c.Metrics); diff != "" {
					t.Errorf("metrics without ok repetitions:\n%s", diff)
				}
			}
		})
	}
}

func TestAbsentIsNotZero(t *testing.T) {
	in := reps(7, func(i int, s *Sample) {
		s.Fairness.Jain = new(float64)
		*s.Fairness.Jain = 0.5
		if i == 0 {
			s.ContendedPct = new(float64)
		}
	})
	m := Summarize(in, 7).Metrics
	if m.LWSS != nil || m.AcquireP50 != nil || m.CPUNS != nil {
		t.Errorf("got LWSS %v, acquire %v, cpu %v; want them absent", m.LWSS, m.AcquireP50, m.CPUNS)
	}
	if m.Jain == nil || m.Jain.N != 7 || m.Contended != nil {
		t.Errorf("got jain %+v, contended %+v; want 7 repetitions, and none from a minority", m.Jain, m.Contended)
	}
}

func TestFlagWord(t *testing.T) {
	for in, want := range map[string]string{"gc": "gc", "gc: 2 collections": "gc", " steal :x:y": "steal", "": ""} {
		if got := FlagWord(in); got != want {
			t.Errorf("FlagWord(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestEstimateNeverNaN(t *testing.T) {
	for _, in := range [][]float64{{0}, {0, 0}, {1e18, 1e-9}, {math.MaxFloat64, math.MaxFloat64}} {
		e := NewEstimate(in)
		if math.IsNaN(e.Median) || math.IsNaN(*e.MAD) || e.CV != nil && math.IsNaN(*e.CV) {
			t.Errorf("input %v: got %+v", in, e)
		}
	}
}

// TestCollapseIsNotFast: a lock that did nothing in most repetitions shows no
// figures of the lucky ones.
func TestCollapseIsNotFast(t *testing.T) {
	in := reps(7, func(i int, s *Sample) {
		jain := 0.5
		s.CPUNSPerOp, s.Fairness.Jain = 6.3, &jain
		if i < 5 {
			setRate(s, 0)
			s.PerWorkerOps, s.CPUNSPerOp, s.Fairness.Jain = []int64{0, 0}, 0, nil
		}
	})
	m := Summarize(in, 7).Metrics
	if m.Throughput.Median != 0 || !math.IsInf(m.WallNS.Median, 1) || !math.IsInf(m.CPUNS.Median, 1) || m.Jain != nil {
		t.Errorf("throughput %v, ns/op %v, cpu %v, jain %v; want 0, inf, inf, absent", m.Throughput.Median, m.WallNS.Median, m.CPUNS.Median, m.Jain)
	}
	if m.WallNS.N != 7 || m.WallNS.Infinite != 5 || m.WallNS.MAD != nil {
		t.Errorf("ns/op: %+v", m.WallNS)
	}
}

func TestTimeIsTheInverseOfTheRate(t *testing.T) {
	for n := 1; n <= 8; n++ {
		in := reps(n, func(i int, s *Sample) { setRate(s, int64(1000<<i)) })
		m := Summarize(in, n).Metrics
		if got, want := m.WallNS.Median, 1e9/m.Throughput.Median; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%d repetitions: %g ns/op beside %g ops/s", n, got, m.Throughput.Median)
		}
		if m.WallNS.Lo != nil && math.Abs(*m.WallNS.Lo**m.Throughput.Hi-1e9) > 1 {
			t.Errorf("%d repetitions: bounds %g ns/op and %g ops/s", n, *m.WallNS.Lo, *m.Throughput.Hi)
		}
	}
}

func TestStarvedIsInfinite(t *testing.T) {
	in := reps(7, func(i int, s *Sample) {
		if i < 4 {
			s.PerWorkerOps = []int64{s.Ops, 0}
		} else {
			r := 1.11
			s.Fairness.MaxMin = &r
		}
	})
	e := Summarize(in, 7).Metrics.MaxMin
	if e == nil || e.N != 7 || !math.IsInf(e.Median, 1) || e.Min != 1.11 {
		t.Fatalf("max/min with 4 of 7 starved: %+v, want infinite", e)
	}
	b, err := json.Marshal(e)
	if err != nil || !strings.Contains(string(b), `"infinite_reps":4,"median":null`) || strings.Contains(string(b), "Inf") {
		t.Errorf("JSON: %s, %v", b, err)
	}
}

func TestProbeDiffers(t *testing.T) {
	for _, tc := range []struct {
		ops, probe int64 // in 100 and 50 ms
		want       bool
	}{{1000, 500, false}, {1000, 990, false}, {1000, 1100, true}, {1000, 200, true}, {1000, 0, true}, {0, 0, false}, {30, 0, false}, {0, 5000, true}} {
		s := &Sample{Ops: tc.ops, ElapsedNS: 100e6, ProbeOps: tc.probe, ProbeElapsedNS: 50e6}
		if got := probeDiffers(s); got != tc.want {
			t.Errorf("%d operations in 100 ms, %d in 50 ms: %v, want %v", tc.ops, tc.probe, got, tc.want)
		}
	}
}

func TestPhasesAndShares(t *testing.T) {
	in := reps(7, func(i int, s *Sample) {
		s.Phases = []Phase{{Workers: 1, ElapsedNS: 1e9, Ops: 100, ThroughputOps: 100 + float64(i)}, {Workers: 2, ElapsedNS: 1e9}}
		s.TryFailed, s.TimedOut = s.Ops/2, s.Ops/2
		s.OfferedOps, s.ProbeOps, s.BacklogOps = 5000, 75, int64(5000*float64(s.WarmupNS+s.ElapsedNS+s.ProbeElapsedNS)/1e9/4)
	})
	c := Summarize(in, 7)
	if len(c.Phases) != 2 || c.Phases[0].Workers != 1 || c.Phases[0].Throughput.Median != 103 || c.Phases[1].Throughput.Median != 0 {
		t.Errorf("phases %+v", c.Phases)
	}
	if m := c.Metrics; m.TryFailed.Median != 25 || m.TimedOut.Median != 25 || m.Backlog.Median != 25 || c.OfferedOps != 5000 {
		t.Errorf("tries %v, timed %v, backlog %v, offered %v", m.TryFailed.Median, m.TimedOut.Median, m.Backlog.Median, c.OfferedOps)
	}
	in[6].Phases = nil
	if c := Summarize(in, 7); c.Phases != nil {
		t.Errorf("one repetition without phases: %+v, want none", c.Phases)
	}
}

// TestEstimateJSON: the faster encoder writes numbers as encoding/json does.
func TestEstimateJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := math.Exp(100 * (r.Float64() - 0.5))
		if r.IntN(4) == 0 {
			v = math.Trunc(v)
		}
		got, err := json.Marshal(Estimate{N: 1, Median: v, Min: v, Max: math.Inf(1), Lo: &v, CV: &v, Warnings: []string{"a <b> & \"c\""}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(`{"n":1,"median":V,"lo":V,"min":V,"max":null,"cv":V,"warnings":["a \u003cb\u003e \u0026 \"c\""]}`, "V", string(text))
		if string(got) != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// TestCPUOfNoOperation: without operations the time of one is infinite, if the
// program knows its processor time at all.
func TestCPUOfNoOperation(t *testing.T) {
	for _, tc := range []struct {
		name string
		cpu  []float64 // ns an operation; 0 = no operation
		want float64   // -1 = absent
	}{
		{"never any", []float64{0, 0, 0}, -1},
		{"in most", []float64{0, 0, 5}, math.Inf(1)},
		{"in few", []float64{0, 5, 5}, 5},
	} {
		var in []*Sample
		for i, ns := range tc.cpu {
			s := testSample("mcs", i, 0)
			if ns > 0 {
				s = testSample("mcs", i, 1000)
			}
			s.CPUNSPerOp = ns
			in = append(in, s)
		}
		got := -1.0
		if e := Summarize(in, 3).Metrics.CPUNS; e != nil {
			got = e.Median
		}
		if got != tc.want {
			t.Errorf("%s %v: got %g, want %g", tc.name, tc.cpu, got, tc.want)
		}
	}
}
