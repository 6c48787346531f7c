package gate

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lockbench/results"
	"lockbench/results/stat"
)

// spoiled runs a whole gate about mcs, in which spoil changes the halves of each
// pair. Figures vary by 1 %.
func spoiled(t testing.TB, rules string, budget int, seed uint64, spoil func(r *rand.Rand, n int, old, new *results.Sample)) *Result {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	var old *results.Sample
	g, _ := live(t, parse(t, rules), []Cell{cellOf("mcs")}, budget, func(Cell) float64 { return 1 }, func(s *results.Sample) bool {
		s.Ops = 1000
		s.Acquire = &results.Latency{Count: 1000, P99: int64(5e6 * math.Exp(0.01*r.NormFloat64()))}
		if s.Side == results.SideOld {
			old = s
		} else if spoil != nil {
			spoil(r, s.Rep, old, s)
		}
		return true
	})
	return g.Result()
}

func stop(s *results.Sample) { s.Ops, s.ThroughputOps, s.Acquire = 0, 0, nil }

// TestTails sees that what an interval of the centre does not see is seen: a
// new side that stops, or is much slower, in some repetitions.
func TestTails(t *testing.T) {
	const (
		p99      = "rules: [{metric: acquire_p99_ns, max-regression: 5%}]"
		p99Limit = "rules: [{metric: acquire_p99_ns, limit: 50ms}]"
	)
	// The first look of 16 pairs is without a bad one, and too noisy to pass.
	noisy := func(n int, s *results.Sample) {
		if n < 16 {
			s.ThroughputOps *= math.Exp(0.2 * float64(n%2*2-1))
			if s.Acquire != nil {
				s.Acquire.P99 = int64(float64(s.Acquire.P99) * math.Exp(0.2*float64(n%2*2-1)))
			}
		}
	}
	every := func(k int, what func(old, new *results.Sample)) func(*rand.Rand, int, *results.Sample, *results.Sample) {
		return func(_ *rand.Rand, n int, old, new *results.Sample) {
			if n%k == k-1 {
				what(old, new)
			}
			noisy(n, new)
		}
	}
	newStops := func(_, new *results.Sample) { stop(new) }
	oldStops := func(old, _ *results.Sample) { stop(old) }
	newSlow := func(_, new *results.Sample) { new.ThroughputOps /= 3 }
	newLacks := func(_, new *results.Sample) { new.Acquire = nil }
	oldLacks := func(old, _ *results.Sample) { old.Acquire = nil }
	bothLack := func(old, new *results.Sample) { old.Acquire, new.Acquire = nil, nil }
	for _, tc := range []struct {
		name, rules  string
		spoil        func(*rand.Rand, int, *results.Sample, *results.Sample)
		whole, test  Verdict
		reason, idle string
	}{
		{"nothing", fivePercent, nil, Pass, Pass, "within", ""},
		{"the new side stops in one of eight", fivePercent, every(8, newStops), Inconclusive, Inconclusive, "of 128 pairs are more than twice as bad as allowed, and only 0 are as good", "no operation in 16 of 128"},
		{"the old side stops in one of eight", fivePercent, every(8, oldStops), Pass, Pass, "within", ""},
		{"both stop at once", fivePercent, every(8, func(old, new *results.Sample) { stop(old); stop(new) }), Pass, Pass, "within", ""},
		{"the new side is three times slower in one of eight", fivePercent, every(8, newSlow), Inconclusive, Inconclusive, "16 of 128 pairs are more than twice as bad", ""},
		{"both stop, in turn", fivePercent, func(_ *rand.Rand, n int, old, new *results.Sample) {
			if n%16 == 4 {
				stop(old)
			} else if n%16 == 12 {
				stop(new)
			}
			noisy(n, new)
		}, Pass, Pass, "within", ""},
		{"the new side lacks the figure in one of eight", p99, every(8, newLacks), Inconclusive, Inconclusive, "16 of 128 pairs lack the figure on the new side alone, and only 0 are as good; 16 pairs lack the metric on the new side", ""},
		{"the new side lacks it in one of three", p99, every(3, newLacks), Inconclusive, Inconclusive, "inside the interval; 42 pairs lack the metric on the new side", ""},
		{"the old side lacks it in one of three", p99, every(3, oldLacks), Inconclusive, Inconclusive, "inside the interval; 42 pairs lack the metric on the old side", ""},
		{"neither has it in one of three", p99, every(3, bothLack), Pass, Pass, "within the threshold", ""},
		{"limit: the new side lacks it in one of three", p99Limit, every(3, newLacks), Inconclusive, Inconclusive, "of 128 pairs lack the figure on the new side alone", ""},
		{"limit: it lacks it in all but a few", p99Limit, func(_ *rand.Rand, n int, _, new *results.Sample) {
			if n%9 < 4 {
				new.Acquire = nil
			}
		}, Inconclusive, Inconclusive, "pairs lack the metric on the new side", ""},
		{"limit: the old side does not matter", p99Limit, every(3, oldLacks), Pass, Pass, "within", ""},
		{"limit: neither has it in half", p99Limit, every(2, bothLack), Inconclusive, Inconclusive, "no samples: 64 of 128 pairs do not have acquire_p99_ns; 64 pairs lack", ""},
	} {
		res := spoiled(t, tc.rules, 128, 1, tc.spoil)
		got, found := res.Tests[0], ""
		for _, f := range res.Safety {
			found += f.String()
		}
		if res.Verdict != tc.whole || got.Verdict != tc.test || !strings.Contains(got.Reason, tc.reason) ||
			(tc.idle == "") != (found == "") || !strings.Contains(found, tc.idle) {
			t.Errorf("%s: got %s, test %s, %q, findings %q; want %s, %s, %q, %q", tc.name, res.Verdict, got.Verdict, got.Reason, found,
				tc.whole, tc.test, tc.reason, tc.idle)
		}
		if got.Verdict == Inconclusive && strings.Contains(got.Reason, "would decide") {
			t.Errorf("%s: %q projects from a tail", tc.name, got.Reason)
		}
	}
}

// TestIdleFails sees that a failure stays one beside the finding.
func TestIdleFails(t *testing.T) {
	res := spoiled(t, fivePercent, 128, 1, func(_ *rand.Rand, n int, _, new *results.Sample) { stop(new) })
	if res.Verdict != Fail || res.Tests[0].Verdict != Fail || len(res.Safety) != 1 || res.Tests[0].Infinite != 16 {
		t.Errorf("got %s, %+v, findings %v; want fail, 16 infinite, one finding", res.Verdict, res.Tests[0], res.Safety)
	}
}

// TestVetoRare sees that passes are vetoed by chance no more often than said:
// halves stop in one of eight repetitions, either side.
func TestVetoRare(t *testing.T) {
	const sessions, seed = 2000, 18
	r := rand.New(rand.NewPCG(seed, 1))
	rule := &Rule{Metric: metric(t, "throughput_ops_s"), MaxRegression: 0.05}
	vetoes := 0
	for range sessions {
		xs := make([]float64, 128)
		for i := range xs {
			if xs[i] = 0.01 * r.NormFloat64(); r.Float64() < 0.2 {
				xs[i] = math.Inf(1 - 2*r.IntN(2))
			}
		}
		if rule.veto(xs, nil, vetoAlpha) != "" {
			vetoes++
		}
	}
	if lo, hi := stat.ClopperPearson(vetoes, sessions, 0.99); lo > vetoAlpha || hi < vetoAlpha/5 {
		t.Errorf("%d of %d passes vetoed by chance, %.3f to %.3f; want at most %g, and not never", vetoes, sessions, lo, hi, vetoAlpha)
	}
}

func TestAtLeast(t *testing.T) {
	for _, tc := range []struct {
		k, n int
		p    float64
		want float64
	}{{0, 0, 0.5, 1}, {0, 5, 0.5, 1}, {5, 5, 0.5, 1.0 / 32}, {4, 5, 0.5, 6.0 / 32}, {1, 3, 0.25, 1 - 27.0/64}, {4096, 4096, 0.5, 0}} {
		if got := atLeast(tc.k, tc.n, tc.p); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%d or more of %d at %g: got %g, want %g", tc.k, tc.n, tc.p, got, tc.want)
		}
	}
}

// TestUnknown holds the bounds against those of any values that the unknown
// ones may have.
func TestUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 1))
	rule := &Rule{Metric: metric(t, "wall_ns_per_op"), MaxRegression: 0.05}
	for range 200 {
		n := 16 + r.IntN(20)
		xs, filledIn := make([]float64, n), make([]float64, n)
		for i := range xs {
			xs[i] = r.NormFloat64()
			if filledIn[i] = xs[i]; r.Float64() < 0.1 {
				xs[i], filledIn[i] = unknown, 10*r.NormFloat64()
			}
		}
		got, _ := rule.interval(xs, 0.01)
		want := stat.SignedRank(filledIn, 0.01)
		if got.Lo > want.Lo || got.Hi < want.Hi || got.N != n || math.IsNaN(got.Center) {
			t.Fatalf("pairs: got %+v, which does not hold %+v", got, want)
		}
		half := n / 2
		two, wantTwo := shift(xs[:half], xs[half:], 0.05), stat.MannWhitney(filledIn[:half], filledIn[half:], 0.05)
		if two.Lo > wantTwo.Lo || two.Hi < wantTwo.Hi || math.IsNaN(two.Center) {
			t.Fatalf("two files: got %+v, which does not hold %+v", two, wantTwo)
		}
	}
}

// TestTailPower counts the passes of a new side that stops in some repetitions,
// which the interval alone lets pass as a rule.
func TestTailPower(t *testing.T) {
	const sessions, seed = 400, 23
	rule := &Rule{Metric: metric(t, "wall_ns_per_op"), MaxRegression: 0.05}
	for _, tc := range []struct{ share, most, least float64 }{{0, 1, 0.99}, {0.1, 0.4, 0}, {0.15, 0.15, 0}, {0.2, 0.08, 0}} {
		for _, tests := range []int{1, 10} {
			p, r := NewPlan(0.01, tests, 128), rand.New(rand.NewPCG(seed, uint64(tests)))
			passes := 0
			for range sessions {
				xs := make([]float64, p.Budget)
				for i := range xs {
					if xs[i] = 0.014 * r.NormFloat64(); r.Float64() < tc.share {
						xs[i] = math.Inf(1)
					}
				}
				if p.Decide(rule, xs, true).Verdict == Pass {
					passes++
				}
			}
			t.Logf("stops in %g %%, %d tests: %d of %d pass", 100*tc.share, tests, passes, sessions)
			if got := float64(passes) / sessions; got > tc.most || got < tc.least {
				t.Errorf("stops in %g %%, %d tests: %d of %d pass, want %g to %g of them", 100*tc.share, tests, passes, sessions, tc.least, tc.most)
			}
		}
	}
}

// TestReplayOdd sees that a recorded session with figures missing, repetitions
// that stopped and pairs dropped has the verdict that it had while it ran.
func TestReplayOdd(t *testing.T) {
	const rules = "alpha: 0.05\nrules: [{metric: acquire_p99_ns, max-regression: 3%}, {name: l, metric: acquire_p99_ns, limit: 5060us}, {metric: throughput_ops_s, max-regression: 2%}]"
	verdicts := map[Verdict]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 24))
		missing, stops, dropped, budget := 0.5*r.Float64(), 0.2*r.Float64(), 0.4*r.Float64(), 16+r.IntN(80)
		var samples []*results.Sample
		live := spoiled(t, rules, budget, seed, func(r *rand.Rand, _ int, old, new *results.Sample) {
			for _, s := range []*results.Sample{old, new} {
				if r.Float64() < missing {
					s.Acquire = nil
				}
			}
			if r.Float64() < stops {
				stop(new)
			}
			if slow := 200.0; r.Float64() < dropped {
				new.CoherenceBeforeNS, new.CoherenceAfterNS = &slow, &slow
			}
			samples = append(samples, old, new)
		})
		replayed, err := Replay(parse(t, rules), recorded(t, budget, samples, true))
		if err != nil {
			t.Fatal(err)
		}
		replayed.Old, replayed.New, replayed.Notes = Side{}, Side{}, nil
		if a, b := asJSON(t, live), asJSON(t, replayed); a != b {
			t.Fatalf("seed %d: live\n%s\nreplayed\n%s", seed, a, b)
		}
		for _, x := range live.Tests {
			verdicts[x.Verdict]++
		}
	}
	if verdicts[Pass] == 0 || verdicts[Inconclusive] == 0 {
		t.Errorf("verdicts %v: the sessions are all alike", verdicts)
	}
}
