package gate

import (
	"math"
	"slices"
	"sort"

	"lockbench/results/stat"
)

// medianInterval bounds the median of xs, in the order in which they were
// measured, by two of them. Unknown values are as small, and as large, as can be.
//
// Repetitions that resemble their neighbours say less than as many
// independent ones. n values whose correlation falls by a factor of r with each
// step count as eff = n(1-r)/(1+r) (G.V. Bayley, J.M. Hammersley, "The effective
// number of independent observations in an autocorrelated time series",
// Supplement to the Journal of the Royal Statistical Society 8 (1946) 184-197).
// The bounds are those of the n values whose relative ranks are the ones that
// eff independent values would have. r is estimated, and waves that are longer
// than the session are not in it: a limit speaks of this machine while it was
// measured.
func medianInterval(xs []float64, alpha float64) (i stat.Interval, eff int) {
	known, low, high := filled(xs, 0) // figures are from 0 to +Inf
	n := len(xs)
	eff = effective(known, n)
	i = stat.SignMedian(known, alpha)
	i.N, i.OK, i.Lo, i.Hi = n, false, math.Inf(-1), math.Inf(1)
	ranks := make([]float64, eff)
	for j := range ranks {
		ranks[j] = float64(j + 1)
	}
	of := stat.SignMedian(ranks, alpha)
	if !of.OK {
		return i, eff
	}
	k := max(1, int(of.Lo*float64(n+1)/float64(eff+1)))
	slices.Sort(low)
	slices.Sort(high)
	i.Lo, i.Hi, i.Confidence, i.OK = low[k-1], high[n-k], of.Confidence, true
	return i, eff
}

// effective is as how many independent values n count, at most n. The
// correlation is that of the known ones' ranks with their successors': ranks
// know no outliers and no infinities.
//
// The estimate about an estimated mean is too small by (1+4r)/n (F.H.C.
// Marriott, J.A. Pope, "Bias in the estimation of autocorrelations", Biometrika
// 41 (1954) 390-402), which is taken back.
func effective(known []float64, n int) int {
	m := len(known)
	if m < 5 {
		return n // too few for any interval
	}
	ranks := midranks(known)
	mean := float64(m+1) / 2
	product, square := 0.0, 0.0
	for j, r := range ranks {
		square += (r - mean) * (r - mean)
		if j > 0 {
			product += (r - mean) * (ranks[j-1] - mean)
		}
	}
	if square == 0 {
		return n // all are equal, and so are the bounds
	}
	r := (product/square*float64(m) + 1) / float64(m-4)
	switch {
	case r <= 0:
		return n
	case r >= 1:
		return 1
	}
	return max(1, int(float64(n)*(1-r)/(1+r)))
}

// midranks are the ranks of xs from 1, of equal ones their mean.
func midranks(xs []float64) []float64 {
	sorted := slices.Sorted(slices.Values(xs))
	out := make([]float64, len(xs))
	for i, x := range xs {
		below := sort.SearchFloat64s(sorted, x)
		upTo := sort.Search(len(sorted), func(j int) bool { return sorted[j] > x })
		out[i] = float64(below+1+upTo) / 2
	}
	return out
}
