package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var inf = math.Inf(1)

func near(a, b, rel float64) bool {
	return a == b || math.Abs(a-b) <= rel*math.Max(math.Abs(a), math.Abs(b))
}

// Critical values of the two-sided signed-rank test: the largest T that is
// significant (F. Wilcoxon, R. A. Wilcox, "Some Rapid Approximate Statistical
// Procedures", Lederle Laboratories 1964, table 2; exact, where -1 = none).
func TestSignedRankCriticalValues(t *testing.T) {
	table := []struct{ n, at05, at02, at01 int }{
		{5, -1, -1, -1}, {6, 0, -1, -1}, {7, 2, 0, -1}, {8, 3, 1, 0}, {9, 5, 3, 1}, {10, 8, 5, 3},
		{11, 10, 7, 5}, {12, 13, 9, 7}, {13, 17, 12, 9}, {14, 21, 15, 12}, {15, 25, 19, 15},
		{16, 29, 23, 19}, {17, 34, 27, 23}, {18, 40, 32, 27}, {19, 46, 37, 32}, {20, 52, 43, 37},
	}
	for _, x := range table {
		for _, c := range []struct {
			alpha float64
			want  int
		}{{0.05, x.at05}, {0.02, x.at02}, {0.01, x.at01}} {
			got := criticalRank(x.n*(x.n+1)/2, c.alpha/2, signedRankCDF(x.n)) - 1
			if got != c.want {
				t.Errorf("n %d, alpha %g: got critical value %d, want %d", x.n, c.alpha, got, c.want)
			}
		}
	}
}

// Darwin's maize: cross- minus self-fertilised heights in eighths of an inch
// (R. A. Fisher, "The Design of Experiments", 1935, section 12-21).
var darwin = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

func TestSignedRankDarwin(t *testing.T) {
	// By hand: |d| in order is 6 8 14 16 23 24 28 29 41 48 49 56 60 67 75; the
	// negative ones have ranks 10 and 14, so that T- = 24, T+ = 96.
	w := walsh(darwin)
	if got := w.count(0); got != 24 {
		t.Errorf("averages not above 0: got %d, want 24", got)
	}
	// P(T <= 24) of n = 15 is 0.0206 (Hollander and Wolfe, table A.4).
	if got := SignedRankP(darwin); math.Abs(got-0.0413) > 0.0001 {
		t.Errorf("p: got %g, want 0.0413", got)
	}
	got := SignedRank(darwin, 0.05)
	averages := bruteWalsh(darwin)
	want := Interval{Center: averages[59]/2 + averages[60]/2, Lo: averages[25], Hi: averages[120-26], N: 15, OK: true}
	if n := len(averages); n%2 == 1 {
		want.Center = averages[n/2]
	}
	if math.Abs(got.Confidence-0.952) > 0.001 {
		t.Errorf("confidence: got %g, want 0.952", got.Confidence)
	}
	want.Confidence = got.Confidence
	if got != want {
		t.Errorf("interval: got %+v, want %+v", got, want)
	}
}

func bruteWalsh(x []float64) []float64 {
	var out []float64
	for i := range x {
		for j := i; j < len(x); j++ {
			out = append(out, average(x[i], x[j]))
		}
	}
	slices.Sort(out)
	return out
}

// TestSignedRankAllSigns compares the distribution with all 2^n signs.
func TestSignedRankAllSigns(t *testing.T) {
	for n := 1; n <= 12; n++ {
		size := n * (n + 1) / 2
		counts := make([]float64, size+1)
		for signs := range 1 << n {
			sum := 0
			for r := range n {
				if signs>>r&1 == 1 {
					sum += r + 1
				}
			}
			counts[sum]++
		}
		cdf, sum := signedRankCDF(n), 0.0
		for s, c := range counts {
			sum += math.Ldexp(c, -n)
			if got := cdf(s); !near(got, sum, 1e-12) {
				t.Errorf("n %d, P(T <= %d): got %g, want %g", n, s, got, sum)
			}
		}
		if cdf(-1) != 0 || cdf(size+5) != 1 {
			t.Errorf("n %d: outside: got %g and %g, want 0 and 1", n, cdf(-1), cdf(size+5))
		}
	}
}

// TestOrderStatistics compares selection by counting with sorted lists, with
// ties, zeros of both signs and infinities.
func TestOrderStatistics(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	special := []float64{inf, -inf, 0, math.Copysign(0, -1), 1, 1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
			if r.IntN(3) == 0 {
				x[i] = special[r.IntN(len(special))]
			}
		}
		return x
	}
	for range 300 {
		x, y := draw(1+r.IntN(12)), draw(1+r.IntN(12))
		check := func(what string, o ordered, brute []float64) {
			for k := 1; k <= len(brute); k++ {
				if got := o.kth(k); o.size != len(brute) || got != brute[k-1] {
					t.Fatalf("%s of %v, %v: %d of %d: got %g, want %g", what, x, y, k, o.size, got, brute[k-1])
				}
			}
		}
		check("averages", walsh(x), bruteWalsh(x))
		var d []float64
		for _, a := range x {
			for _, b := range y {
				d = append(d, difference(a, b))
			}
		}
		slices.Sort(d)
		check("differences", differences(x, y), d)
	}
}

// TestSignedRankDuality: the test rejects 0 exactly when the interval leaves
// it out, for data with ties, zeros and infinities.
func TestSignedRankDuality(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	rejected := 0
	for range 3000 {
		x := make([]float64, 5+r.IntN(15))
		for i := range x {
			x[i] = math.Round(4*r.NormFloat64() + 2)
			if r.IntN(20) == 0 {
				x[i] = inf
			}
		}
		for _, alpha := range []float64{0.05, 0.3} {
			got := SignedRank(x, alpha)
			out := got.OK && (got.Lo > 0 || got.Hi < 0)
			if p := SignedRankP(x); out != (p <= alpha) {
				t.Fatalf("%v at %g: interval %+v, p %g", x, alpha, got, p)
			}
			if out {
				rejected++
			}
		}
	}
	if rejected < 100 || rejected > 5900 {
		t.Errorf("%d of 6000 rejected: the test has not looked at both cases", rejected)
	}
}

func TestSignedRankEdges(t *testing.T) {
	five := []float64{1, 2, 3, 4, 5}
	for _, x := range []struct {
		x      []float64
		alpha  float64
		center float64
		ok     bool
		p      float64
	}{
		{nil, 0.05, 0, false, 1},
		{[]float64{3}, 0.05, 3, false, 1},
		{five, 0.05, 3, false, 0.0625},
		{five, 0.0625, 3, true, 0.0625},
		{[]float64{0, 0, 0, 0, 0, 0}, 0.05, 0, true, 1},
		{[]float64{inf, -inf}, 0.05, 0, false, 1},
		{[]float64{inf, inf, inf, inf, inf, inf}, 0.05, inf, true, 0.03125},
	} {
		got := SignedRank(x.x, x.alpha)
		if got.Center != x.center || got.OK != x.ok || got.N != len(x.x) {
			t.Errorf("%v at %g: got %+v, want centre %g, OK %v", x.x, x.alpha, got, x.center, x.ok)
		}
		if !got.OK && (got.Lo != -inf || got.Hi != inf || got.Confidence != 0) {
			t.Errorf("%v: got %+v, want no bounds", x.x, got)
		}
		if p := SignedRankP(x.x); p != x.p {
			t.Errorf("%v: got p %g, want %g", x.x, p, x.p)
		}
	}
	for alpha, want := range map[float64]int{0.05: 6, 0.01: 8, 0.0625: 5, 1e-6: 21, 1: 1, 0: math.MaxInt} {
		if got := MinSignedRank(alpha); got != want {
			t.Errorf("smallest n at %g: got %d, want %d", alpha, got, want)
		}
		if want > 30 || want < 2 {
			continue
		}
		ones := slices.Repeat([]float64{1}, want)
		if !SignedRank(ones, alpha).OK || SignedRank(ones[1:], alpha).OK {
			t.Errorf("at %g: want an interval from %d values on", alpha, want)
		}
	}
}

// TestSignedRankNormal: where the normal distribution takes over, it is near
// the exact one, and errs to the wide side far out.
func TestSignedRankNormal(t *testing.T) {
	const n = exactSignedRank
	size := n * (n + 1) / 2
	exact := signedRankCDF(n)
	mean, sd := float64(size)/2, math.Sqrt(float64(n)*float64(n+1)*float64(2*n+1)/24)
	normal := func(t int) float64 { return normalCDF((float64(t) + 0.5 - mean) / sd) }
	for _, alpha := range []float64{0.05, 0.01, 1e-3, 1e-4, 1e-5, 1e-6} {
		e, a := criticalRank(size, alpha/2, exact), criticalRank(size, alpha/2, normal)
		if a > e+1 || float64(e-a) > 0.05*sd {
			t.Errorf("alpha %g: rank %d by the normal distribution, %d exactly: want at most that, and within 5 %% of a standard deviation (%.0f)", alpha, a, e, sd)
		}
		if p, q := exact(e), normal(e); q < p*0.999 || q > p*1.3 {
			t.Errorf("alpha %g: tail %g by the normal distribution, %g exactly", alpha, q, p)
		}
	}
}

// TestSignedRankCoverage simulates: intervals miss the centre in about alpha of
// cases, and never much more, with rounded data too. The bounds are five standard
// deviations of the count.
func TestSignedRankCoverage(t *testing.T) {
	const trials, alpha = 4000, 0.05
	sd := math.Sqrt(trials * alpha * (1 - alpha))
	for _, x := range []struct {
		name  string
		n     int
		draw  func(*rand.Rand) float64
		least float64 // of misses; 0 where ties make the interval wide
	}{
		{"normal", 16, (*rand.Rand).NormFloat64, trials*alpha*0.8 - 5*sd},
		{"heavy tails", 25, func(r *rand.Rand) float64 { return r.NormFloat64() / r.NormFloat64() }, trials*alpha*0.8 - 5*sd},
		{"rounded", 20, func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()) }, 0},
		{"infinite", 20, func(r *rand.Rand) float64 { return []float64{inf, -inf, r.NormFloat64()}[r.IntN(3)] }, 0},
		{"large", 600, (*rand.Rand).NormFloat64, trials*alpha*0.8 - 5*sd},
	} {
		r := rand.New(rand.NewPCG(5, uint64(x.n)))
		misses, n := 0, trials
		if x.n > 100 {
			n /= 4
		}
		for range n {
			v := make([]float64, x.n)
			for i := range v {
				v[i] = x.draw(r)
			}
			if i := SignedRank(v, alpha); i.Lo > 0 || i.Hi < 0 {
				misses += trials / n
			}
		}
		if most := trials*alpha + 5*sd*math.Sqrt(float64(trials/n)); float64(misses) > most || float64(misses) < x.least-sd*float64(trials/n) {
			t.Errorf("%s: %d of %d intervals miss, want %.0f to %.0f", x.name, misses, trials, x.least, most)
		}
	}
}

// TestSignedRankMiddle: nearer the middle, the normal distribution is on the
// other side, by as little as exactSignedRank says.
func TestSignedRankMiddle(t *testing.T) {
	exact, normal := signedRankTable(exactSignedRank+1), signedRankCDF(exactSignedRank+1)
	worst, at := 0.0, 0.0
	for s, p := range exact {
		if p < math.SmallestNonzeroFloat64*1e16 {
			continue // few digits
		}
		over := p/normal(s) - 1
		if over > worst {
			worst, at = over, p
		}
		if p <= 0.025 && over > 0 {
			t.Fatalf("P(T <= %d): got %g, less than the true %g", s, normal(s), p)
		}
	}
	if worst > 0.00095 || worst < 0.0008 || math.Abs(at-0.125) > 0.01 {
		t.Errorf("the true probability is up to %g larger, at %g, want 0.0009 near 0.125", worst, at)
	}
}

// TestSignedRankSwitch: across the border the two agree about the middle.
func TestSignedRankSwitch(t *testing.T) {
	const n = exactSignedRank + 1
	table := signedRankTable(n)
	cdf := signedRankCDF(n)
	for _, p := range []float64{0.5, 0.1, 0.025, 0.001} {
		at, _ := slices.BinarySearch(table, p)
		if at == len(table) {
			at--
		}
		if got := cdf(at); !near(got, table[at], 0.02) {
			t.Errorf("P(T <= %d) of %d: got %g, want about %g", at, n, got, table[at])
		}
		// Without the half step of the continuity correction, it is off by more than this.
		if p == 0.5 && !near(cdf(at), table[at], 1e-5) {
			t.Errorf("P(T <= %d) of %d: got %g, want %g", at, n, cdf(at), table[at])
		}
	}
}

func TestSignedRankLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	x := make([]float64, 2048)
	for i := range x {
		x[i] = 0.02 + 0.1*r.NormFloat64()
	}
	brute := bruteWalsh(x)
	got := SignedRank(x, 1e-6)
	if want := average(brute[len(brute)/2-1], brute[len(brute)/2]); got.Center != want || got.N != 2048 || !got.OK {
		t.Errorf("got %+v, want centre %g", got, want)
	}
	// 4.9 standard errors on either side, as of a mean of normal values, within 10 %.
	if width, want := got.Hi-got.Lo, 2*4.89*0.1/math.Sqrt(2048)*math.Sqrt(math.Pi/3); !near(width, want, 0.1) {
		t.Errorf("width: got %g, want about %g", width, want)
	}
}
