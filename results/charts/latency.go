package charts

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// A percentile counts when so many samples lie beyond it: the time of the
// second longest of 20 is no p95.
const minBeyond = 10

// Percentiles of the axis, as 1/(1-p): one operation in so many took longer.
// Equal steps on the axis leave a tenth each, as in the plots of HdrHistogram
// (G. Tene, https://hdrhistogram.github.io/HdrHistogram/plotFiles.html).
var percentileTicks = []struct {
	inverse float64
	label   string
}{{2, "50 %"}, {10, "90 %"}, {100, "99 %"}, {1000, "99.9 %"}, {10000, "99.99 %"}}

// percentile is the share in percent of 1/(1-p).
func percentile(inverse float64) float64 { return 100 * (1 - 1/inverse) }

// inverses are the points of a line, 16 a decade, the ticks among them.
func inverses() []float64 {
	const perDecade = 16
	out := []float64{2}
	for i := 1; i <= 4*perDecade; i++ {
		if v := math.Pow(10, float64(i)/perDecade); v > 2.2 {
			if math.Abs(v-math.Round(v)) < 1e-6 {
				v = math.Round(v)
			}
			out = append(out, v)
		}
	}
	return out
}

func isTick(inverse float64) bool {
	for _, t := range percentileTicks {
		if t.inverse == inverse {
			return true
		}
	}
	return false
}

// A span is a time that is drawn by percentile.
type span struct {
	name, title, of, axis string
	hist                  func(*results.CellSummary) *results.MergedHist
}

var acquireSpan = span{"latency", "Time to acquire by percentile", "acquisitions", "time from arrival to acquisition",
	func(c *results.CellSummary) *results.MergedHist { return c.AcquireHist }}

// remoteSpans are of distributed locks, where each is a way to a server and back.
var remoteSpans = []span{
	{"release", "Time to release by percentile", "releases", "time from the call of release to its return",
		func(c *results.CellSummary) *results.MergedHist { return c.ReleaseHist }},
	{"handoff", "Handoff by percentile", "handoffs", "time from a release to the next grant",
		func(c *results.CellSummary) *results.MergedHist { return c.HandoffHist }},
}

// latencyLine is nil with fewer samples than the median needs.
func latencyLine(c *results.CellSummary, h *results.MergedHist, id identity) *line {
	if h == nil {
		return nil
	}
	l := &line{identity: id}
	words := []string{}
	for _, inv := range inverses() {
		if float64(h.Samples())/inv < minBeyond {
			break
		}
		ns := float64(max(1, h.Percentile(percentile(inv))))
		p := point{x: inv, y: ns, marked: isTick(inv)}
		if p.marked {
			word := fmt.Sprintf("p%s %s", strconv.FormatFloat(percentile(inv), 'f', -1, 64), num.Span(ns))
			words = append(words, word)
			p.title = c.RowName() + ": " + word
		}
		l.points = append(l.points, p)
	}
	if len(l.points) == 0 {
		return nil
	}
	l.title = fmt.Sprintf("%s: %s; %d samples", c.RowName(), strings.Join(words, ", "), h.Samples())
	return l
}

// latency draws the time to acquire by percentile, of all repetitions together; of
// distributed locks those to release and to hand over, too.
func (b *builder) latency(g *group, s *results.Section) error {
	spans := []span{acquireSpan}
	if s.Distributed() {
		spans = append(spans, remoteSpans...)
	}
	for _, x := range spans {
		if err := b.percentiles(g, s, x); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) percentiles(g *group, s *results.Section, of span) error {
	var lines []line
	var values []float64
	drawn := map[*results.CellSummary]bool{}
	for _, c := range s.Cells {
		if !c.Ranked() {
			continue
		}
		if l := latencyLine(c, of.hist(c), b.ids[c.RowName()]); l != nil {
			drawn[c] = true
			lines = append(lines, *l)
			for _, p := range l.points {
				values = append(values, p.y)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	sortLines(lines)
	x := &scale{name: "percentile of " + of.of + ", HDR scale", log: true, min: 2, max: 10000}
	for _, t := range percentileTicks {
		x.ticks = append(x.ticks, ticks([]float64{t.inverse}, func(float64) string { return t.label })...)
	}
	one := []*results.Section{s}
	caption := []string{fmt.Sprintf("All ok repetitions together. A line ends where fewer than %d samples lie beyond.", minBeyond)}
	caption = append(caption, controls(one)...)
	caption = append(caption, absences(one, func(c *results.CellSummary) bool { return drawn[c] || c.Control }, "too few samples")...)
	c := &Chart{
		Name: g.name(of.name, s), Title: g.title(of.title, s),
		Workload: g.workload, Workers: s.Workers, Caption: caption,
	}
	y := newScale(of.axis, values, spanTick)
	return b.add(c, linePanels(lines, x, y), columns)
}
