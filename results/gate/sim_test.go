package gate

import (
	"math"
	"math/rand/v2"
	"testing"

	"lockbench/results/stat"
)

// The noise of one half of a pair, in order of time: of log figures, with a
// standard deviation of about 1.
var noises = map[string]func(*rand.Rand) func() float64{
	"normal": func(r *rand.Rand) func() float64 { return r.NormFloat64 },
	// Student's t with three degrees of freedom: heavy tails.
	"t3": func(r *rand.Rand) func() float64 {
		return func() float64 {
			sum := 0.0
			for range 3 {
				x := r.NormFloat64()
				sum += x * x
			}
			return r.NormFloat64() / math.Sqrt(sum/3) / math.Sqrt(3)
		}
	},
	// Each half remembers half of the one before.
	"autocorrelated": func(r *rand.Rand) func() float64 {
		state := r.NormFloat64()
		return func() float64 {
			state = 0.5*state + math.Sqrt(0.75)*r.NormFloat64()
			return state
		}
	},
}

// session is the log ratios of one cell: the new side has the change, the order
// within a pair is random.
func session(r *rand.Rand, noise func() float64, pairs int, change, sigma float64) []float64 {
	xs := make([]float64, pairs)
	for i := range xs {
		first, second := sigma/math.Sqrt2*noise(), sigma/math.Sqrt2*noise()
		if r.IntN(2) == 0 {
			first, second = second, first
		}
		xs[i] = change + second - first
	}
	return xs
}

const (
	simGates = 400
	simTests = 10
)

// simulate counts the gates in which some test comes to the verdict.
func simulate(gates int, seed uint64, noise string, plan Plan, rule *Rule, change, sigma float64, decide func(Plan, *Rule, []float64) Verdict, verdict Verdict) int {
	r := rand.New(rand.NewPCG(seed, 4))
	hits := 0
	for range gates {
		hit := false
		for range simTests {
			xs := session(r, noises[noise](r), plan.Budget, change, sigma)
			hit = hit || decide(plan, rule, xs) == verdict
		}
		if hit {
			hits++
		}
	}
	return hits
}

func whole(p Plan, r *Rule, xs []float64) Verdict { return p.Decide(r, xs, true).Verdict }

// TestFalseAlarms simulates whole gates of ten tests. The threshold is as good
// as zero, so that it cannot hide alarms; alpha is large, so that 400 gates can
// show a fault.
func TestFalseAlarms(t *testing.T) {
	const alpha, seed = 0.05, 11
	plan := NewPlan(alpha, simTests, 64)
	rule := &Rule{Metric: metric(t, "wall_ns_per_op"), MaxRegression: 1e-4}
	for noise := range noises {
		// No change at all: a fail is false.
		k := simulate(simGates, seed, noise, plan, rule, 0, 0.03, whole, Fail)
		lo, hi := stat.ClopperPearson(k, simGates, 0.95)
		t.Logf("%s: false alarms in %d of %d gates, %.3f to %.3f, seed %d", noise, k, simGates, lo, hi, seed)
		if lo > alpha {
			t.Errorf("%s: false alarms in %d of %d gates (at least %.3f), want at most %g", noise, k, simGates, lo, alpha)
		}
		// A change just beyond the threshold: a pass is false.
		rule := &Rule{Metric: rule.Metric, MaxRegression: 0.02}
		k = simulate(simGates, seed, noise, plan, rule, math.Log(1.0201), 0.03, whole, Pass)
		if lo, _ = stat.ClopperPearson(k, simGates, 0.95); lo > alpha {
			t.Errorf("%s: false passes in %d of %d gates (at least %.3f), want at most %g", noise, k, simGates, lo, alpha)
		}
	}
}

// TestNaiveAlarms sees that the simulation could show too many alarms: a fixed
// interval after every pair raises them.
func TestNaiveAlarms(t *testing.T) {
	const alpha, seed = 0.05, 12
	plan := NewPlan(alpha, simTests, 64)
	rule := &Rule{Metric: metric(t, "wall_ns_per_op"), MaxRegression: 1e-4}
	naive := func(p Plan, r *Rule, xs []float64) Verdict {
		for n := firstLook; n <= len(xs); n++ {
			if v, _ := r.judge(stat.SignedRank(xs[:n], alpha/simTests)); v == Fail {
				return v
			}
		}
		return Inconclusive
	}
	const gates = 100
	k := simulate(gates, seed, "normal", plan, rule, 0, 0.03, naive, Fail)
	if lo, _ := stat.ClopperPearson(k, gates, 0.95); lo <= alpha {
		t.Errorf("looking after every pair: alarms in %d of %d gates; the simulation is blind", k, gates)
	}
}

// TestPower plants 5 % at a threshold of 2 % with a standard deviation of 3 % a
// pair.
func TestPower(t *testing.T) {
	const seed, sessions = 13, 300
	plan := NewPlan(0.01, simTests, 128)
	for name, tc := range map[string]struct {
		rule   *Rule
		change float64
	}{
		"lower is better":  {&Rule{Metric: metric(t, "wall_ns_per_op"), MaxRegression: 0.02}, math.Log(1.05)},
		"higher is better": {&Rule{Metric: metric(t, "throughput_ops_s"), MaxRegression: 0.02}, math.Log(0.95)},
	} {
		for noise := range noises {
			r := rand.New(rand.NewPCG(seed, 5))
			found, cleared := 0, 0
			for range sessions {
				if whole(plan, tc.rule, session(r, noises[noise](r), plan.Budget, tc.change, 0.03)) == Fail {
					found++
				}
				if whole(plan, tc.rule, session(r, noises[noise](r), plan.Budget, 0, 0.03)) == Pass {
					cleared++
				}
			}
			t.Logf("%s, %s: found %d, cleared %d of %d, seed %d", name, noise, found, cleared, sessions, seed)
			if lo, _ := stat.ClopperPearson(found, sessions, 0.95); lo < 0.95 {
				t.Errorf("%s, %s: found %d of %d planted regressions of 5 %%, want at least 95 %%", name, noise, found, sessions)
			}
			if lo, _ := stat.ClopperPearson(cleared, sessions, 0.95); lo < 0.9 {
				t.Errorf("%s, %s: passed %d of %d unchanged cells, want at least 90 %%", name, noise, cleared, sessions)
			}
		}
	}
}
