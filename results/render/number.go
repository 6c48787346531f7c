package render

import (
	"math"
	"strconv"
	"strings"

	"lockbench/results"
)

// absent stands for a figure that was not measured. Zero is a figure.
const absent = "-"

// infinite stands for a quotient by nothing.
const infinite = "inf"

// three formats a non-negative number with three significant digits, without
// an exponent and without cutting digits before the point.
func three(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.IsInf(v, 1):
		return infinite
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
	return perSecond(e.Median)
}

var ratePrefixes = []string{"", "k", "M", "G", "T"}

func perSecond(v float64) string {
	v, p := scaled(v, ratePrefixes)
	return three(v) + " " + p + "/s"
}

// interval formats the bounds of a rate in the unit that its median is printed
// in: "1.20-8.90". A half-width in percent would suggest symmetry and, of a noisy
// figure, a rate below zero. Bounds far from the median have prefixes of their own.
func interval(e *results.Estimate) string {
	if e == nil || e.Lo == nil {
		return absent
	}
	unit := 1.0
	if v, _ := scaled(e.Median, ratePrefixes); v > 0 {
		unit = e.Median / v
	}
	if e.Median > 0 && *e.Hi/unit < 9999.5 {
		return three(*e.Lo/unit) + "-" + three(*e.Hi/unit)
	}
	own := func(v float64) string {
		v, p := scaled(v, ratePrefixes)
		return three(v) + " " + p + "/s"
	}
	return own(*e.Lo) + "-" + own(*e.Hi)
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
	if math.IsInf(ns, 1) {
		return infinite
	}
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

func optionalSpan(ns *float64) string {
	if ns == nil {
		return absent
	}
	return span(*ns)
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

// percent formats a share without feigned precision: "0.6 %", "84 %".
func percent(e *results.Estimate) string {
	if e == nil {
		return absent
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
