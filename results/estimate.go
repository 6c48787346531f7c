package results

import (
	"math"

	"github.com/montanaflynn/stats"
	"golang.org/x/perf/benchmath"
)

// Confidence of the intervals, at least. MinReps is the smallest number of
// repetitions for which the interval of a median exists at that level: with
// five, even smallest to largest covers the median with only 93.75 %.
const (
	Confidence = 0.95
	MinReps    = 6
)

// An Estimate is what the repetitions of a cell say about one figure. It makes
// no assumption about their distribution: the centre is the median, and the
// interval goes from one order statistic to another.
type Estimate struct {
	N      int     `json:"n"` // repetitions that had the figure
	Median float64 `json:"median"`
	// Lo and Hi bound the median with probability Confidence, which is at least
	// 0.95; all absent when N < MinReps.
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Min        float64  `json:"min"`
	Max        float64  `json:"max"`
	MAD        float64  `json:"mad"`          // median absolute deviation from the median, not scaled
	CV         *float64 `json:"cv,omitempty"` // sample standard deviation / mean; absent for N < 2 or mean 0
	Warnings   []string `json:"warnings,omitempty"`
}

// NewEstimate summarises values, one a repetition; nil without any. It does not
// keep the slice.
func NewEstimate(values []float64) *Estimate {
	if len(values) == 0 {
		return nil
	}
	s := benchmath.NewSample(append([]float64(nil), values...), &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(s, Confidence)
	e := &Estimate{N: len(values), Median: sum.Center, Min: s.Values[0], Max: s.Values[len(s.Values)-1]}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		e.Lo, e.Hi, e.Confidence = &sum.Lo, &sum.Hi, sum.Confidence
	}
	for _, w := range append(s.Warnings, sum.Warnings...) {
		e.Warnings = append(e.Warnings, w.Error())
	}
	// Both fail only on what was excluded above or means "absent".
	e.MAD, _ = stats.MedianAbsoluteDeviation(values)
	if cv, err := stats.CoefficientOfVariation(values); err == nil {
		e.CV = &cv
	}
	return e
}

// HalfWidthPct is the larger distance from the median to a bound of its
// interval, in percent of the median. ok is false without an interval or with a
// median of 0.
func (e *Estimate) HalfWidthPct() (pct float64, ok bool) {
	if e == nil || e.Lo == nil || e.Median == 0 {
		return 0, false
	}
	return 100 * max(e.Median-*e.Lo, *e.Hi-e.Median) / math.Abs(e.Median), true
}
