package render

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/results"
	"lockbench/results/compare"
	"lockbench/results/num"
	"lockbench/results/stat"
)

// comparisonTable writes a comparison for a terminal of 140 columns.
func comparisonTable(w io.Writer, c *compare.Comparison) error {
	var b bytes.Buffer
	for _, l := range head(c) {
		fmt.Fprintln(&b, l)
	}
	for _, s := range comparisonSections(c) {
		fmt.Fprintf(&b, "\n%s\n", s.title)
		for i, g := range s.grids {
			if i > 0 {
				fmt.Fprintf(&b, "\n%s\n", byProgram)
			}
			if err := grid(&b, g, plainGrid()); err != nil {
				return err
			}
		}
	}
	alarms, plain := tail(c)
	if len(alarms)+len(plain) > 0 {
		b.WriteString("\n")
	}
	for _, l := range alarms {
		fmt.Fprintln(&b, "!!! "+l)
	}
	for _, l := range plain {
		fmt.Fprintln(&b, l)
	}
	for _, l := range explain(c) {
		fmt.Fprintf(&b, "\n%s\n", fill(strings.SplitAfter(l, " "), maxColumns))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// comparisonMarkdown writes what comparisonTable writes, as GitHub tables.
func comparisonMarkdown(w io.Writer, c *compare.Comparison) error {
	var b bytes.Buffer
	for _, l := range head(c) {
		fmt.Fprintf(&b, "- %s\n", escape(l))
	}
	for _, s := range comparisonSections(c) {
		fmt.Fprintf(&b, "\n### %s\n", escape(s.title))
		for i, g := range s.grids {
			if i > 0 {
				fmt.Fprintf(&b, "\n%s\n", escape(byProgram))
			}
			b.WriteString("\n")
			if err := grid(&b, g, markdownGrid()); err != nil {
				return err
			}
		}
	}
	alarms, plain := tail(c)
	if len(alarms)+len(plain) > 0 {
		b.WriteString("\n")
	}
	for _, l := range alarms {
		fmt.Fprintf(&b, "- **%s**\n", escape(l))
	}
	for _, l := range plain {
		fmt.Fprintf(&b, "- %s\n", escape(l))
	}
	for _, l := range explain(c) {
		fmt.Fprintf(&b, "\n%s\n", escape(l))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// head are the lines above the tables: the sides, what they differ in, doubts.
func head(c *compare.Comparison) []string {
	side := func(s compare.SideInfo) string {
		parts := []string{s.Label + ": " + strings.Join(s.Files, ", ")}
		if c.Paired {
			parts = []string{s.Label + ": " + strings.Join(s.Programs, ", ")}
		} else if len(s.Programs) > 0 {
			parts = append(parts, s.Programs...)
		}
		return strings.Join(parts, "; ")
	}
	out := []string{side(c.Old), side(c.New)}
	switch {
	case c.Old.Host == "" && c.New.Host == "":
	case c.Old.Host == c.New.Host:
		out = append(out, "host: "+c.Old.Host)
	default:
		out = append(out, "host of "+c.Old.Label+": "+c.Old.Host, "host of "+c.New.Label+": "+c.New.Host)
	}
	for _, d := range c.Notes {
		out = append(out, fmt.Sprintf("differs: %s: %s in %s, %s in %s", d.What, cut(d.Old, maxFact), c.Old.Label, cut(d.New, maxFact), c.New.Label))
	}
	for _, w := range c.Warnings {
		out = append(out, "warning: "+w)
	}
	return out
}

// maxFact is where a fact of a host is cut.
const maxFact = 60

type comparisonSection struct {
	title string
	grids []sheet // the rows; then, if there are several programs, those of byProgram
}

const byProgram = "between single programs (intervals of each row alone, no part of the verdict):"

// comparisonSections are the rows by what is behind the lock in the cell's
// name; with several programs a side, what each pair of them gave follows.
func comparisonSections(c *compare.Comparison) []comparisonSection {
	heads := []column{{head: "\nlock", left: true}, {head: "\nmetric", left: true}, {head: "\n" + cut(c.Old.Label, 16)}, {head: "\n" + cut(c.New.Label, 16)},
		{head: "new/\nold"}, {head: percentOf(1-c.Alpha) + "\ninterval"}, {head: "\nreps"}, {head: "\np"}, {head: "p cor-\nrected"}, {head: "\nverdict", left: true}}
	if c.Paired {
		heads[6].head = "\npairs"
	}
	var out []comparisonSection
	for _, r := range c.Rows {
		variant, _ := results.Place(r.Cell, r.Lock)
		title := strings.TrimPrefix(variant, "/")
		i := slices.IndexFunc(out, func(s comparisonSection) bool { return s.title == title })
		if i < 0 {
			i, out = len(out), append(out, comparisonSection{title, []sheet{{name: title, cols: heads, marks: true}}})
		}
		out[i].grids[0].rows = append(out[i].grids[0].rows, comparisonRow(c, r))
		for _, p := range c.Programs {
			if p.Cell != r.Cell || p.Metric != r.Metric.Name {
				continue
			}
			if len(out[i].grids) == 1 {
				out[i].grids = append(out[i].grids, sheet{name: title, marks: true, cols: []column{{head: "lock", left: true}, {head: "metric", left: true},
					{head: "new/old"}, {head: "interval"}, {head: "pairs"}, {head: "programs", left: true}}})
			}
			out[i].grids[1].rows = append(out[i].grids[1].rows, []string{results.RowName(r.Cell, r.Lock), p.Metric, ratioText(p.Ratio.Center), boundsText(p.Ratio),
				strconv.Itoa(p.Ratio.N), p.New + " / " + p.Old})
		}
	}
	return out
}

func comparisonRow(c *compare.Comparison, r *compare.Row) []string {
	value := func(v compare.Value) string {
		if v.N == 0 {
			return num.Absent
		}
		return quantity(r.Metric, v.Median)
	}
	ratio, bounds, n, p, adj := num.Absent, num.Absent, fmt.Sprintf("%d, %d", r.Old.N, r.New.N), num.Absent, num.Absent
	if r.Old.N == r.New.N {
		n = strconv.Itoa(r.Old.N)
	}
	if c.Paired {
		n = strconv.Itoa(r.Pairs)
	}
	if r.Ratio.N > 0 {
		ratio, bounds = ratioText(r.Ratio.Center), boundsText(r.Ratio)
	}
	if r.P != nil {
		p, adj = probability(*r.P), probability(*r.AdjP)
	}
	words := []string{string(r.Verdict)}
	if r.Control && !strings.HasPrefix(words[0], wordControl) {
		words[0] = wordControl + ": " + words[0]
	}
	return []string{results.RowName(r.Cell, r.Lock), r.Metric.Name, value(r.Old), value(r.New), ratio, bounds, n, p, adj, strings.Join(append(words, r.Notes...), ", ")}
}

// quantity is a figure with its unit.
func quantity(m results.Metric, v float64) string {
	switch m.Unit {
	case "ops/s":
		return num.Rate(v)
	case "ns":
		return num.Span(v)
	case "%":
		return num.Three(v) + " %"
	}
	return num.Three(v)
}

// ratioText has three decimals where a ratio is near 1.
func ratioText(v float64) string {
	if v >= 0.1 && v < 9.9995 {
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return num.Three(v)
}

func boundsText(i stat.Interval) string {
	if !i.OK {
		return num.Absent
	}
	return ratioText(i.Lo) + "-" + ratioText(i.Hi)
}

func probability(p float64) string {
	switch {
	case p >= 0.9995:
		return "1"
	case p < 1e-6:
		return "<1e-6"
	case p < 0.001:
		return strconv.FormatFloat(p, 'e', 0, 64)
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

func percentOf(share float64) string { return strconv.FormatFloat(100*share, 'g', 4, 64) + " %" }

// tail is what stands below the tables: what went wrong, and what has no rows.
func tail(c *compare.Comparison) (alarms, plain []string) {
	for _, a := range c.Alarms {
		alarms = append(alarms, a.Cell+": "+alarmText(a))
	}
	for _, o := range c.OneSided {
		plain = append(plain, o.Cell+": "+lone(o))
	}
	for _, d := range c.Dropped {
		if text := droppedText(d); text != "" {
			plain = append(plain, d.Cell+": "+text)
		}
	}
	return alarms, plain
}

// explain says what was done, in full sentences.
func explain(c *compare.Comparison) []string {
	test, unit := "Mann-Whitney", "repetitions a side"
	about := "new/old is the median of the ratios of every new to every old repetition"
	if c.Paired {
		test, unit = "signed-rank", "pairs"
		about = "new/old is the Hodges-Lehmann estimate of the pairs' ratios"
	}
	about += fmt.Sprintf("; its %s interval is of the row alone. p is the two-sided %s probability", percentOf(1-c.Alpha), test)
	if c.Tests == 0 {
		about += ", which takes at least two " + unit + "."
	} else {
		about += fmt.Sprintf(", equal values counting against a difference, corrected for %s together by Holm's method: that any difference shown is a false one has probability at most %s.",
			count(c.Tests, "row"), strconv.FormatFloat(c.Alpha, 'g', 4, 64))
	}
	counts := map[compare.Verdict]int{}
	control := 0
	for _, r := range c.Rows {
		if r.Control {
			control++
		} else {
			counts[r.Verdict]++
		}
	}
	var parts []string
	for _, v := range []compare.Verdict{compare.Slower, compare.IsWorse, compare.Faster, compare.IsBetter, compare.IsLower, compare.IsHigher,
		compare.NotShown, compare.TooFew, compare.Absent} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	out := []string{about}
	if len(parts) > 0 {
		text := c.New.Label + " against " + c.Old.Label + ": " + strings.Join(parts, ", ")
		if control > 0 {
			text += fmt.Sprintf("; %s of controls, corrected apart, never judged", count(control, "row"))
		}
		out = append(out, text+".")
	}
	if slices.ContainsFunc(c.Dropped, func(d compare.Dropped) bool { return len(d.Reason) > 0 }) {
		out = append(out, "Pairs are dropped, whatever they say, when their halves ran in different coherence modes of the machine (coherence), "+
			"when a half was not ok (outcome), or when a half is missing (alone).")
	}
	if c.TooFew > 0 {
		text := fmt.Sprintf("%s could not have passed the correction whatever was measured", count(c.TooFew, "row"))
		least := leastP(c)
		if c.Tests > 0 && least < 1 {
			text += fmt.Sprintf(": the smallest probability that so few can give is %s, and with %s it must be at most %s",
				probability(least), count(c.Tests, "row"), small(c.Alpha/float64(c.Tests)))
		}
		text += "."
		if c.NeedReps > 0 {
			text += fmt.Sprintf(" %d %s would do", c.NeedReps, unit)
			if c.Tests > 1 && least <= c.Alpha {
				text += "; so would fewer rows (--filter, --metric)"
			}
			text += "."
		}
		out = append(out, text)
	}
	return out
}

// leastP is the smallest probability that a row with too few repetitions could
// have had.
func leastP(c *compare.Comparison) float64 {
	least := 1.0
	for _, r := range c.Rows {
		if r.Verdict == compare.TooFew && !r.Control {
			least = math.Min(least, r.MinP)
		}
	}
	return least
}

func small(p float64) string { return strconv.FormatFloat(p, 'g', 2, 64) }
