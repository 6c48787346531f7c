package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lockbench/results"
)

// absent stands for a figure that was not measured. Zero is a figure.
const absent = "-"

// three formats a non-negative number with three significant digits, without
// an exponent and without cutting digits before the point.
func three(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(v))))
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	// 9.996 has become 10.00: one decimal too many.
	if r, _ := strconv.ParseFloat(s, 64); decimals > 0 && max(0, 2-int(math.Floor(math.Log10(r)))) < decimals {
		s = strconv.FormatFloat(v, 'f', decimals-1, 64)
	}
	return s
}

// scaled brings v below 1000 with an SI prefix.
func scaled(v float64, prefixes []string) (float64, string) {
	i := 0
	for i < len(prefixes)-1 && v >= 999.5 {
		v, i = v/1000, i+1
	}
	return v, prefixes[i]
}

// rate formats operations a second: "12.3 M/s".
func rate(e *results.Estimate) string {
	if e == nil {
		return absent
	}
	v, p := scaled(e.Median, []string{"", "k", "M", "G", "T"})
	return three(v) + " " + p + "/s"
}

// halfWidth formats an interval: "±1.2 %".
func halfWidth(e *results.Estimate) string {
	pct, ok := e.HalfWidthPct()
	switch {
	case !ok:
		return absent
	case pct >= 99.95:
		return fmt.Sprintf("±%.0f %%", pct)
	}
	return fmt.Sprintf("±%.1f %%", pct)
}

// whole formats like three, without zeros after the point: for figures that
// are often integers.
func whole(v float64) string {
	s := three(v)
	if strings.Contains(s, ".") && !strings.Contains(s, "e") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// span formats a time given in nanoseconds: "1.23 µs".
func span(ns float64) string {
	if ns < 999.5 {
		return whole(ns) + " ns"
	}
	v, unit := scaled(ns/1000, []string{"µs", "ms", "s"})
	return three(v) + " " + unit
}

func medianSpan(e *results.Estimate) string {
	if e == nil {
		return absent
	}
	return span(e.Median)
}

// longest is the largest of all repetitions, not the median of their maxima.
func longest(e *results.Estimate) string {
	if e == nil {
		return absent
	}
	return span(e.Max)
}

func median(e *results.Estimate) string {
	if e == nil {
		return absent
	}
	return three(e.Median)
}

func medianWhole(e *results.Estimate) string {
	if e == nil {
		return absent
	}
	return whole(e.Median)
}

// index formats Jain's index. Three decimals would round 0.9996, which is not
// equal, to 1.
func index(e *results.Estimate) string {
	if e == nil {
		return absent
	}
	if e.Median < 1 && e.Median > 0.9995 {
		return ">.999"
	}
	return strconv.FormatFloat(e.Median, 'f', 3, 64)
}

func percent(e *results.Estimate) string {
	if e == nil {
		return absent
	}
	return whole(e.Median) + " %"
}
