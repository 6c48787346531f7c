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
