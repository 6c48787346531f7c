package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// spreadColumns say how many repetitions a throughput is of, and how far they
// lie apart. The MAD is beside the CV because the two differ where a few
// repetitions are far from the others.
func spreadColumns() []column {
	type metrics = results.Metrics
	share := func(head string, get func(*results.Estimate) *float64) column {
		of := func(m *metrics) *float64 {
			if m.Throughput == nil {
				return nil
			}
			return get(m.Throughput)
		}
		return column{head: head, of: of, cell: func(c *results.CellSummary) string { return barePercent(of(&c.Metrics)) }}
	}
	reps := func(m *metrics) *float64 {
		if m.Throughput == nil {
			return nil
		}
		n := float64(m.Throughput.N)
		return &n
	}
	return []column{
		{head: "\nn", of: reps, cell: func(c *results.CellSummary) string {
			if n := reps(&c.Metrics); n != nil {
				return num.Whole(*n)
			}
			return num.Absent
		}},
		share("MAD\n%", relativeMAD),
		share("CV\n%", func(e *results.Estimate) *float64 {
			if e.CV == nil {
				return nil
			}
			v := 100 * *e.CV
			return &v
		}),
	}
}

// relativeMAD is in percent of the median; absent if that is 0.
func relativeMAD(e *results.Estimate) *float64 {
	if e.MAD == nil || e.N < 2 || e.Median == 0 || math.IsInf(e.Median, 0) {
		return nil
	}
	v := 100 * *e.MAD / e.Median
	return &v
}

// barePercent formats a percentage for a column whose head has the unit.
func barePercent(v *float64) string {
	switch {
	case v == nil:
		return num.Absent
	case *v > 0 && *v < 0.05:
		return "<0.1"
	case *v > 0 && *v < 9.95:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

// maxNotes is the number of notes below a section; --format json has all.
const maxNotes = 6

// notes explain the marks of a section whose detail a reader needs: which groups
// the repetitions of a bimodal cell form, and which repetitions are outliers.
func notes(s *results.Section) []string {
	var all []string
	for _, c := range s.Cells {
		if !c.Ranked() {
			continue
		}
		if c.Modes != nil {
			all = append(all, fmt.Sprintf("%s is bimodal: %s, %s: %s", c.RowName(), modeText(c.Modes.Slow), modeText(c.Modes.Fast), c.Modes.Cause()))
		}
		if len(c.Outliers) > 0 {
			all = append(all, fmt.Sprintf("%s has outliers: %s", c.RowName(), outlierText(c.Outliers)))
		}
	}
	if more := len(all) - maxNotes; more > 0 {
		all = append(all[:maxNotes], fmt.Sprintf("and %d more; --format json has all", more))
	}
	return append(countNotes(s), all...)
}

func modeText(m results.Mode) string {
	text := count(len(m.Reps), "repetition") + " at " + num.Rate(m.Throughput)
	if m.CoherenceNS != nil {
		text += " with coherence " + num.Span(*m.CoherenceNS)
	}
	return text
}

// maxOutliers is how many are named in a note.
const maxOutliers = 4

func outlierText(out []results.Outlier) string {
	var parts []string
	for _, o := range out[:min(len(out), maxOutliers)] {
		format, what := num.Rate, ""
		if strings.HasSuffix(o.Metric, "_ns") {
			format, what = num.Span, strings.ReplaceAll(strings.TrimSuffix(o.Metric, "_ns"), "_", " ")+" "
		}
		parts = append(parts, fmt.Sprintf("repetition %d at %s%s (median %s)", o.Rep, what, format(o.Value), format(o.Median)))
	}
	if more := len(out) - maxOutliers; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}
