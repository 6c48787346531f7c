package results

import (
	"math"
	"slices"

	"github.com/montanaflynn/stats"
	fast "github.com/segmentio/encoding/json"
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
// interval goes from one order statistic to another. A repetition may be +Inf,
// for instance the time an operation of one that did none; then the median or a
// bound may be, too, and is null in JSON.
type Estimate struct {
	N        int // repetitions that had the figure
	Infinite int // of these, those in which it was infinite
	Median   float64
	// Lo and Hi bound the median with probability Confidence, which is at least
	// 0.95; all absent when N < MinReps. Where the ranks of both ends cannot be
	// trimmed alike without falling below 0.95, benchmath trims one end more, so
	// that the two tails differ: of 8 repetitions, 0.4 % and 3.5 %.
	Lo, Hi     *float64
	Confidence float64
	Min, Max   float64
	MAD        *float64 // median absolute deviation from the median, not scaled; absent if Infinite > 0
	CV         *float64 // sample standard deviation / mean; absent for N < 2, mean 0 or Infinite > 0
	Warnings   []string
}

// NewEstimate summarises values, one a repetition, from 0 to +Inf; nil without
// any. It does not keep the slice.
func NewEstimate(values []float64) *Estimate { return estimator{}.estimate(values) }

// An estimator makes estimates. It remembers what depends on the number of
// values alone.
type estimator map[int]bounds

// bounds are those of the median of n values, as ranks from 0.
type bounds struct {
	exist      bool
	lo, hi     int
	confidence float64
	warnings   []string
}

func (m estimator) bounds(n int) bounds {
	if b, ok := m[n]; ok {
		return b
	}
	// The ranks stand for the values, so that an infinite one takes part as the
	// largest and nothing is computed with it.
	ranks := make([]float64, n)
	for i := range ranks {
		ranks[i] = float64(i)
	}
	s := benchmath.NewSample(ranks, &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(s, Confidence)
	var b bounds
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		b = bounds{exist: true, lo: int(math.Floor(sum.Lo)), hi: int(math.Ceil(sum.Hi)), confidence: sum.Confidence}
	}
	for _, w := range slices.Concat(s.Warnings, sum.Warnings) {
		b.warnings = append(b.warnings, w.Error())
	}
	m[n] = b
	return b
}

func (m estimator) estimate(values []float64) *Estimate {
	n := len(values)
	if n == 0 {
		return nil
	}
	v := slices.Clone(values)
	slices.Sort(v)
	// One piece of memory for an estimate and what it points to: there are some 30
	// a cell.
	own := &struct {
		Estimate
		lo, hi, mad, cv float64
	}{}
	e := &own.Estimate
	e.N, e.Median, e.Min, e.Max = n, middle(v), v[0], v[n-1]
	b := m.bounds(n)
	if b.exist {
		own.lo, own.hi = v[b.lo], v[b.hi]
		e.Lo, e.Hi, e.Confidence = &own.lo, &own.hi, b.confidence
	}
	e.Warnings = b.warnings
	for i := n - 1; i >= 0 && math.IsInf(v[i], 1); i-- {
		e.Infinite++
	}
	if e.Infinite > 0 {
		return e
	}
	// Both fail only on what was excluded before or means "absent". Sorted values,
	// so that the last digit does not depend on the order of the repetitions.
	var err error
	if own.mad, err = stats.MedianAbsoluteDeviation(v); err == nil {
		e.MAD = &own.mad
	}
	if own.cv, err = stats.CoefficientOfVariation(v); err == nil {
		e.CV = &own.cv
	}
	return e
}

// middle is the median of sorted values, at least one.
func middle(v []float64) float64 {
	n := len(v)
	if n%2 == 0 {
		return v[n/2-1]/2 + v[n/2]/2
	}
	return v[n/2]
}

// perOp estimates the time an operation from rates in operations a second, one
// a repetition: median and bounds are the inverse of those of the rates, so
// that the two always agree. Without an operation the time is infinite.
func (m estimator) perOp(rates []float64) *Estimate {
	r := m.estimate(rates)
	if r == nil {
		return nil
	}
	ns := func(rate float64) float64 { return 1e9 / rate } // +Inf for 0
	times := make([]float64, len(rates))
	for i, rate := range rates {
		times[i] = ns(rate)
	}
	e := m.estimate(times)
	e.Median = ns(r.Median)
	if r.Lo != nil {
		*e.Lo, *e.Hi = ns(*r.Hi), ns(*r.Lo)
	}
	return e
}

// MarshalJSON writes what is infinite as null, which JSON has no number for. What
// is absent is left out.
func (e Estimate) MarshalJSON() ([]byte, error) {
	finite := func(v *float64) *float64 {
		if math.IsInf(*v, 0) {
			return nil
		}
		return v
	}
	// omitempty leaves out a nil pointer; one to a nil pointer is null.
	bound := func(v *float64) **float64 {
		if v == nil {
			return nil
		}
		p := finite(v)
		return &p
	}
	return fast.Marshal(struct {
		N          int       `json:"n"`
		Infinite   int       `json:"infinite_reps,omitempty"`
		Median     *float64  `json:"median"`
		Lo         **float64 `json:"lo,omitempty"`
		Hi         **float64 `json:"hi,omitempty"`
		Confidence float64   `json:"confidence,omitempty"`
		Min        *float64  `json:"min"`
		Max        *float64  `json:"max"`
		MAD        *float64  `json:"mad,omitempty"`
		CV         *float64  `json:"cv,omitempty"`
		Warnings   []string  `json:"warnings,omitempty"`
	}{
		e.N, e.Infinite, finite(&e.Median), bound(e.Lo), bound(e.Hi), e.Confidence,
		finite(&e.Min), finite(&e.Max), e.MAD, e.CV, e.Warnings,
	})
}
