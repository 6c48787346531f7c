package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"
)

// Critical values of U, two-sided at 5 % and 1 % (Mann and Whitney 1947, as
// tabled by R. Milton, Journal of the American Statistical Association 59, 1964,
// p. 925-934; -1 = none).
func TestMannWhitneyCriticalValues(t *testing.T) {
	for _, x := range []struct{ n, m, at05, at01 int }{
		{3, 4, -1, -1}, {3, 5, 0, -1}, {4, 4, 0, -1}, {4, 5, 1, -1}, {5, 5, 2, 0}, {5, 6, 3, 1}, {6, 6, 5, 2},
		{7, 7, 8, 4}, {8, 8, 13, 7}, {9, 9, 17, 11}, {10, 10, 23, 16}, {5, 10, 8, 4}, {10, 15, 39, 29},
		{12, 12, 37, 27}, {15, 15, 64, 51}, {20, 20, 127, 105},
	} {
		for _, c := range []struct {
			alpha float64
			want  int
		}{{0.05, x.at05}, {0.01, x.at01}} {
			for _, cdf := range []func(int) float64{mannWhitneyCDF(x.n, x.m), mannWhitneyCDF(x.m, x.n)} {
				if got := criticalRank(x.n*x.m, c.alpha/2, cdf) - 1; got != c.want {
					t.Errorf("%d and %d at %g: got %d, want %d", x.n, x.m, c.alpha, got, c.want)
				}
			}
		}
	}
}

// bruteP counts, over all ways to deal out the values without ties, the
// pairs in which the dealt value is above; in the values found, equal ones count
// for whichever side makes the probability larger.
func bruteP(old, new []float64) float64 {
	n, total := len(old), len(old)+len(new)
	above, below := 0, 0 // pairs of which the old value is at least, at most the new one
	for _, a := range old {
		for _, b := range new {
			if a >= b {
				above++
			}
			if a <= b {
				below++
			}
		}
	}
	seen, least, all := min(above, below), 0.0, 0.0
	for take := range uint(1) << total {
		if bits.OnesCount(take) != n {
			continue
		}
		u := 0
		for i := range total {
			if take>>i&1 == 1 {
				u += bits.OnesCount(^take & (1<<i - 1))
			}
		}
		all++
		if u <= seen {
			least++
		}
	}
	return min(1, 2*least/all)
}

// odd draws values with ties, infinities and zeros of both signs.
func odd(r *rand.Rand, n int, shift float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		switch out[i] = math.Round(3*r.NormFloat64() + shift); r.IntN(12) {
		case 0:
			out[i] = inf
		case 1:
			out[i] = -inf
		case 2:
			out[i] = math.Copysign(0, -1)
		case 3:
			out[i] += 0.5 * r.Float64()
		}
	}
	return out
}

func TestMannWhitneyPAllWays(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	small := 0
	for range 400 {
		old, new := odd(r, 1+r.IntN(7), 0), odd(r, 1+r.IntN(7), 4)
		got, want := MannWhitneyP(old, new), bruteP(old, new)
		if !near(got, want, 1e-12) {
			t.Fatalf("%v, %v: got %g, want %g", old, new, got, want)
		}
		if back := MannWhitneyP(new, old); back != got {
			t.Fatalf("%v, %v: %g, exchanged %g", old, new, got, back)
		}
		if want < 0.05 {
			small++
		}
	}
	if small < 20 {
		t.Errorf("%d below 0.05: the cases are too tame", small)
	}
}

// TestMannWhitneyAnyTies: p is that of the worst way to break the ties, which
// no other way exceeds.
func TestMannWhitneyAnyTies(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 300 {
		old, new := odd(r, 2+r.IntN(5), 0), odd(r, 2+r.IntN(5), 3)
		// Ranks with random numbers to break ties: values all different.
		broken := func(v, others []float64) []float64 {
			out := make([]float64, len(v))
			for i, x := range v {
				for _, y := range slices.Concat(v, others) {
					if y < x {
						out[i]++
					}
				}
				out[i] += r.Float64() / 2
			}
			return out
		}
		got := MannWhitneyP(old, new)
		for range 20 {
			if p := MannWhitneyP(broken(old, new), broken(new, old)); p > got {
				t.Fatalf("%v, %v: got %g, want no less than %g, with ties broken", old, new, got, p)
			}
		}
	}
}

// TestMannWhitneyOracle compares with the package that benchstat uses, without
// ties, on both sides of the border between exact and approximate; its own is at 50.
func TestMannWhitneyOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, size := range [][2]int{{5, 5}, {10, 12}, {30, 30}, {48, 48}, {80, 90}, {300, 200}} {
		for _, shift := range []float64{0, 0.2, 0.5} {
			old, new := make([]float64, size[0]), make([]float64, size[1])
			for i := range old {
				old[i] = r.NormFloat64()
			}
			for i := range new {
				new[i] = r.NormFloat64() + shift
			}
			want, err := stats.MannWhitneyUTest(old, new, stats.LocationDiffers)
			if err != nil {
				t.Fatal(err)
			}
			if got := MannWhitneyP(old, new); !near(got, want.P, 1e-8) {
				t.Errorf("%v shifted by %g: got %g, want %g", size, shift, got, want.P)
			}
		}
	}
}

// TestMannWhitneyNormal: how far the normal distribution is from the exact one
// where it takes over, as maxExactPairs says.
func TestMannWhitneyNormal(t *testing.T) {
	for _, x := range []struct {
		n, m   int
		middle float64 // how much the true probability may be larger, anywhere
		tail   float64 // how much smaller at 0.005
	}{{77, 77, 0.0035, 0.03}, {10, 600, 0.018, 0.14}, {4, 4000, 0.046, 0.33}, {2, 5000, 0.14, 0.65}} {
		exact, normal := mannWhitneyTable(x.n, x.m), mannWhitneyCDF(x.n, x.m)
		worst := 0.0
		for u, p := range exact {
			over := p/normal(u) - 1
			worst = max(worst, over)
			if p <= 0.025 && over > 0 {
				t.Fatalf("%d against %d, P(U <= %d): got %g, less than the true %g", x.n, x.m, u, normal(u), p)
			}
			if p > 0.0049 && p <= 0.005 && over < -x.tail {
				t.Fatalf("%d against %d, P(U <= %d): got %g, true %g: want at most %g less", x.n, x.m, u, normal(u), p, x.tail)
			}
		}
		if worst > x.middle || worst < 0.8*x.middle {
			t.Errorf("%d against %d: the true probability is up to %g larger, want near %g", x.n, x.m, worst, x.middle)
		}
	}
}

// TestMannWhitneyTwoValued: samples of two values, some equal to the larger.
// No p is below the hypergeometric one, given how many are large, and with as few
// of them the interval is [0, 0].
func TestMannWhitneyTwoValued(t *testing.T) {
	logChoose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	shown := 0
	for _, x := range [][3]int{{40, 40, 11}, {50, 50, 20}, {20, 200, 6}, {20, 200, 110}, {10, 1000, 10}, {10, 1000, 30}, {10, 1000, 990}, {300, 20, 160}} {
		n, m, large := x[0], x[1], x[2]
		chance := func(k int) float64 {
			if k > n || large-k > m {
				return 0
			}
			return math.Exp(logChoose(n, k) + logChoose(m, large-k) - logChoose(n+m, large))
		}
		for k := max(0, large-m); k <= min(n, large); k++ {
			lower, upper := 0.0, 0.0
			for i := 0; i <= large; i++ {
				if i <= k {
					lower += chance(i)
				}
				if i >= k {
					upper += chance(i)
				}
			}
			old, new := make([]float64, n), make([]float64, m)
			for i := range k {
				old[i] = 1
			}
			for i := range large - k {
				new[i] = 1
			}
			got, want := MannWhitneyP(old, new), min(1, 2*min(lower, upper))
			if got < want*(1-1e-9) {
				t.Errorf("%d of %d and %d of %d large: got %g, exact %g: want no less", k, n, large-k, m, got, want)
			}
			i := MannWhitney(old, new, 0.05)
			if up, down := i.Lo > 0, i.Hi < 0; (up || down) != (got <= 0.05) || up && k*m > n*(large-k) || down && k*m < n*(large-k) {
				t.Errorf("%d of %d and %d of %d large: got %+v beside p %g", k, n, large-k, m, i, got)
			}
			if got <= 0.05 {
				shown++
			}
		}
	}
	if shown < 10 {
		t.Errorf("%d shown: the cases are too tame", shown)
	}
	if got := MannWhitneyP(make([]float64, 300), make([]float64, 300)); got != 1 {
		t.Errorf("equal values: got %g, want 1", got)
	}
}

func TestMannWhitneyEdges(t *testing.T) {
	for _, x := range []struct {
		old, new []float64
		p        float64
		center   float64
		ok       bool
	}{
		{nil, []float64{1}, 1, 0, false},
		{[]float64{1}, nil, 1, 0, false},
		{[]float64{1}, []float64{5}, 1, 4, false},
		{[]float64{1, 2, 3, 4}, []float64{11, 12, 13, 14}, 2.0 / 70, 10, true},
		{[]float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, 1, 0, true},
		{[]float64{-inf, -inf, -inf, -inf}, []float64{1, 2, 3, 4}, 2.0 / 70, inf, true},
		{[]float64{inf, inf, inf, inf}, []float64{inf, inf, inf, inf}, 1, 0, true},
	} {
		if got := MannWhitneyP(x.old, x.new); !near(got, x.p, 1e-12) {
			t.Errorf("%v, %v: got p %g, want %g", x.old, x.new, got, x.p)
		}
		got := MannWhitney(x.old, x.new, 0.05)
		if got.Center != x.center || got.OK != x.ok || got.N != len(x.old)+len(x.new) {
			t.Errorf("%v, %v: got %+v, want centre %g, OK %v", x.old, x.new, got, x.center, x.ok)
		}
	}
	for _, x := range []struct {
		n, m int
		want float64
	}{{5, 5, 2.0 / 252}, {1, 1, 1}, {3, 2, 0.2}, {0, 5, 1}, {10, 10, 2.0 / 184756}} {
		if got := MinMannWhitneyP(x.n, x.m); !near(got, x.want, 1e-12) {
			t.Errorf("%d against %d: got smallest p %g, want %g", x.n, x.m, got, x.want)
		}
	}
	if MinMannWhitneyP(10, 4000) != MinMannWhitneyP(4000, 10) {
		t.Error("the smallest p depends on the order")
	}
}

// TestMannWhitneyDuality: the test rejects a shift of 0 exactly when the
// interval leaves it out, with ties, zeros, infinities and unequal sizes, below and
// beyond the exact limit.
func TestMannWhitneyDuality(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for _, x := range []struct {
		name   string
		trials int
		size   func() (n, m int)
		shift  float64
	}{
		{"few", 2000, func() (int, int) { return 2 + r.IntN(11), 2 + r.IntN(11) }, 3},
		{"unequal", 200, func() (int, int) { return 2 + r.IntN(4), 50 + r.IntN(200) }, 4},
		{"many", 100, func() (int, int) { return 77 + r.IntN(20), 77 + r.IntN(20) }, 1.2},
		{"many, unequal", 50, func() (int, int) { return 10, 1000 }, 2.5},
	} {
		looks, rejected := 0, 0
		for range x.trials {
			n, m := x.size()
			old, new := odd(r, n, 0), odd(r, m, x.shift*r.Float64())
			if r.IntN(2) == 0 {
				old, new = new, old
			}
			p := MannWhitneyP(old, new)
			for _, alpha := range []float64{0.05, 0.001, 0.3, p, p * (1 - 1e-9)} {
				if alpha >= 1 {
					continue
				}
				got, back := MannWhitney(old, new, alpha), MannWhitney(new, old, alpha)
				if out := got.OK && (got.Lo > 0 || got.Hi < 0); out != (p <= alpha) {
					t.Fatalf("%s: %v, %v: interval %+v at %g, p %g", x.name, old, new, got, alpha, p)
				}
				if got.Lo != -back.Hi || got.Hi != -back.Lo || got.Center != -back.Center && math.Abs(got.Center+back.Center) > 1e-12 {
					t.Fatalf("%s: %v, %v: got %+v, exchanged %+v: want the mirror image", x.name, old, new, got, back)
				}
				if got.Lo > got.Center || got.Center > got.Hi {
					t.Fatalf("%s: %v, %v: got %+v: want the centre between the bounds", x.name, old, new, got)
				}
				if looks++; p <= alpha {
					rejected++
				}
			}
		}
		if rejected < looks/20 || rejected > looks*19/20 {
			t.Errorf("%s: %d of %d rejected: the test has not looked at both cases", x.name, rejected, looks)
		}
	}
}

// TestMannWhitneyCoverage simulates intervals of a shift, with five standard
// deviations of leeway.
func TestMannWhitneyCoverage(t *testing.T) {
	const trials, alpha = 4000, 0.05
	sd := math.Sqrt(trials * alpha * (1 - alpha))
	for _, x := range []struct {
		name string
		n, m int
		draw func(*rand.Rand) float64
	}{
		{"exponential", 7, 9, (*rand.Rand).ExpFloat64},
		{"whole numbers", 10, 10, func(r *rand.Rand) float64 { return math.Round(2 * r.NormFloat64()) }},
		{"large", 60, 50, (*rand.Rand).ExpFloat64},
	} {
		r := rand.New(rand.NewPCG(15, uint64(x.n)))
		misses := 0
		for range trials {
			old, new := make([]float64, x.n), make([]float64, x.m)
			for i := range old {
				old[i] = x.draw(r)
			}
			for i := range new {
				new[i] = x.draw(r) + 10
			}
			if i := MannWhitney(old, new, alpha); i.Lo > 10 || i.Hi < 10 {
				misses++
			}
		}
		if most := trials*alpha + 5*sd; float64(misses) > most {
			t.Errorf("%s: %d of %d intervals miss, want at most %.0f", x.name, misses, trials, most)
		}
		if x.name != "whole numbers" && float64(misses) < trials*alpha*0.6-5*sd {
			t.Errorf("%s: %d of %d intervals miss: they are too wide", x.name, misses, trials)
		}
	}
}
