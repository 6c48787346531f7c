package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lockbench/results"
	"lockbench/results/stat"
)

// quantised is a run of one cell: so many repetitions, of which the first have
// another p99, some failed tries and another throughput.
func quantised(id string, reps, changed int, p99, other int64) *bench {
	b := newBench(id).cell("mcs", make([]float64, reps)...)
	i := 0
	each(b, func(s *results.Sample) {
		s.Acquire, s.ThroughputOps, s.Ops = &results.Latency{Count: 100, P99: p99}, 1e6, 1000
		if i < changed {
			s.Acquire.P99, s.ThroughputOps, s.TryFailed = other, 2e6, 10
		}
		i++
	})
	return b
}

// TestTiesHaveNoWrongDirection: where most values are equal, the median ratio
// is 1 and says nothing; the verdict is that of the interval or none.
func TestTiesHaveNoWrongDirection(t *testing.T) {
	for _, x := range []struct {
		reps, old, new int // repetitions that are changed
		want           map[string]Verdict
	}{
		{40, 1, 10, map[string]Verdict{"acquire_p99_ns": NotShown, "try_failed_pct": NotShown, "throughput_ops_s": NotShown}},
		{40, 0, 8, map[string]Verdict{"acquire_p99_ns": NotShown, "try_failed_pct": NotShown, "throughput_ops_s": NotShown}},
		{20, 0, 7, map[string]Verdict{"acquire_p99_ns": NotShown, "try_failed_pct": NotShown, "throughput_ops_s": NotShown}},
		{60, 14, 2, map[string]Verdict{"acquire_p99_ns": NotShown, "try_failed_pct": NotShown, "throughput_ops_s": NotShown}},
		{40, 2, 38, map[string]Verdict{"acquire_p99_ns": Slower, "try_failed_pct": IsWorse, "throughput_ops_s": Faster}},
		{40, 38, 2, map[string]Verdict{"acquire_p99_ns": Faster, "try_failed_pct": IsBetter, "throughput_ops_s": Slower}},
	} {
		for metric, want := range x.want {
			c, err := Compare(side(t, "old", quantised("a", x.reps, x.old, 100, 110)), side(t, "new", quantised("b", x.reps, x.new, 100, 110)),
				Options{Metrics: metrics(t, metric)})
			if err != nil {
				t.Fatal(err)
			}
			if r := c.Rows[0]; r.Verdict != want {
				t.Errorf("%d and %d of %d changed, %s: got %q, p %g, ratio %+v, want %q", x.old, x.new, x.reps, metric, r.Verdict, *r.P, r.Ratio, want)
			}
		}
	}
}

// TestFalseAlarmsOfTies: quantised values, few of them unlike the others, with
// unequal numbers of repetitions; of tables of 40 rows without any difference, at
// most 5 % show one.
func TestFalseAlarmsOfTies(t *testing.T) {
	for _, x := range []struct {
		old, new, tables int
		share            float64
		steps            int
	}{{20, 200, 15, 0.03, 1}, {12, 12, 60, 0.5, 1}, {8, 40, 40, 0.7, 6}} {
		r := rand.New(rand.NewPCG(41, uint64(x.old)))
		run := func(id string, reps int) *bench {
			b := newBench(id)
			for k := range 40 {
				b.cell(fmt.Sprintf("l%02d", k), make([]float64, reps)...)
			}
			each(b, func(s *results.Sample) {
				s.Acquire = &results.Latency{Count: 100, P99: 100}
				if r.Float64() < x.share {
					s.Acquire.P99 += 10 * (1 + r.Int64N(int64(x.steps)))
				}
			})
			return b
		}
		hits := 0
		for range x.tables {
			c, err := Compare(side(t, "old", run("a", x.old)), side(t, "new", run("b", x.new)), Options{Metrics: metrics(t, "acquire_p99_ns")})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range c.Rows {
				if row.Verdict != NotShown {
					hits++
					break
				}
			}
		}
		if most := 0.05*float64(x.tables) + 4*math.Sqrt(0.05*0.95*float64(x.tables)); float64(hits) > most {
			t.Errorf("%d against %d: %d of %d tables show a difference, want at most %.0f", x.old, x.new, hits, x.tables, most)
		}
	}
}

// TestVerdictAgrees: whatever is measured, with repetitions that did nothing, equal
// ones and ones that differ in the last digit, p and interval agree, and a
// verdict has the direction of the interval.
func TestVerdictAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pools := [][]float64{{0, 0, 1, 2}, {0, 1000, 1000, 1010}, {1, math.Nextafter(1, 0), math.Nextafter(1, 0)}, {0, 1e300, 1e-300}, {1, 2, 3, 4, 5, 6}}
	draw := func(pool []float64, first bool, skew float64) []float64 {
		out := make([]float64, 4+r.IntN(20))
		for i := range out {
			out[i] = pool[r.IntN(len(pool))]
			if r.Float64() < skew {
				if out[i] = pool[len(pool)-1]; first {
					out[i] = pool[0]
				}
			}
		}
		return out
	}
	seen := map[Verdict]int{}
	for range 300 {
		a, b := newBench("a"), newBench("b")
		for k := range 4 {
			pool, skew := pools[r.IntN(len(pools))], r.Float64()
			first := r.IntN(2) == 0
			lock := []string{"mcs", "tas", "mutex", "null"}[k]
			a.cell(lock, draw(pool, first, skew)...)
			b.cell(lock, draw(pool, !first, skew)...)
		}
		c, err := Compare(side(t, "old", a), side(t, "new", b), Options{Metrics: metrics(t, "throughput_ops_s", "wall_ns_per_op"), Alpha: []float64{0.05, 0.3}[r.IntN(2)]})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range c.Rows {
			checkRow(t, row, c.Alpha)
			seen[row.Verdict]++
		}
	}
	for _, v := range []Verdict{Faster, Slower, NotShown, TooFew, ControlDiffer, ControlAlike} {
		if seen[v] == 0 {
			t.Errorf("no row was %q: the cases are too tame (%v)", v, seen)
		}
	}
}

// checkRow checks a row with a probability.
func checkRow(t *testing.T, r *Row, alpha float64) {
	t.Helper()
	up, down := r.Ratio.OK && r.Ratio.Lo > 1, r.Ratio.OK && r.Ratio.Hi < 1
	if (up || down) != (*r.P <= alpha) {
		t.Fatalf("%s %s at %g: p %g beside ratio %+v", r.Cell, r.Metric.Name, alpha, *r.P, r.Ratio)
	}
	if r.Verdict == TooFew || r.Control && (r.Verdict == ControlDiffer) == (*r.AdjP <= alpha) {
		return
	}
	want := NotShown
	switch passes, good := *r.AdjP <= alpha, up == (r.Metric.Better == results.Higher); {
	case passes && good:
		want = Faster
	case passes:
		want = Slower
	}
	if r.Control || r.Verdict != want || up && r.Ratio.Center <= 1 || down && r.Ratio.Center >= 1 {
		t.Fatalf("%s %s at %g: got %q, want %q: corrected p %g, ratio %+v", r.Cell, r.Metric.Name, alpha, r.Verdict, want, *r.AdjP, r.Ratio)
	}
}

// TestVerdictOfInterval: the direction is that of the interval, at its ends too.
func TestVerdictOfInterval(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range []struct {
		center, lo, hi float64
		want           Verdict // of a throughput whose p passes
	}{
		{1, 1, 1, NotShown}, {1, 0, inf, NotShown}, {0.5, 0, inf, NotShown}, {2, 1, inf, NotShown}, {0.5, 0, 1, NotShown},
		{inf, inf, inf, Faster}, {0, 0, 0, Slower}, {0.5, 0, 0.9, Slower}, {2, 1.1, inf, Faster}, {1, 1, 1.2, NotShown},
	} {
		p := 1e-9
		r := Row{Metric: metrics(t, "throughput_ops_s")[0], P: &p, AdjP: &p, Ratio: stat.Interval{Center: x.center, Lo: x.lo, Hi: x.hi, N: 20, OK: true}}
		if got := r.verdict(0.05); got != x.want {
			t.Errorf("ratio %g, %g to %g: got %q, want %q", x.center, x.lo, x.hi, got, x.want)
		}
		r.Control = true
		want := ControlDiffer
		if x.want == NotShown {
			want = ControlAlike
		}
		if got := r.verdict(0.05); got != want {
			t.Errorf("control, ratio %g, %g to %g: got %q, want %q", x.center, x.lo, x.hi, got, want)
		}
	}
	// Logarithms that differ less than ratios can tell.
	tiny := math.Log(math.Nextafter(1, 0))
	if i := ratio(stat.Interval{Center: -tiny, Lo: -tiny, Hi: inf}); i.Lo <= 1 || i.Center <= 1 || i.Hi != inf {
		t.Errorf("a logarithm of %g: got %+v, want above 1", -tiny, i)
	}
	if i := ratio(stat.Interval{Center: tiny / 4, Lo: -inf, Hi: tiny / 4}); i.Lo != 0 || i.Hi >= 1 || i.Center >= 1 {
		t.Errorf("a logarithm of %g: got %+v, want below 1", tiny/4, i)
	}
}
