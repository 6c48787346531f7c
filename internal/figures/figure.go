package main

import (
	"fmt"

	"lockbench/results"
)

// figure is a measured value with its interval and its target.
type figure struct {
	name, unit string
	value      float64
	lo, hi     float64 // 95 % interval, or what how says
	how        string
	n          int
	limit      float64 // at most
}

// atMost makes a figure of repeated measurements.
func atMost(name, unit string, limit float64, values []float64) (figure, error) {
	if len(values) == 0 {
		return figure{}, fmt.Errorf("%s: no measurements", name)
	}
	e := results.NewEstimate(values)
	if e == nil || e.Lo == nil || e.Hi == nil {
		return figure{}, fmt.Errorf("%s: %d measurements have no 95 %% interval", name, len(values))
	}
	return figure{name: name, unit: unit, value: e.Median, lo: *e.Lo, hi: *e.Hi, n: len(values), limit: limit}, nil
}

// ok reports whether the interval's upper bound meets the limit.
func (f figure) ok() bool { return f.hi <= f.limit }

// String is the line that others read.
func (f figure) String() string {
	verdict := "short"
	if f.ok() {
		verdict = "ok"
	}
	return fmt.Sprintf("figure %s %.4g %s target <= %g %s", f.name, f.value, f.unit, f.limit, verdict)
}

// detail is the line for people.
func (f figure) detail() string {
	how := f.how
	if how == "" {
		how = "95 % interval"
	}
	return fmt.Sprintf("%.4g %s, %s %.4g to %.4g, %d measurements, target at most %g", f.value, f.unit, how, f.lo, f.hi, f.n, f.limit)
}
