package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// A column of the table and markdown formats. Head has at most two lines.
type column struct {
	head string
	left bool
	cell func(c *results.CellSummary) string
	// of is the figure behind the text, nil of a text.
	of func(m *results.Metrics) *float64
	// high: the higher, the better.
	high bool
}

// columns of a section, in order; the marks are last, because they may be long.
// Fairness stands beside the speed that it qualifies. What few workloads have
// is a column only where it says something.
func columns(s *results.Section) []column {
	type metrics = results.Metrics
	if s.Distributed() {
		return remoteColumns(s)
	}
	cols := append(speedColumns(), spreadColumns()...)
	cols = append(cols, []column{
		est("time\n/op", func(m *metrics) *results.Estimate { return m.WallNS }, medianSpan),
		est("cpu\n/op", func(m *metrics) *results.Estimate { return m.CPUNS }, medianSpan),
		higher(est("\njain", func(m *metrics) *results.Estimate { return m.Jain }, index)),
		est("max/\nmin", func(m *metrics) *results.Estimate { return m.MaxMin }, median),
		est("\nLWSS", func(m *metrics) *results.Estimate { return m.LWSS }, medianWhole),
		est("acquire\np50", func(m *metrics) *results.Estimate { return m.AcquireP50 }, medianSpan),
		est("acquire\np99", func(m *metrics) *results.Estimate { return m.AcquireP99 }, medianSpan),
		{head: "acquire\nmax", cell: func(c *results.CellSummary) string { return optionalSpan(c.Metrics.AcquireMax) },
			of: func(m *metrics) *float64 { return m.AcquireMax }},
		est("handoff\np50", func(m *metrics) *results.Estimate { return m.HandoffP50 }, medianSpan),
		est("con-\ntended", func(m *metrics) *results.Estimate { return m.Contended }, percent),
	}...)
	return append(append(cols, extraColumns(s, extras)...), marksColumn(s))
}

// est is a column of the median of a figure.
func est(head string, get func(*results.Metrics) *results.Estimate, text func(*results.Estimate) string) column {
	return column{
		head: head, cell: func(c *results.CellSummary) string { return text(get(&c.Metrics)) },
		of: func(m *results.Metrics) *float64 { return medianOf(get(m)) },
	}
}

// speedColumns are the lock and its throughput.
func speedColumns() []column {
	throughput := func(m *results.Metrics) *results.Estimate { return m.Throughput }
	bounds := est("95 %\ninterval", throughput, interval)
	bounds.of = func(m *results.Metrics) *float64 { return lowerOf(m.Throughput) }
	return []column{
		{head: "lock", left: true, cell: (*results.CellSummary).RowName},
		higher(est("through-\nput", throughput, rate)),
		higher(bounds),
	}
}

func extraColumns(s *results.Section, all []extra) []column {
	var out []column
	for i := range all {
		if x := &all[i]; x.shown(s) {
			out = append(out, est(x.head, x.of, x.text))
		}
	}
	return out
}

func marksColumn(s *results.Section) column {
	shared := sharedMarks(s)
	return column{head: "\nmarks", left: true, cell: func(c *results.CellSummary) string {
		return strings.Join(marksOf(s, c, shared), ", ")
	}}
}

func higher(c column) column {
	c.high = true
	return c
}

// An extra is a column that only some workloads have.
type extra struct {
	head string
	of   func(*results.Metrics) *results.Estimate
	zero bool // show it where all is 0, too
	text func(*results.Estimate) string
}

var extras = []extra{
	{"try\nfailed", func(m *results.Metrics) *results.Estimate { return m.TryFailed }, false, percent},
	{"timed\nout", func(m *results.Metrics) *results.Estimate { return m.TimedOut }, false, percent},
	{"back-\nlog", func(m *results.Metrics) *results.Estimate { return m.Backlog }, true, percent},
	{"late\np99", func(m *results.Metrics) *results.Estimate { return m.LatenessP99 }, true, medianSpan},
}

func (x *extra) shown(s *results.Section) bool {
	return slices.ContainsFunc(s.Cells, func(c *results.CellSummary) bool {
		e := x.of(&c.Metrics)
		return e != nil && (x.zero || e.Max > 0)
	})
}

// cells are the rows of a section, led by the null row of another one if it has
// none of its own.
func cells(s *results.Section) []*results.CellSummary {
	if s.Control == nil {
		return s.Cells
	}
	return append([]*results.CellSummary{s.Control}, s.Cells...)
}

// sharedMarks are the marks that every row with figures has in all its
// repetitions: they are said once, in the title.
func sharedMarks(s *results.Section) map[string]bool {
	rows, have := 0, map[string]int{}
	for _, c := range cells(s) {
		if !c.Ranked() {
			continue
		}
		rows++
		for _, m := range c.Marks {
			if m.K == m.N {
				have[m.Word]++
			}
		}
	}
	shared := map[string]bool{}
	for word, n := range have {
		if n == rows && rows > 1 {
			shared[word] = true
		}
	}
	return shared
}

// Words that the marks column uses beside those of results.
const (
	wordControl   = "control"
	wordExclusive = "rw=exclusive"
	wordWritten   = "by writes"
)

// Texts are cut at so many runes: the reason in a row, the reason on lines of
// its own, and a doubt about the host.
const (
	maxReason = 72
	maxAlarm  = 300
	maxDoubt  = 130
)

// marksOf are the words of a row, without those in the title.
func marksOf(s *results.Section, c *results.CellSummary, shared map[string]bool) []string {
	var words []string
	switch c.Outcome {
	case results.OutcomeOK:
	case results.OutcomeSkipped:
		// One skipped record is the whole cell; k of n beside other outcomes.
		if c.OKReps == 0 {
			room := maxReason
			if s.Distributed() { // marks stand on lines of their own there, and what matters is at the end: which dial failed, and how
				room = maxAlarm
			}
			return []string{"skipped: " + cut(c.Reason, room)}
		}
		words = append(words, outcomeOf(c))
	case results.OutcomeViolation:
		return []string{outcomeOf(c)} // no figures are shown, so there is nothing to doubt
	default:
		words = append(words, outcomeOf(c))
	}
	if c.Control {
		words = append(words, wordControl+borrowedFrom(s, c))
	}
	if c.RW == "exclusive" {
		words = append(words, wordExclusive)
	}
	if written(c) {
		words = append(words, wordWritten)
	}
	for _, m := range c.Marks {
		if !shared[m.Word] {
			words = append(words, m.String())
		}
	}
	return words
}

// borrowedFrom says how a null row of another section was measured.
func borrowedFrom(s *results.Section, c *results.CellSummary) string {
	if c != s.Control {
		return ""
	}
	var how []string
	if c.Threads != s.Threads {
		how = append(how, c.Threads+" threads")
	}
	if c.Dispatch != s.Dispatch {
		how = append(how, "dispatch "+c.Dispatch)
	}
	return " (" + strings.Join(how, " and ") + ")"
}

// outcomeOf is loud, except for a skipped cell, where nothing is wrong.
func outcomeOf(c *results.CellSummary) string {
	word := c.Outcome
	if word != results.OutcomeSkipped {
		word = strings.ToUpper(word)
	}
	return fmt.Sprintf("%s %d/%d", word, c.WorstOf, c.Reps)
}

// row is the cells of one line.
func row(cols []column, c *results.CellSummary) []string {
	c = withoutWrong(c)
	var out []string
	for _, col := range cols {
		out = append(out, col.cell(c))
	}
	return out
}

// withoutWrong takes the figures from a lock that let two workers in: they say
// nothing, so that they are not shown beside those of correct locks.
func withoutWrong(c *results.CellSummary) *results.CellSummary {
	if c.Outcome != results.OutcomeViolation {
		return c
	}
	bare := *c
	bare.Metrics = results.Metrics{}
	return &bare
}

// title of a section; what is the usual case is not said.
func title(s *results.Section) string {
	parts := []string{fmt.Sprintf("%s: %s on %s", s.Workload, count(s.Workers, "worker"), count(s.Cores, "core"))}
	parts = append(parts, s.Setting()...)
	if s.OfferedOps > 0 {
		parts = append(parts, num.Rate(s.OfferedOps)+" offered", "in order of acquire p99")
	}
	if s.Control == nil && !s.HasControl() {
		parts = append(parts, "no null row")
	}
	text := strings.Join(parts, ", ")
	if shared := slices.Sorted(maps.Keys(sharedMarks(s))); len(shared) > 0 {
		text += " (every row: " + strings.Join(shared, ", ") + ")"
	}
	return text
}

// alarms are the loud lines below a section.
func alarms(s *results.Section) []string {
	var out []string
	for _, c := range s.Cells {
		switch c.Outcome {
		case results.OutcomeViolation, results.OutcomeHang, results.OutcomeError:
			line := fmt.Sprintf("%s: %s in %d of %s", c.RowName(), strings.ToUpper(c.Outcome), c.WorstOf, count(c.Reps, "repetition"))
			if c.Reason != "" {
				reason := strings.TrimPrefix(strings.TrimSpace(c.Reason), c.Outcome+": ")
				line += ": " + cut(reason, maxAlarm)
			}
			out = append(out, line)
		}
	}
	return out
}
