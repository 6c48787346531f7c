package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
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

// bruteP deals out the values in all ways: the two-sided probability from the
// sums of midranks.
func bruteP(old, new []float64) float64 {
	ranks, _ := midranks(old, new)
	sum := func(take uint) (s int) {
		for i, r := range ranks {
			if take>>i&1 == 1 {
				s += r
			}
		}
		return s
	}
	seen := sum(1<<len(old) - 1)
	lower, upper, all := 0.0, 0.0, 0.0
	for take := range uint(1) << len(ranks) {
		if bits.OnesCount(take) != len(old) {
			continue
		}
		s := sum(take)
		all++
		if s <= seen {
			lower++
		}
		if s >= seen {
			upper++
		}
	}
	return min(1, 2*min(lower, upper)/all)
}

func TestMannWhitneyPAllWays(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	ties, small := 0, 0
	for range 400 {
		old, new := make([]float64, 1+r.IntN(7)), make([]float64, 1+r.IntN(7))
		round := r.IntN(2) == 0
		for i := range old {
			old[i] = 3 * r.NormFloat64()
		}
		for i := range new {
			new[i] = 3*r.NormFloat64() + 3
		}
		if round {
			for _, v := range [][]float64{old, new} {
				for i := range v {
					v[i] = math.Round(v[i])
					if v[i] > 5 {
						v[i] = inf
					}
				}
			}
		}
		if _, tied := midranks(old, new); tied {
			ties++
		}
		got, want := MannWhitneyP(old, new), bruteP(old, new)
		if !near(got, want, 1e-12) {
			t.Fatalf("%v, %v: got %g, want %g", old, new, got, want)
		}
		if back := MannWhitneyP(new, old); !near(back, got, 1e-12) {
			t.Fatalf("%v, %v: %g, exchanged %g", old, new, got, back)
		}
		if want < 0.05 {
			small++
		}
	}
	if ties < 50 || small < 20 {
		t.Errorf("%d with ties, %d below 0.05: the cases are too tame", ties, small)
	}
}

// TestMannWhitneyOracle compares with the package that benchstat uses, without
// ties, across the border between exact and approximate.
func TestMannWhitneyOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, size := range [][2]int{{5, 5}, {10, 12}, {30, 30}, {48, 48}, {60, 70}, {300, 200}} {
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

func TestMannWhitneyNormalTail(t *testing.T) {
	const n, m = 45, 45
	exact := mannWhitneyCDF(n, m)
	mean, sd := n*m/2.0, math.Sqrt(n*m*(n+m+1)/12.0)
	for _, tail := range []float64{0.025, 1e-3, 1e-5, 1e-7} {
		u := criticalRank(n*m, tail, exact)
		p, q := exact(u), normalCDF((float64(u)+0.5-mean)/sd)
		if q < p*0.98 || q > p*4 {
			t.Errorf("tail %g: %g by the normal distribution, %g exactly: want no less, and not much more", tail, q, p)
		}
	}
}

func TestMannWhitneyTiesLarge(t *testing.T) {
	// Beyond the exact limit, with ties: near the library's approximation.
	r := rand.New(rand.NewPCG(13, 14))
	old, new := make([]float64, 200), make([]float64, 150)
	for i := range old {
		old[i] = math.Round(3 * r.NormFloat64())
	}
	for i := range new {
		new[i] = math.Round(3*r.NormFloat64() + 1)
	}
	want, err := stats.MannWhitneyUTest(old, new, stats.LocationDiffers)
	if err != nil {
		t.Fatal(err)
	}
	if got := MannWhitneyP(old, new); !near(got, want.P, 1e-6) || got > 0.2 {
		t.Errorf("got %g, want %g", got, want.P)
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

// TestMannWhitneyDuality: without ties, the test rejects a shift of 0 exactly when the
// interval leaves it out; the bounds are members of the sorted differences.
func TestMannWhitneyDuality(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	rejected := 0
	for range 2000 {
		old, new := make([]float64, 4+r.IntN(9)), make([]float64, 4+r.IntN(9))
		for i := range old {
			old[i] = r.NormFloat64()
		}
		for i := range new {
			new[i] = r.NormFloat64() + 1
		}
		got, back := MannWhitney(old, new, 0.05), MannWhitney(new, old, 0.05)
		out := got.OK && (got.Lo > 0 || got.Hi < 0)
		if p := MannWhitneyP(old, new); out != (p <= 0.05) {
			t.Fatalf("%v, %v: interval %+v, p %g", old, new, got, p)
		}
		if got.Lo != -back.Hi || got.Hi != -back.Lo || math.Abs(got.Center+back.Center) > 1e-12 {
			t.Fatalf("%v, %v: got %+v, exchanged %+v: want the mirror image", old, new, got, back)
		}
		if out {
			rejected++
		}
	}
	if rejected < 100 || rejected > 1900 {
		t.Errorf("%d of 2000 rejected: the test has not looked at both cases", rejected)
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
