package main

import (
	"cmp"
	"math"
	"slices"

	"lockbench/results"
	"lockbench/results/stat"
)

// A spread is what all pairs of a cell say.
type spread struct {
	// centre is of the log ratios of all pairs, with bounds.
	centre stat.Interval
	// sigma is what the log ratio of one pair is worth: the standard deviation of
	// a normal distribution whose interval would be as wide. A few wild values do
	// not widen the interval, and do not count here either.
	sigma float64
	// lag is the correlation of the ranks of neighbours, 0 = none.
	lag  float64
	kept int
}

func spreadOf(c *cell, m results.Metric) spread {
	xs := c.ratios(m)
	s := spread{centre: stat.SignedRank(xs, 1-confidence), lag: lag1(xs), kept: len(xs)}
	s.sigma = (s.centre.Hi - s.centre.Lo) / 2 * math.Sqrt(float64(len(xs))) / normalQuantile(1-(1-confidence)/2)
	return s
}

// lag1 is the rank correlation of each value with the next one (C. Spearman,
// American Journal of Psychology 15, 1904); 0 where there is nothing to
// correlate.
func lag1(xs []float64) float64 {
	if len(xs) < 3 {
		return 0
	}
	a, b := ranks(xs[:len(xs)-1]), ranks(xs[1:])
	mean := float64(len(a)+1) / 2
	var ab, aa, bb float64
	for i := range a {
		x, y := a[i]-mean, b[i]-mean
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// ranks are from 1; equal values share the mean of theirs.
func ranks(xs []float64) []float64 {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(xs[i], xs[j]) })
	out := make([]float64, len(xs))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && xs[order[j]] == xs[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

// normalQuantile is z with P(Z <= z) = p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// pairsNeeded is with how many pairs an interval of level alpha, two-sided,
// leaves out a bound that is gap away from the truth, with the probability
// power: n = ((z(alpha/2) + z(power)) sigma / gap)^2. It is +Inf without a gap.
func pairsNeeded(sigma, gap, alpha, power float64) float64 {
	if gap <= 0 {
		return math.Inf(1)
	}
	z := normalQuantile(1-alpha/2) + normalQuantile(power)
	return math.Ceil(math.Pow(z*sigma/gap, 2))
}
