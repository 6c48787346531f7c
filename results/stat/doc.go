// Package stat has the rank statistics that decisions about measurements are
// made with. Nothing is assumed about how repetitions are distributed: times
// of locks have long tails, two modes, and infinite values where a repetition
// did nothing.
//
// Values are from -Inf to +Inf, never NaN; slices are neither kept nor
// changed. An infinite value takes part by its rank, as the largest or smallest
// there is. Where two infinite values of opposite sign are averaged, or two of
// the same sign subtracted, the result counts as 0: neither is larger, which is
// what a rank test says of two equally extreme values by giving half a rank to
// each side, and what comes out when a growing finite bound stands for infinity.
//
// alpha is the probability, above 0 and below 1, that an interval misses the
// true value, both sides together. All intervals are closed and keep alpha
// for discrete data, too: ties are resolved as if noise too small to see
// broke them, whichever way, and the interval holds for each way (E. L. Lehmann,
// "Nonparametrics: Statistical Methods Based on Ranks", Holden-Day 1975, section
// 1.4 and 4.1; G. E. Noether, "Elements of Nonparametric Statistics", Wiley
// 1967). With many ties they are wider than they need to be.
//
// Each probability is the dual of its interval: it is at most alpha exactly
// when the interval at alpha leaves out 0, and the interval says on which side.
// So ties, and zeros of a signed-rank test, count against a difference, and all
// distributions are those without ties. Conditioning on the ties that are there
// (exactly by B. Streitberg, J. Röhmel, Statistical Software Newsletter 12, 1986,
// p. 10-17; by midranks and their variance, Lehmann, section 1.4) would win power
// where many values are equal: of 40 values against 40 of which 1 and 10 are
// large, p = 0.007 instead of 1. It is not taken, for then p and interval are two
// statements that contradict each other: there, the median difference and both
// bounds are 0, a small p without a size or a direction. And the normal
// approximation of it, which large samples would need, is far off where ties are
// many and sizes unequal: of 20 against 200 values of two kinds, it gives 7e-7 for
// an exact 1e-3.
//
// The functions are pure and may be called by several goroutines.
package stat

import "math"

// An Interval is an estimate with bounds that cover the true value with
// probability Confidence, at least 1-alpha.
type Interval struct {
	Center, Lo, Hi float64
	Confidence     float64 // exact for few values, approximate for many; 0 if not OK
	N              int     // values; of two samples, all of both
	// OK is false if so few values bound nothing at that alpha: Lo and Hi are
	// then -Inf and +Inf. Without any value, Center is 0.
	OK bool
}

// unbounded is the interval of too few values.
func unbounded(center float64, n int) Interval {
	return Interval{Center: center, Lo: math.Inf(-1), Hi: math.Inf(1), N: n}
}
