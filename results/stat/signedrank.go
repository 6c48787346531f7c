package stat

import (
	"math"
	"sync"
)

// exactSignedRank is the largest sample whose signed-rank distribution is
// computed exactly: about 20 ms, once a size. Above it the normal distribution
// with continuity correction stands in. Its tails are heavier than the true ones:
// the excess kurtosis of the statistic is about -3.6/n, so that at n = 512 and
// five standard deviations the true tail probability is some 20 % smaller, and a
// bound is 1 % of the interval further out than it could be. That errs on the
// safe side below 0.025, which is a two-sided alpha of 0.05; nearer the middle the
// true probability is larger, at n = 513 by up to 0.09 %, around 0.125. An
// Edgeworth correction would win both back and lose the certainty on which side
// the error is in the tails.
const exactSignedRank = 512

// SignedRank estimates the centre of symmetry of x, such as the differences
// of pairs: the median of the Walsh averages, and the bounds between which
// the signed-rank test does not reject (M. Hollander, D. A. Wolfe, E. Chicken,
// "Nonparametric Statistical Methods", 3rd ed., Wiley 2014, sections 3.2 and 3.3;
// J. L. Hodges, E. L. Lehmann, Annals of Mathematical Statistics 34, 1963,
// p. 598-611).
func SignedRank(x []float64, alpha float64) Interval {
	n := len(x)
	if n == 0 {
		return unbounded(0, 0)
	}
	w := walsh(x)
	cdf := signedRankCDF(n)
	k := criticalRank(w.size, alpha/2, cdf)
	if k == 0 {
		return unbounded(w.median(), n)
	}
	return Interval{Center: w.median(), Lo: w.kth(k), Hi: w.kth(w.size + 1 - k), Confidence: 1 - 2*cdf(k-1), N: n, OK: true}
}

// SignedRankP is the two-sided probability of x as far from 0 or further, if
// x is symmetric about 0 (F. Wilcoxon, Biometrics Bulletin 1, 1945, p. 80-83).
// Zeros and ties count against a difference, so that the probability is at most
// alpha exactly when the interval of SignedRank at alpha leaves out 0. Without
// any value it is 1.
func SignedRankP(x []float64) float64 {
	n := len(x)
	if n == 0 {
		return 1
	}
	w := walsh(x)
	// Averages above 0 sum the ranks of the positive values (Tukey; Hollander
	// and Wolfe, section 3.1, comment 17).
	notAbove := w.count(0)
	notBelow := w.size - w.count(-math.SmallestNonzeroFloat64)
	return min(1, 2*signedRankCDF(n)(min(notAbove, notBelow)))
}

// MinSignedRank is the smallest number of values whose interval exists at
// alpha: all of one sign have probability 2^-n. 0 or less never has one, which
// is math.MaxInt.
func MinSignedRank(alpha float64) int {
	if alpha <= 0 {
		return math.MaxInt
	}
	n := 1
	for ; math.Ldexp(2, -n) > alpha; n++ {
	}
	return n
}

// signedRankCDF is P(T <= t) of n values without ties, from 0 to 1.
func signedRankCDF(n int) func(t int) float64 {
	size := n * (n + 1) / 2
	if n > exactSignedRank {
		mean := float64(size) / 2
		sd := math.Sqrt(float64(n) * float64(n+1) * float64(2*n+1) / 24)
		return func(t int) float64 { return normalCDF((float64(t) + 0.5 - mean) / sd) }
	}
	lower := signedRankTable(n)
	return func(t int) float64 { return symmetricCDF(lower, size, t) }
}

var signedRankTables = tables[int]{}

// signedRankTable has P(T <= t) for t up to half of the largest: T is the sum
// of those of the ranks 1 to n whose coin fell on heads.
func signedRankTable(n int) []float64 {
	return signedRankTables.get(n, func() []float64 {
		half := n * (n + 1) / 4
		p := make([]float64, half+1)
		p[0] = 1
		for rank := 1; rank <= n; rank++ {
			top := min(half, rank*(rank+1)/2)
			for s := top; s >= rank; s-- {
				p[s] = (p[s] + p[s-rank]) / 2
			}
			for s := min(top, rank-1); s >= 0; s-- {
				p[s] /= 2
			}
		}
		return accumulate(p)
	})
}

// accumulate turns probabilities into a distribution function, in place.
func accumulate(p []float64) []float64 {
	sum := 0.0
	for i := range p {
		sum += p[i]
		p[i] = sum
	}
	return p
}

// symmetricCDF is P(T <= t) of a T that is distributed symmetrically over 0 to
// size, from the lower half of its distribution function.
func symmetricCDF(lower []float64, size, t int) float64 {
	switch {
	case t < 0:
		return 0
	case t >= size:
		return 1
	case t < len(lower):
		return lower[t]
	}
	return 1 - lower[size-t-1]
}

// normalCDF keeps its precision in the lower tail.
func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// tables are distributions that are computed once. The zero value is ready.
type tables[K comparable] struct {
	mu sync.Mutex
	at map[K][]float64
}

func (t *tables[K]) get(k K, compute func() []float64) []float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, ok := t.at[k]; ok {
		return p
	}
	if t.at == nil {
		t.at = map[K][]float64{}
	}
	p := compute()
	t.at[k] = p
	return p
}
