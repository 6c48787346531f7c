package render

import (
	"strconv"

	"lockbench/results"
	"lockbench/results/num"
)

// rate formats operations a second: "12.3 M/s".
func rate(e *results.Estimate) string {
	if e == nil {
		return num.Absent
	}
	return num.Rate(e.Median)
}

// interval formats the bounds of a rate in the unit that its median is printed
// in: "1.20-8.90". A half-width in percent would suggest symmetry and, of a noisy
// figure, a rate below zero. Bounds far from the median have prefixes of their own.
func interval(e *results.Estimate) string {
	if e == nil || e.Lo == nil {
		return num.Absent
	}
	unit := 1.0
	if v, _ := num.Scaled(e.Median, num.RatePrefixes); v > 0 {
		unit = e.Median / v
	}
	if e.Median > 0 && *e.Hi/unit < 9999.5 {
		return num.Three(*e.Lo/unit) + "-" + num.Three(*e.Hi/unit)
	}
	return num.Rate(*e.Lo) + "-" + num.Rate(*e.Hi)
}

func medianSpan(e *results.Estimate) string {
	if e == nil {
		return num.Absent
	}
	return num.Span(e.Median)
}

func optionalSpan(ns *float64) string {
	if ns == nil {
		return num.Absent
	}
	return num.Span(*ns)
}

func median(e *results.Estimate) string {
	if e == nil {
		return num.Absent
	}
	return num.Three(e.Median)
}

func medianWhole(e *results.Estimate) string {
	if e == nil {
		return num.Absent
	}
	return num.Whole(e.Median)
}

// index formats Jain's index. Three decimals would round 0.9996, which is not
// equal, to 1.
func index(e *results.Estimate) string {
	if e == nil {
		return num.Absent
	}
	if e.Median < 1 && e.Median > 0.9995 {
		return ">.999"
	}
	return strconv.FormatFloat(e.Median, 'f', 3, 64)
}

// percent formats a share without feigned precision: "0.6 %", "84 %".
func percent(e *results.Estimate) string {
	if e == nil {
		return num.Absent
	}
	v := e.Median
	switch {
	case v > 0 && v < 0.05:
		return "<0.1 %"
	case v > 0 && v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " %"
}

// medianOf and lowerOf are what a column sorts by; nil = absent.

func medianOf(e *results.Estimate) *float64 {
	if e == nil {
		return nil
	}
	return &e.Median
}

func lowerOf(e *results.Estimate) *float64 {
	if e == nil {
		return nil
	}
	return e.Lo
}

// Short names, because most files of the package use them.

func count(n int, what string) string { return num.Count(n, what) }

func cut(s string, n int) string { return num.Cut(s, n) }
