package results

import (
	"encoding/json"
	"math"
	"slices"

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
// interval goes from one order statistic to another. A repetition may be +Inf,
// for instance the time an operation of one that did none; then the median or a
// bound may be, too, and is null in JSON.
type Estimate struct {
	N        int // repetitions that had the figure
	Infinite int // of these, those in which it was infinite
	Median   float64
	// Lo and Hi bound the median with probability Confidence, which is at least
	// 0.95; all absent when N < MinReps.
	Lo, Hi     *float64
	Confidence float64
	Min, Max   float64
	MAD        *float64 // median absolute deviation from the median, not scaled; absent if Infinite > 0
	CV         *float64 // sample standard deviation / mean; absent for N < 2, mean 0 or Infinite > 0
	Warnings   []string
}

// NewEstimate summarises values, one a repetition, from 0 to +Inf; nil without
// any. It does not keep the slice.
func NewEstimate(values []float64) *Estimate {
	n := len(values)
	if n == 0 {
		return nil
	}
	// The ranks stand for the values, so that an infinite one takes part as the
	// largest and nothing is computed with it.
	v, ranks := slices.Sorted(slices.Values(values)), make([]float64, n)
	for i := range ranks {
		ranks[i] = float64(i)
	}
	s := benchmath.NewSample(ranks, &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(s, Confidence)
	e := &Estimate{N: n, Median: v[n/2], Min: v[0], Max: v[n-1]}
	if n%2 == 0 {
		e.Median = v[n/2-1]/2 + v[n/2]/2
	}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		lo, hi := v[int(math.Floor(sum.Lo))], v[int(math.Ceil(sum.Hi))]
		e.Lo, e.Hi, e.Confidence = &lo, &hi, sum.Confidence
	}
	for _, w := range slices.Concat(s.Warnings, sum.Warnings) {
		e.Warnings = append(e.Warnings, w.Error())
	}
	for _, x := range v {
		if math.IsInf(x, 1) {
			e.Infinite++
		}
	}
	if e.Infinite == 0 {
		e.spread(values)
	}
	return e
}

func (e *Estimate) spread(values []float64) {
	// Both fail only on what was excluded before or means "absent".
	if mad, err := stats.MedianAbsoluteDeviation(values); err == nil {
		e.MAD = &mad
	}
	if cv, err := stats.CoefficientOfVariation(values); err == nil {
		e.CV = &cv
	}
}

// perOp estimates the time an operation from rates in operations a second, one
// a repetition: median and bounds are the inverse of those of the rates, so
// that the two always agree. Without an operation the time is infinite.
func perOp(rates []float64) *Estimate {
	r := NewEstimate(rates)
	if r == nil {
		return nil
	}
	ns := func(rate float64) float64 { return 1e9 / rate } // +Inf for 0
	times := make([]float64, len(rates))
	for i, rate := range rates {
		times[i] = ns(rate)
	}
	e := NewEstimate(times)
	e.Median = ns(r.Median)
	if r.Lo != nil {
		*e.Lo, *e.Hi = ns(*r.Hi), ns(*r.Lo)
	}
	return e
}

// MarshalJSON writes what is infinite as null, which JSON has no number for. What
// is absent is left out.
func (e Estimate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		N          int       `json:"n"`
		Infinite   int       `json:"infinite_reps,omitempty"`
		Median     jsonReal  `json:"median"`
		Lo         *jsonReal `json:"lo,omitempty"`
		Hi         *jsonReal `json:"hi,omitempty"`
		Confidence float64   `json:"confidence,omitempty"`
		Min        jsonReal  `json:"min"`
		Max        jsonReal  `json:"max"`
		MAD        *float64  `json:"mad,omitempty"`
		CV         *float64  `json:"cv,omitempty"`
		Warnings   []string  `json:"warnings,omitempty"`
	}{
		e.N, e.Infinite, jsonReal(e.Median), (*jsonReal)(e.Lo), (*jsonReal)(e.Hi), e.Confidence,
		jsonReal(e.Min), jsonReal(e.Max), e.MAD, e.CV, e.Warnings,
	})
}

// jsonReal is a number from 0 to +Inf.
type jsonReal float64

func (r jsonReal) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(r), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(r))
}
