// Package num formats figures for people: three significant digits, a unit with
// an SI prefix. All formats and charts use it, so that a figure reads the same
// everywhere.
package num

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Absent stands for a figure that was not measured. Zero is a figure.
const Absent = "-"

// Infinite stands for a quotient by nothing.
const Infinite = "inf"

// Three formats a number from 0 to +Inf with three significant digits, without
// an exponent and without cutting digits before the point.
func Three(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.IsInf(v, 1):
		return Infinite
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

// Whole formats like Three, without zeros after the point: for figures that
// are often integers.
func Whole(v float64) string {
	s := Three(v)
	if strings.Contains(s, ".") && !strings.Contains(s, "e") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// RatePrefixes are the SI prefixes of Rate.
var RatePrefixes = []string{"", "k", "M", "G", "T"}

// Scaled brings v below 1000 with one of the prefixes, the last for all that is
// more.
func Scaled(v float64, prefixes []string) (float64, string) {
	i := 0
	for i < len(prefixes)-1 && v >= 999.5 {
		v, i = v/1000, i+1
	}
	return v, prefixes[i]
}

// Rate formats events a second: "12.3 M/s".
func Rate(v float64) string {
	v, p := Scaled(v, RatePrefixes)
	return Three(v) + " " + p + "/s"
}

// Span formats a time given in nanoseconds: "1.23 µs".
func Span(ns float64) string {
	if math.IsInf(ns, 1) {
		return Infinite
	}
	if ns < 999.5 {
		return Whole(ns) + " ns"
	}
	v, unit := Scaled(ns/1000, []string{"µs", "ms", "s"})
	return Three(v) + " " + unit
}

// Count is a number of things: "1 worker", "2 workers".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Cut shortens s to at most n runes, with an ellipsis in place of what is
// missing.
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
