package stat

import "math"

// maxExactPairs is the largest product of sizes whose Mann-Whitney distribution
// is computed exactly, some 5 ms, once for each two sizes: 76 values against 76,
// 20 against 288, 4 against 1444. Beyond it the normal distribution with
// continuity correction stands in. Its tails are heavier than the true ones (the
// statistic's excess kurtosis is negative): below 0.025, which is a two-sided
// alpha of 0.05, the true probability is the smaller one, by up to a third at
// 0.005 with 4 against thousands. So it errs towards "no difference" there, but
// not nearer the middle: around 0.125 the true probability is larger, by 0.3 % at
// 77 against 77, 1.7 % at 10 against 600, 4.5 % at 4 against 4000, and 14 % at 2
// against thousands.
const maxExactPairs = 76 * 76

// MannWhitney estimates the shift from old to new: the median of all
// differences new - old, and the bounds between which the Mann-Whitney test does
// not reject (Hollander, Wolfe, Chicken, 3rd ed., sections 4.2 and 4.3). Of
// logarithms, it is the logarithm of the ratio.
func MannWhitney(old, new []float64, alpha float64) Interval {
	n, m := len(old), len(new)
	if n == 0 || m == 0 {
		return unbounded(0, n+m)
	}
	d := differences(old, new)
	cdf := mannWhitneyCDF(n, m)
	k := criticalRank(d.size, alpha/2, cdf)
	if k == 0 {
		return unbounded(d.median(), n+m)
	}
	return Interval{Center: d.median(), Lo: d.kth(k), Hi: d.kth(d.size + 1 - k), Confidence: 1 - 2*cdf(k-1), N: n + m, OK: true}
}

// MannWhitneyP is the two-sided probability of samples that differ so much or
// more, if both come from one distribution (H. B. Mann, D. R. Whitney, Annals of
// Mathematical Statistics 18, 1947, p. 50-60): twice that of the smaller tail, at
// most 1. Ties count against a difference, so that the probability is at most
// alpha exactly when the interval of MannWhitney at alpha leaves out 0. Without
// values on a side it is 1.
func MannWhitneyP(old, new []float64) float64 {
	n, m := len(old), len(new)
	if n == 0 || m == 0 {
		return 1
	}
	d := differences(old, new)
	notAbove := d.count(0)
	notBelow := d.size - d.count(-math.SmallestNonzeroFloat64)
	return min(1, 2*mannWhitneyCDF(n, m)(min(notAbove, notBelow)))
}

// MinMannWhitneyP is the smallest probability that n values against m can
// give, whatever they are: that of all of one side being above all of the other.
func MinMannWhitneyP(n, m int) float64 {
	if n <= 0 || m <= 0 {
		return 1
	}
	return min(1, 2*mannWhitneyCDF(n, m)(0))
}

var mannWhitneyTables = tables[[2]int]{}

// mannWhitneyCDF is P(U <= u) for n values against m without ties, U being the
// pairs in which the old value is above the new.
func mannWhitneyCDF(n, m int) func(u int) float64 {
	n, m = min(n, m), max(n, m)
	size := n * m
	if size > maxExactPairs {
		mean := float64(size) / 2
		sd := math.Sqrt(float64(size) * float64(n+m+1) / 12)
		return func(u int) float64 { return normalCDF((float64(u) + 0.5 - mean) / sd) }
	}
	lower := mannWhitneyTable(n, m)
	return func(u int) float64 { return symmetricCDF(lower, size, u) }
}

// mannWhitneyTable has P(U <= u) for u up to half of the largest, n <= m. It
// counts the orders of n and m values by U, from the lowest value up: if it is one
// of the n, as many pairs have it above as there were values of the m (Mann and
// Whitney, equation 1). Counts are exact up to 2^53, beyond it to 14 digits or
// so: all terms are positive.
func mannWhitneyTable(n, m int) []float64 {
	return mannWhitneyTables.get([2]int{n, m}, func() []float64 {
		size := n * m
		half := size / 2
		ways := make([][]float64, n+1) // [values of the n so far][U so far]
		for i := range ways {
			ways[i] = make([]float64, half+1)
		}
		ways[0][0] = 1
		for seen := range n + m {
			for i := min(seen+1, n); i >= max(1, seen+1-m); i-- {
				below := seen + 1 - i // values of the m
				into, from := ways[i], ways[i-1]
				for u := min(half, i*below); u >= below; u-- {
					into[u] += from[u-below]
				}
			}
		}
		p, total := ways[n], 0.0
		for _, c := range p {
			total += 2 * c
		}
		if size%2 == 0 {
			total -= p[half] // the middle has no mirror image
		}
		for i := range p {
			p[i] /= total
		}
		return accumulate(p)
	})
}
