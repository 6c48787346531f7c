package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lockbench/results"
)

// A column of the table and markdown formats. Head has at most two lines.
type column struct {
	head string
	left bool
	cell func(c *results.CellSummary) string
}

// columns in order; the marks are last, because they may be long. Fairness
// stands beside the speed that it qualifies.
func columns() []column {
	m := func(f func(*results.Metrics) string) func(*results.CellSummary) string {
		return func(c *results.CellSummary) string { return f(&c.Metrics) }
	}
	return []column{
		{"lock", true, func(c *results.CellSummary) string { return c.Lock }},
		{"throughput", false, m(func(m *results.Metrics) string { return rate(m.Throughput) })},
		{"95 %\ninterval", false, m(func(m *results.Metrics) string { return halfWidth(m.Throughput) })},
		{"\nns/op", false, m(func(m *results.Metrics) string { return median(m.WallNS) })},
		{"cpu\nns/op", false, m(func(m *results.Metrics) string { return median(m.CPUNS) })},
		{"\njain", false, m(func(m *results.Metrics) string { return index(m.Jain) })},
		{"max/\nmin", false, maxMin},
		{"\nLWSS", false, m(func(m *results.Metrics) string { return medianWhole(m.LWSS) })},
		{"acquire\np50", false, m(func(m *results.Metrics) string { return medianSpan(m.AcquireP50) })},
		{"acquire\np99", false, m(func(m *results.Metrics) string { return medianSpan(m.AcquireP99) })},
		{"acquire\nmax", false, m(func(m *results.Metrics) string { return longest(m.AcquireMax) })},
		{"handoff\np50", false, m(func(m *results.Metrics) string { return medianSpan(m.HandoffP50) })},
		{"con-\ntended", false, m(func(m *results.Metrics) string { return percent(m.Contended) })},
		{"\nmarks", true, marksOf},
	}
}

// maxMin is infinite, not absent, when a worker got nothing in every
// repetition.
func maxMin(c *results.CellSummary) string {
	if c.Metrics.MaxMin == nil && slices.ContainsFunc(c.Marks, func(m results.Mark) bool { return m.Word == results.MarkStarved }) {
		return "inf"
	}
	return median(c.Metrics.MaxMin)
}

// Words that the marks column uses beside those of results.
const (
	wordControl   = "control"
	wordExclusive = "rw=exclusive"
)

// Texts are cut at so many runes: the reason in a row, the reason on a line of
// its own, and a doubt about the host.
const (
	maxReason = 72
	maxAlarm  = 300
	maxDoubt  = 130
)

func marksOf(c *results.CellSummary) string {
	var words []string
	switch c.Outcome {
	case results.OutcomeOK:
	case results.OutcomeSkipped:
		// One skipped record is the whole cell; k of n beside other outcomes.
		if c.OKReps == 0 {
			return "skipped: " + cut(c.Reason, maxReason)
		}
		words = append(words, outcomeOf(c))
	case results.OutcomeViolation:
		return outcomeOf(c) // no figures are shown, so there is nothing to doubt
	default:
		words = append(words, outcomeOf(c))
	}
	if c.Control {
		words = append(words, wordControl)
	}
	if c.RW == "exclusive" {
		words = append(words, wordExclusive)
	}
	for _, m := range c.Marks {
		words = append(words, m.String())
	}
	return strings.Join(words, ", ")
}

// outcomeOf is loud, except for a skipped cell, where nothing is wrong.
func outcomeOf(c *results.CellSummary) string {
	word := c.Outcome
	if word != results.OutcomeSkipped {
		word = strings.ToUpper(word)
	}
	return fmt.Sprintf("%s %d/%d", word, c.WorstOf, c.Reps)
}

func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// row is the cells of one line. Figures of a lock that let two workers in say
// nothing, so that they are not shown beside those of correct locks.
func row(c *results.CellSummary) []string {
	if c.Outcome == results.OutcomeViolation {
		bare := *c
		bare.Metrics = results.Metrics{}
		c = &bare
	}
	var out []string
	for _, col := range columns() {
		out = append(out, col.cell(c))
	}
	return out
}

// title of a section; what is the usual case is not said.
func title(s *results.Section) string {
	parts := []string{fmt.Sprintf("%s: %s on %s", s.Workload, count(s.Workers, "worker"), count(s.Cores, "core"))}
	if s.Pin != "" && s.Pin != "none" {
		parts = append(parts, "pinned "+s.Pin)
	}
	if s.Clients > 1 {
		parts = append(parts, count(s.Clients, "client"))
	}
	if s.Threads == "locked" {
		parts = append(parts, "locked threads")
	}
	if s.Dispatch == "interface" {
		parts = append(parts, "by interface calls")
	}
	return strings.Join(append(parts, s.Params...), ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// alarms are the loud lines below a section.
func alarms(s *results.Section) []string {
	var out []string
	for _, c := range s.Cells {
		switch c.Outcome {
		case results.OutcomeViolation, results.OutcomeHang, results.OutcomeError:
			line := fmt.Sprintf("%s: %s in %d of %s", c.Lock, strings.ToUpper(c.Outcome), c.WorstOf, count(c.Reps, "repetition"))
			if c.Reason != "" {
				line += ": " + cut(strings.TrimSpace(c.Reason), maxAlarm)
			}
			out = append(out, line)
		}
	}
	return out
}
