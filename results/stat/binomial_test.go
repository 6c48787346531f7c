package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/aclements/go-moremath/stats"
)

func TestClopperPearson(t *testing.T) {
	for _, x := range []struct {
		k, n       int
		confidence float64
		lo, hi     float64
	}{
		// 0 and n of n have closed forms: 1 - (a/2)^(1/n).
		{0, 10, 0.95, 0, 1 - math.Pow(0.025, 0.1)},
		{10, 10, 0.95, math.Pow(0.025, 0.1), 1},
		{10, 10, 0.90, math.Pow(0.05, 0.1), 1}, // one-sided 95 %: 10 of 10 proves 74 %
		{1, 1, 0.95, 0.025, 1},
		{0, 0, 0.95, 0, 1},
		// R: binom.test(3, 10), binom.test(15, 50), as published in many texts.
		{3, 10, 0.95, 0.06673951, 0.6524529},
		{15, 50, 0.95, 0.1786178, 0.4460831},
		{1, 300, 0.95, 0.00008439, 0.01843},
	} {
		lo, hi := ClopperPearson(x.k, x.n, x.confidence)
		if math.Abs(lo-x.lo) > 1e-6 || math.Abs(hi-x.hi) > 1e-5 {
			t.Errorf("%d of %d at %g: got %.8f to %.8f, want %.8f to %.8f", x.k, x.n, x.confidence, lo, hi, x.lo, x.hi)
		}
	}
	lo, hi := ClopperPearson(300_000, 1_000_000, 0.95)
	if math.Abs(lo-0.2991) > 1e-4 || math.Abs(hi-0.3009) > 1e-4 {
		t.Errorf("of a million: got %g to %g, want 0.2991 to 0.3009", lo, hi)
	}
}

func TestBinomialOracle(t *testing.T) {
	for _, n := range []int{1, 2, 7, 40, 300} {
		for _, p := range []float64{1e-6, 0.01, 0.3, 0.5, 0.9, 0.999} {
			d := stats.BinomialDist{N: n, P: p}
			for k := -1; k <= n; k++ {
				if got, want := binomialCDF(k, n, p), d.CDF(float64(k)); math.Abs(got-want) > 1e-11 {
					t.Errorf("P(X <= %d) of %d at %g: got %g, want %g", k, n, p, got, want)
				}
			}
		}
	}
}

// Ranks of the bounds of a median at 95 % (David, "Order Statistics", table in
// section 2.5; Hollander and Wolfe, table A.2): n, the lower bound's rank.
func TestSignMedian(t *testing.T) {
	for _, x := range []struct{ n, k int }{{5, 0}, {6, 1}, {8, 1}, {9, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}} {
		v := make([]float64, x.n)
		for i := range v {
			v[i] = float64(x.n - i) // the k-th smallest is k
		}
		got := SignMedian(v, 0.05)
		if got.OK != (x.k > 0) || x.k > 0 && (got.Lo != float64(x.k) || got.Hi != float64(x.n+1-x.k)) || got.Center != float64(x.n+1)/2 {
			t.Errorf("n %d: got %+v, want from the value of rank %d", x.n, got, x.k)
		}
		if got.OK && (got.Confidence < 0.95 || got.Confidence >= 1) {
			t.Errorf("n %d: confidence %g", x.n, got.Confidence)
		}
	}
	if got := SignMedian(nil, 0.05); got.OK || got.N != 0 || got.Center != 0 {
		t.Errorf("of nothing: got %+v", got)
	}
	if got := SignMedian([]float64{inf, inf, inf, inf, inf, inf}, 0.05); got.Lo != inf || got.Hi != inf || got.Center != inf {
		t.Errorf("of infinities: got %+v", got)
	}
}

func TestHolm(t *testing.T) {
	for _, x := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.02}, []float64{0.02}},
		// By hand: 0.005*4, 0.01*3, 0.03*2, then 0.04*1 is raised to 0.06.
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.9, 0.8, 0.5}, []float64{1, 1, 1}},
		{[]float64{0.02, 0.02}, []float64{0.04, 0.04}},
	} {
		got := Holm(x.p)
		if !slices.EqualFunc(got, x.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%v: got %v, want %v", x.p, got, x.want)
		}
	}
}

// TestHolmFamily: of families without any difference, about alpha have a
// significant one.
func TestHolmFamily(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	const families, alpha = 4000, 0.05
	hits := 0
	for range families {
		p := make([]float64, 40)
		for i := range p {
			p[i] = r.Float64()
		}
		if slices.Min(Holm(p)) <= alpha {
			hits++
		}
	}
	sd := math.Sqrt(families * alpha * (1 - alpha))
	if math.Abs(float64(hits)-families*alpha) > 5*sd {
		t.Errorf("%d of %d families have a significant result, want about %.0f", hits, families, families*alpha)
	}
}

// TestConcurrent is for the race detector: tables are shared.
func TestConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := 5; n < 30; n++ {
				x := make([]float64, n+g%2)
				for i := range x {
					x[i] = float64(i - g)
				}
				SignedRank(x, 0.1)
				MannWhitney(x, x[1:], 0.1)
			}
		})
	}
	wg.Wait()
}
