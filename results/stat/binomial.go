package stat

import (
	"math"
	"slices"
)

// SignMedian bounds the median of the distribution of x by two of its values,
// whatever its shape: the sign test inverted (Hollander, Wolfe, Chicken, 3rd ed.,
// section 3.6; H. A. David, "Order Statistics", section 2.5). It needs no
// symmetry, and is wider than SignedRank.
func SignMedian(x []float64, alpha float64) Interval {
	n := len(x)
	if n == 0 {
		return unbounded(0, 0)
	}
	v := slices.Sorted(slices.Values(x))
	center := average(v[(n-1)/2], v[n/2])
	cdf := func(k int) float64 { return binomialCDF(k, n, 0.5) }
	k := criticalRank(n, alpha/2, cdf)
	if k == 0 {
		return unbounded(center, n)
	}
	return Interval{Center: center, Lo: v[k-1], Hi: v[n-k], Confidence: 1 - 2*cdf(k-1), N: n, OK: true}
}

// ClopperPearson bounds the probability behind k successes in n trials,
// 0 <= k <= n, with at least the given confidence, above 0 and below 1
// (C. J. Clopper, E. S. Pearson, Biometrika 26, 1934, p. 404-413). Of no trials
// it knows nothing: 0 to 1.
func ClopperPearson(k, n int, confidence float64) (lo, hi float64) {
	tail := (1 - confidence) / 2
	lo, hi = 0, 1
	if k > 0 { // the p at which k or more have probability tail
		lo = bisect(func(p float64) bool { return binomialCDF(n-k, n, 1-p) >= tail })
	}
	if k < n { // the p at which k or fewer have it
		hi = bisect(func(p float64) bool { return binomialCDF(k, n, p) < tail })
	}
	return lo, hi
}

// bisect finds where a condition that is false near 0 and true near 1 turns.
func bisect(is func(p float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for range 60 { // 2^-60 is below what a float64 near 1 can tell
		mid := (lo + hi) / 2
		if is(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return (lo + hi) / 2
}

// binomialCDF is P(X <= k) of n trials with probability p, 0 < p < 1. It sums
// the smaller side from its largest term outwards, until terms no longer count:
// some 10 sqrt(n) of them. (go-moremath's continued fraction gives up, by a
// panic, above some ten thousand trials.)
func binomialCDF(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	case float64(k) < float64(n)*p:
		return lowerSum(k, n, p)
	}
	return 1 - lowerSum(n-k-1, n, 1-p)
}

// lowerSum is P(X <= k) for k below the mean.
func lowerSum(k, n int, p float64) float64 {
	lg := func(i int) float64 { v, _ := math.Lgamma(float64(i + 1)); return v }
	term := math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	sum := 0.0
	for i := k; i >= 0 && term > sum*1e-18; i-- {
		sum += term
		term *= float64(i) / float64(n-i+1) * (1 - p) / p
	}
	return min(1, sum)
}
