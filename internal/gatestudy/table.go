package main

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"lockbench/results/num"
	"lockbench/results/stat"
)

// table is a Markdown table that can be read as it is. The first column is
// words, the others are figures.
func table(header []string, rows [][]string) string {
	width := make([]int, len(header))
	for _, r := range append([][]string{header}, rows...) {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c), 3)
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				c += pad
			} else {
				c = pad + c
			}
			b.WriteString("| " + c + " ")
		}
		b.WriteString("|\n")
	}
	line(header)
	for i, w := range width {
		rule := strings.Repeat("-", w)
		if i > 0 {
			rule = rule[1:] + ":"
		}
		b.WriteString("| " + rule + " ")
	}
	b.WriteString("|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// pct is a share in percent, without its sign.
func pct(v float64) string { return num.Whole(100 * v) }

// text is "3 of 1000: 0.3 % (0.06 to 0.87)".
func (s share) text() string {
	if s.n == 0 {
		return num.Absent
	}
	lo, hi := s.bounds()
	return fmt.Sprintf("%d of %d: %s %% (%s to %s)", s.k, s.n, pct(s.value()), pct(lo), pct(hi))
}

// change is a log ratio as a change in percent, with its sign.
func change(log float64) string {
	if math.IsInf(log, 0) {
		return map[bool]string{true: "+inf", false: "-inf"}[log > 0]
	}
	v := 100 * math.Expm1(log)
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%+.0f", v)
	}
	return fmt.Sprintf("%+.2f", v)
}

// changes is an interval of log ratios in percent.
func changes(i stat.Interval) string {
	if i.N == 0 {
		return num.Absent
	}
	return fmt.Sprintf("%s (%s to %s)", change(i.Center), change(i.Lo), change(i.Hi))
}

// count is a number of pairs that came out of a formula.
func count(n float64) string {
	switch {
	case math.IsInf(n, 1) || math.IsNaN(n):
		return "no number"
	case n > 100_000:
		return "over 100000"
	}
	return fmt.Sprintf("%.0f", n)
}

// minutes is a time given in seconds.
func minutes(s float64) string { return fmt.Sprintf("%.2f", s/60) }
