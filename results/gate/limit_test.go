package gate

import (
	"math"
	"math/rand/v2"
	"testing"

	"lockbench/results/stat"
)

// TestLimitNeighbours sees that a median just beyond its limit does not pass
// because repetitions resemble their neighbours: with the bounds of independent
// ones 36 % of such sessions do at AR(0.9).
func TestLimitNeighbours(t *testing.T) {
	const sessions, seed, alpha = 1000, 20, 0.01
	p := NewPlan(alpha, 1, 128)
	rule := &Rule{Metric: metric(t, "acquire_p99_ns"), Limit: 5000}
	for _, tc := range []struct{ rho, most, blind float64 }{{0, 0.01, 0}, {0.5, 0.01, 0}, {0.9, 0.04, 0.2}, {0.97, 0.06, 0.2}} {
		r := rand.New(rand.NewPCG(seed, 1))
		passes, naive := 0, 0
		for range sessions {
			xs, state := make([]float64, 128), r.NormFloat64()
			for i := range xs {
				state = tc.rho*state + math.Sqrt(1-tc.rho*tc.rho)*r.NormFloat64()
				xs[i] = 5001 * math.Exp(0.1*state)
			}
			if p.Decide(rule, xs, true).Verdict == Pass {
				passes++
			}
			for _, l := range p.Looks {
				if i := stat.SignMedian(xs[:l.Pairs], l.Alpha); i.Hi <= rule.Limit {
					naive++
					break
				}
			}
		}
		t.Logf("AR(%g): false passes %d of %d, as if independent %d", tc.rho, passes, sessions, naive)
		if lo, _ := stat.ClopperPearson(passes, sessions, 0.95); lo > tc.most {
			t.Errorf("AR(%g): %d of %d false passes, want at most %g of them", tc.rho, passes, sessions, tc.most)
		}
		if float64(naive) < tc.blind*sessions {
			t.Errorf("AR(%g): %d of %d false passes without the correction; the simulation is blind", tc.rho, naive, sessions)
		}
	}
}

// TestLimitPower sees that independent repetitions still decide.
func TestLimitPower(t *testing.T) {
	const sessions = 200
	r := rand.New(rand.NewPCG(21, 1))
	p := NewPlan(0.01, 10, 128)
	rule := &Rule{Metric: metric(t, "acquire_p99_ns"), Limit: 5000}
	passes := 0
	for range sessions {
		xs := make([]float64, 128)
		for i := range xs {
			xs[i] = 4500 * math.Exp(0.1*r.NormFloat64())
		}
		if p.Decide(rule, xs, true).Verdict == Pass {
			passes++
		}
	}
	if passes < sessions*95/100 {
		t.Errorf("%d of %d sessions 10 %% below the limit pass, want 95 %% of them", passes, sessions)
	}
}

func TestEffective(t *testing.T) {
	up := make([]float64, 64)
	for i := range up {
		up[i] = float64(i)
	}
	halves := make([]float64, 64)
	for i := range halves {
		halves[i] = float64(i / 32)
	}
	for _, tc := range []struct {
		name   string
		xs     []float64
		lo, hi int
	}{
		{"equal", spread(64, 1, 0), 64, 64},
		{"alternating", spread(64, 1, 0.5), 64, 64},
		{"a trend", up, 1, 2},
		{"two states", halves, 1, 2},
		{"infinite ones are ranks", append(spread(60, 1, 0.5), math.Inf(1), 0, math.Inf(1), 0), 64, 64},
		{"four", up[:4], 4, 4},
	} {
		if got := effective(tc.xs, len(tc.xs)); got < tc.lo || got > tc.hi {
			t.Errorf("%s: %d values count as %d, want %d to %d", tc.name, len(tc.xs), got, tc.lo, tc.hi)
		}
	}
	rule := &Rule{Metric: metric(t, "acquire_p99_ns"), Limit: 1000}
	if d := NewPlan(0.01, 1, 64).Decide(rule, up, true); d.Verdict != Inconclusive || d.Needed <= 64 {
		t.Errorf("a trend below the limit: got %+v, want inconclusive, and more pairs", d)
	}
}

// TestMedianInterval sees that without likeness the bounds are those of the sign test.
func TestMedianInterval(t *testing.T) {
	for n := 8; n < 70; n++ {
		xs := spread(n, 100, 50)
		got, eff := medianInterval(xs, 0.01)
		if want := stat.SignMedian(xs, 0.01); got != want || eff != n {
			t.Errorf("%d values: got %+v of %d, want %+v", n, got, eff, want)
		}
	}
}
