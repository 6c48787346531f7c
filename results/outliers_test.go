package results

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repetitionsOf makes ok repetitions of the rates given, in operations a second.
func repetitionsOf(rates ...float64) []*Sample {
	var out []*Sample
	for i, r := range rates {
		s := testSample("mcs", i, 1000)
		s.ThroughputOps = r
		out = append(out, s)
	}
	return out
}

func TestOutliers(t *testing.T) {
	inf := math.Inf(1)
	for _, tc := range []struct {
		name  string
		rates []float64
		p99   []int64 // of acquire, absent if short
		want  []string
		mark  string // of the words, "" = none
	}{
		{"one repetition", []float64{100}, nil, nil, ""},
		{"two repetitions", []float64{100, 1}, nil, nil, ""},
		{"five are too few", []float64{100, 101, 99, 100, 1}, nil, nil, ""},
		{"none", []float64{100, 102, 98, 101, 99, 100, 103}, nil, nil, ""},
		{"a slow one", []float64{100, 102, 50, 101, 99, 100, 103}, nil, []string{"2:throughput_ops_s"}, "outliers 1/7"},
		{"a fast one", []float64{100, 102, 98, 101, 99, 200, 103}, nil, []string{"5:throughput_ops_s"}, "outliers 1/7"},
		{"none of a wide spread", []float64{100, 150, 60, 120, 80, 190, 40}, nil, nil, ""},
		{"MAD 0, a little off", []float64{100, 100, 100, 100, 100, 100, 101}, nil, nil, ""},
		{"MAD 0, far off", []float64{100, 100, 100, 100, 100, 100, 130}, nil, []string{"6:throughput_ops_s"}, "outliers 1/7"},
		{"zero among others", []float64{100, 100, 101, 0, 100, 100, 99}, nil, []string{"3:throughput_ops_s"}, "outliers 1/7"},
		{"others among zeros", []float64{0, 0, 0, 0, 0, 0, 5}, nil, []string{"6:throughput_ops_s"}, "outliers 1/7"},
		{"all zero", make([]float64, 7), nil, nil, ""},
		{"two modes are not outliers", []float64{100, 101, 99, 200, 201, 100, 199}, nil, nil, ""},
		{"by latency", []float64{100, 102, 98, 101, 99, 100, 103}, []int64{10, 11, 10, 90, 11, 10, 11}, []string{"3:acquire_p99_ns"}, "outliers 1/7"},
		{"one by both", []float64{100, 102, 98, 30, 99, 100, 103}, []int64{10, 11, 10, 90, 11, 10, 11},
			[]string{"3:throughput_ops_s", "3:acquire_p99_ns"}, "outliers 1/7"},
		{"latency of a half", []float64{100, 102, 98, 101, 99, 100, 103}, []int64{10, 90, 10}, nil, ""},
		{"infinite", []float64{100, 102, 98, 101, 99, 100, inf}, nil, []string{"6:throughput_ops_s"}, "outliers 1/7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := repetitionsOf(tc.rates...)
			for i, ns := range tc.p99 {
				in[i].Acquire = &Latency{Count: 1, P99: ns, P999: ns, Max: ns}
			}
			c := Summarize(in, len(in))
			var got []string
			for _, o := range c.Outliers {
				got = append(got, fmt.Sprintf("%d:%s", o.Rep, o.Metric))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rates %v, p99 %v (-want +got):\n%s", tc.rates, tc.p99, diff)
			}
			mark := ""
			for _, m := range c.Marks {
				if m.Word == MarkOutliers {
					mark = m.String()
					for _, o := range c.Outliers {
						if want := fmt.Sprintf("repetition %d: %s", o.Rep, o.Metric); !strings.Contains(m.Detail, want) {
							t.Errorf("detail %q does not name %s", m.Detail, want)
						}
					}
				}
			}
			if mark != tc.mark {
				t.Errorf("mark: got %q, want %q", mark, tc.mark)
			}
			if c.OKReps != len(tc.rates) || c.Metrics.Throughput.N != len(tc.rates) {
				t.Errorf("%d of %d repetitions are in the figures: outliers are kept", c.Metrics.Throughput.N, len(tc.rates))
			}
		})
	}
}

// TestSecondLevelIsNoOutlier: a percentile has steps. Where a third of the
// repetitions lie on another one, these are no outliers; a single one is.
func TestSecondLevelIsNoOutlier(t *testing.T) {
	for _, c := range []struct{ high, want int }{{1, 1}, {4, 4}, {6, 0}, {10, 0}} {
		var samples []*Sample
		for rep := range 20 {
			s := &Sample{Cell: "c", Lock: "l", Rep: rep, Outcome: OutcomeOK, ThroughputOps: 1e6, Acquire: &Latency{Count: 100, P99: 100}}
			if rep < c.high {
				s.Acquire.P99 = 200
			}
			samples = append(samples, s)
		}
		if got := Summarize(samples, 20).Outliers; len(got) != c.want {
			t.Errorf("%d of 20 repetitions at twice the p99: got %d outliers, want %d", c.high, len(got), c.want)
		}
	}
}

func TestOutlierTextIsShort(t *testing.T) {
	var out []Outlier
	for i := range 9 {
		out = append(out, Outlier{Rep: i, Metric: "throughput_ops_s", Value: 1, Median: 2})
	}
	if got := outlierText(out); !strings.HasSuffix(got, "; and 4 more") || strings.Count(got, ";") != maxNamed {
		t.Errorf("got %q, want 5 and 4 more", got)
	}
}

// TestOutlierRates checks the rate that the comment on outlierCut gives.
func TestOutlierRates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	list := MetricList()
	const trials = 3000
	for _, n := range []int{6, 7, 9, 15, 25, 100} {
		marked := 0
		for range trials {
			rates := make([]float64, n)
			for i := range rates {
				rates[i] = 1e6 * math.Exp(0.05*r.NormFloat64())
			}
			if len(outliers(rowsOf(repetitionsOf(rates...), list), list, nil)) > 0 {
				marked++
			}
		}
		if share := float64(marked) / trials; share > 0.02 {
			t.Errorf("%d repetitions: %.1f %% of normal cells are marked, want about 1 %%", n, 100*share)
		}
	}
}

func TestModes(t *testing.T) {
	yes, no := true, false
	slow, fast := []float64{100, 101, 99, 100}, []float64{200, 201, 199}
	for _, tc := range []struct {
		name      string
		coherence []float64 // of the slow, then the fast repetitions; 0 = absent
		by        *bool
		cause     string
	}{
		{"explained", []float64{290, 295, 288, 291, 27, 28, 30}, &yes, "different coherence modes"},
		{"explained the other way", []float64{27, 28, 30, 27, 290, 291, 280}, &yes, "different coherence modes"},
		{"same mode", []float64{27, 28, 30, 27, 29, 28, 27}, &no, "does not explain"},
		{"apart, but alike", []float64{30, 31, 32, 33, 27, 28, 29}, &no, "does not explain"},
		{"one in the other's mode", []float64{290, 295, 27, 291, 27, 28, 30}, &no, "mostly, but not all"},
		{"some not known", []float64{290, 295, 0, 291, 27, 28, 30}, nil, "not known"},
		{"not known", make([]float64, 7), nil, "not known"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := repetitionsOf(slices.Concat(slow, fast)...)
			for i, c := range tc.coherence {
				if c > 0 {
					in[i].CoherenceNS = &tc.coherence[i]
				}
			}
			c := Summarize(in, 7)
			if c.Modes == nil {
				t.Fatalf("rates %v %v: not bimodal", slow, fast)
			}
			if diff := cmp.Diff(tc.by, c.Modes.ByCoherence); diff != "" {
				t.Errorf("coherence %v (-want +got):\n%s", tc.coherence, diff)
			}
			if got := c.Modes.String(); !strings.Contains(got, tc.cause) || !strings.Contains(got, "4 at 100") || !strings.Contains(got, "3 at 200") {
				t.Errorf("got %q, want 4 at 100, 3 at 200, and %q", got, tc.cause)
			}
			if diff := cmp.Diff([][]int{{0, 1, 2, 3}, {4, 5, 6}}, [][]int{c.Modes.Slow.Reps, c.Modes.Fast.Reps}); diff != "" {
				t.Errorf("repetitions (-want +got):\n%s", diff)
			}
			i := slices.IndexFunc(c.Marks, func(m Mark) bool { return m.Word == MarkBimodal })
			if i < 0 || c.Marks[i].Detail != c.Modes.String() {
				t.Errorf("marks %v: want bimodal with the modes", c.Marks)
			}
		})
	}
	in := repetitionsOf(slices.Concat(slow, fast)...)
	for i, c := range []float64{290, 295, 288, 292, 27, 28, 30} {
		in[i].CoherenceNS = &c
	}
	m := Summarize(in, 7).Modes
	if *m.Slow.CoherenceNS != 291 || *m.Fast.CoherenceNS != 28 {
		t.Errorf("medians of coherence: got %g and %g, want 291 and 28", *m.Slow.CoherenceNS, *m.Fast.CoherenceNS)
	}
}

// TestFewRepetitions: what one, two and five repetitions cannot say is not said.
func TestFewRepetitions(t *testing.T) {
	for _, n := range []int{1, 2, 5, 6} {
		rates := []float64{100, 200, 300, 400, 500, 600}[:n]
		c := Summarize(repetitionsOf(rates...), n)
		e := c.Metrics.Throughput
		few := slices.ContainsFunc(c.Marks, func(m Mark) bool { return m.Word == MarkFew })
		if want := n < MinReps; few != want || (e.Lo == nil) != want || (len(c.Warnings) > 0) != want {
			t.Errorf("%d repetitions: marked few %v, interval %v, warnings %q", n, few, e.Lo != nil, c.Warnings)
		}
		if (e.CV == nil) != (n < 2) {
			t.Errorf("%d repetitions: CV %v", n, e.CV)
		}
		if c.Modes != nil || len(c.Outliers) > 0 {
			t.Errorf("%d repetitions: modes %v, outliers %v", n, c.Modes, c.Outliers)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%d repetitions: %v", n, err)
		}
	}
}
