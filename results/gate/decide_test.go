package gate

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"lockbench/results"
	"lockbench/results/stat"
)

func metric(t testing.TB, name string) results.Metric {
	t.Helper()
	m, err := results.LookupMetric(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNewPlan(t *testing.T) {
	for _, tc := range []struct {
		alpha         float64
		tests, budget int
		want          string // pairs:share of the test's alpha
		min           int
	}{
		{0.01, 1, 128, "16:0.25 32:0.25 64:0.25 128:0.25", 8},
		{0.01, 10, 64, "16:0.333 32:0.333 64:0.333", 11},
		{0.01, 10, 100, "16:0.25 32:0.25 64:0.25 100:0.25", 11},
		{0.01, 10, 16, "16:1", 11},
		{0.01, 10, 12, "12:1", 11},
		{0.01, 10, 10, "", 11},
		// 0.01/100/4 is below 2/2^16: the first look leaves its share to the others.
		{0.01, 100, 128, "32:0.333 64:0.333 128:0.333", 15},
		{0.01, 100, 20, "16:0.5 20:0.5", 15},
		{0.01, 200, 20, "20:1", 16},
		{0.01, 100, 15, "15:1", 15},
		{0.01, 0, 128, "", 8},
		{0.01, 1, 0, "", 8},
	} {
		p := NewPlan(tc.alpha, tc.tests, tc.budget)
		var got []string
		sum := 0.0
		for _, l := range p.Looks {
			got = append(got, fmt.Sprintf("%d:%.3g", l.Pairs, l.Alpha/tc.alpha*float64(tc.tests)))
			sum += l.Alpha
			if n := stat.MinSignedRank(l.Alpha); n > l.Pairs {
				t.Errorf("alpha %g, %d tests, budget %d: the look at %d pairs can prove nothing", tc.alpha, tc.tests, tc.budget, l.Pairs)
			}
		}
		if s := strings.Join(got, " "); s != tc.want || p.MinBudget() != tc.min {
			t.Errorf("alpha %g, %d tests, budget %d: got %s, least budget %d, want %s, %d", tc.alpha, tc.tests, tc.budget, s, p.MinBudget(), tc.want, tc.min)
		}
		if len(p.Looks) > 0 && math.Abs(sum*float64(tc.tests)-tc.alpha) > 1e-12 {
			t.Errorf("alpha %g, %d tests, budget %d: the looks spend %g a test", tc.alpha, tc.tests, tc.budget, sum)
		}
	}
}

// spread is n values around center, alternately above and below.
func spread(n int, center, width float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		step := width * float64(i%7+1) / 7
		if i%2 == 1 {
			step = -step
		}
		out[i] = center + step
	}
	return out
}

func TestDecide(t *testing.T) {
	inf := math.Inf(1)
	plan := NewPlan(0.01, 10, 64)
	fewer := func(pct float64) *Rule {
		return &Rule{Metric: metric(t, "throughput_ops_s"), MaxRegression: pct / 100}
	}
	more := func(pct float64) *Rule { return &Rule{Metric: metric(t, "acquire_p99_ns"), MaxRegression: pct / 100} }
	atMost := func(v float64) *Rule { return &Rule{Metric: metric(t, "acquire_p99_ns"), Limit: v} }
	atLeast := func(v float64) *Rule { return &Rule{Metric: metric(t, "throughput_ops_s"), Limit: v} }
	many := func(n int, v float64) []float64 { return spread(n, v, 0) }
	for _, tc := range []struct {
		name   string
		rule   *Rule
		xs     []float64
		done   bool
		want   Verdict
		look   int
		open   bool
		reason string
	}{
		{"higher is better: fewer fails", fewer(5), many(16, math.Log(0.9)), false, Fail, 16, false, "beyond"},
		{"higher is better: more passes", fewer(5), many(16, math.Log(1.9)), false, Pass, 16, false, "within"},
		{"higher is better: just within, 5 % is 0.95", fewer(5), many(16, math.Log(0.951)), false, Pass, 16, false, "within"},
		{"higher is better: just beyond, not 1/1.05", fewer(5), many(16, math.Log(0.9495)), false, Fail, 16, false, "beyond"},
		{"lower is better: more fails", more(5), many(16, math.Log(1.1)), false, Fail, 16, false, "beyond"},
		{"lower is better: less passes", more(5), many(16, math.Log(0.5)), false, Pass, 16, false, "within"},
		{"lower is better: just within", more(5), many(16, math.Log(1.049)), false, Pass, 16, false, "within"},
		{"equal", more(5), many(16, 0), false, Pass, 16, false, "within"},
		{"infinite: from nothing to something", more(5), many(16, inf), false, Fail, 16, false, "beyond"},
		{"infinite: to nothing", more(5), many(16, -inf), false, Pass, 16, false, "within"},
		{"infinities of both signs", more(5), append(many(32, inf), many(32, -inf)...), true, Fail, 16, false, "beyond"},
		{"an infinity is a rank", more(100), append(many(1, inf), many(31, 0)...), false, Pass, 32, false, "within"},
		{"two, and none to the other side: another look", more(100), append(many(2, inf), many(30, 0)...), false, Inconclusive, 32, true, "undecided after 32"},
		{"which may pass", more(100), append(many(2, inf), many(62, 0)...), false, Pass, 64, false, "within"},
		{"two, and one to the other side", more(100), append([]float64{inf, inf, -inf}, many(29, 0)...), false, Pass, 32, false, "within"},
		{"too many at the last look", more(100), append(many(8, inf), many(56, 0)...), true, Inconclusive, 64, false, "8 of 64 pairs are more than twice as bad as allowed, and only 0 are as good"},
		{"a decision stands", more(5), append(many(16, math.Log(1.1)), many(48, math.Log(0.5))...), true, Fail, 16, false, "beyond"},
		{"too few so far", more(5), many(15, math.Log(1.1)), false, Inconclusive, 0, true, "undecided after 15 pairs"},
		{"open", more(5), spread(16, math.Log(1.05), 0.2), false, Inconclusive, 16, true, "undecided after 16 pairs"},
		{"between looks", more(5), append(spread(16, math.Log(1.05), 0.2), many(15, math.Log(9))...), false, Inconclusive, 16, true, "undecided after 31 pairs"},
		{"about the threshold", more(5), spread(64, math.Log(1.05), 0.2), true, Inconclusive, 64, false, "the estimate is about the threshold"},
		{"more pairs would do", more(5), spread(64, math.Log(1.03), 0.2), true, Inconclusive, 64, false, "pairs would decide"},
		{"the last look is the last", more(5), spread(64, math.Log(1.05), 0.2), false, Inconclusive, 64, false, "never decided"},
		{"dropped pairs: one last look", more(5), spread(40, math.Log(1.2), 0.3), true, Fail, 40, false, "beyond"},
		{"dropped pairs: a last look before the first", more(5), many(14, math.Log(1.2)), true, Fail, 14, false, "beyond"},
		{"dropped pairs: too few for any", more(5), many(10, math.Log(1.2)), true, Inconclusive, 0, false, "10 pairs can prove nothing at this level; it takes 11"},
		{"none", more(5), nil, true, Inconclusive, 0, false, "0 pairs can prove nothing"},
		{"limit: below", atMost(100), many(16, 90), false, Pass, 16, false, "within"},
		{"limit: at", atMost(100), many(16, 100), false, Pass, 16, false, "within"},
		{"limit: above", atMost(100), many(16, 101), false, Fail, 16, false, "beyond"},
		{"limit: at least, above", atLeast(100), many(16, 101), false, Pass, 16, false, "within"},
		{"limit: at least, below", atLeast(100), many(16, 0), false, Fail, 16, false, "beyond"},
		{"limit: infinite", atMost(100), many(16, inf), false, Fail, 16, false, "beyond"},
		{"limit: about", atMost(100), spread(64, 100, 50), true, Inconclusive, 64, false, "the estimate is about the threshold"},
	} {
		d := plan.Decide(tc.rule, tc.xs, tc.done)
		if d.Verdict != tc.want || d.Look.Pairs != tc.look || d.Open != tc.open || !strings.Contains(d.Reason, tc.reason) {
			t.Errorf("%s: got %s at %d, open %v, %q; want %s at %d, open %v, %q", tc.name, d.Verdict, d.Look.Pairs, d.Open, d.Reason,
				tc.want, tc.look, tc.open, tc.reason)
		}
		if d.Never != strings.Contains(d.Reason, "never") || d.Needed > 0 && d.Verdict != Inconclusive {
			t.Errorf("%s: never %v, needed %d, %q", tc.name, d.Never, d.Needed, d.Reason)
		}
	}
}

// TestLastLook sees that a last look has the alpha that is left, not more.
func TestLastLook(t *testing.T) {
	p := NewPlan(0.01, 1, 128)
	r := &Rule{Metric: metric(t, "wall_ns_per_op"), MaxRegression: 0.05}
	for _, tc := range []struct{ kept, looks int }{{20, 3}, {32, 2}, {40, 2}, {100, 1}, {128, 0}} {
		d := p.Decide(r, spread(tc.kept, math.Log(1.05), 0.5), true)
		want, at := float64(tc.looks)*0.01/4, tc.kept
		if tc.looks == 0 {
			want = 0.01 / 4
		}
		if tc.kept == 32 { // the look was made with its own share
			want = 0.01 / 4
		}
		if d.Look.Pairs != at || math.Abs(d.Look.Alpha-want) > 1e-12 {
			t.Errorf("%d pairs kept: got a look at %d, level %g, want %d, %g", tc.kept, d.Look.Pairs, d.Look.Alpha, at, want)
		}
	}
}

// TestDecideReplay sees that deciding as pairs come ends like deciding afterwards.
func TestDecideReplay(t *testing.T) {
	p := NewPlan(0.01, 10, 64)
	r := &Rule{Metric: metric(t, "wall_ns_per_op"), MaxRegression: 0.02}
	for i := range 40 {
		xs := spread(64, float64(i-20)/200, 0.1)
		want := p.Decide(r, xs, true)
		var got Decision
		for n := range len(xs) + 1 {
			if got = p.Decide(r, xs[:n], n == len(xs)); !got.Open {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("change %g: got %+v, want %+v", float64(i-20)/200, got, want)
		}
	}
}

func TestNeeded(t *testing.T) {
	inf := math.Inf(1)
	of := func(center, lo, hi float64, n int) stat.Interval {
		return stat.Interval{Center: center, Lo: lo, Hi: hi, N: n, OK: true}
	}
	for _, tc := range []struct {
		bound float64
		i     stat.Interval
		want  int
	}{
		{1, of(0, -2, 2, 100), 400},      // half of the width: four times as many
		{1, of(2, 0, 5, 100), 400},       // the side of the threshold counts
		{1, of(0, -9, 1.05, 100), 120},   // 110.25, two digits, up
		{1, of(1, 0, 2, 100), 0},         // at the threshold
		{1, of(0.95, 0, 2, 100), 0},      // 441 times as many
		{1, of(-inf, -inf, 2, 100), 200}, // infinitely far
		{1, of(0, -1, inf, 100), 0},      // nothing is known about the width
		{1, stat.Interval{N: 100}, 0},    // no interval
	} {
		if got := needed(tc.bound, tc.i); got != tc.want {
			t.Errorf("bound %g, interval %+v: got %d, want %d", tc.bound, tc.i, got, tc.want)
		}
	}
}

// TestSettle sees that nothing passes for want of tests or samples.
func TestSettle(t *testing.T) {
	pass, fail, none := Test{Verdict: Pass}, Test{Verdict: Fail}, Test{Verdict: Inconclusive}
	hang := Finding{Verdict: Violation}
	for _, tc := range []struct {
		name   string
		tests  []Test
		safety []Finding
		reps   int
		want   Verdict
	}{
		{"all pass", []Test{pass, pass}, nil, 1, Pass},
		{"no tests", nil, nil, 1, Inconclusive},
		{"no samples", []Test{pass}, nil, 0, Inconclusive},
		{"nothing", nil, nil, 0, Inconclusive},
		{"one inconclusive", []Test{pass, none}, nil, 1, Inconclusive},
		{"failed beats inconclusive", []Test{none, fail, pass}, nil, 1, Fail},
		{"a hang beats all", []Test{none, fail}, []Finding{hang}, 1, Violation},
		{"a hang without tests", nil, []Finding{hang}, 0, Violation},
		{"an error of a cell that no rule is about", []Test{pass}, []Finding{{Verdict: Inconclusive}}, 1, Inconclusive},
	} {
		r := &Result{Tests: tc.tests, Safety: tc.safety, SafetyReps: tc.reps}
		if r.settle(); r.Verdict != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, r.Verdict, tc.want)
		}
	}
}
