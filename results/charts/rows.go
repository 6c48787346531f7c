package charts

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-analyze/charts/chartdraw"

	"lockbench/results"
	"lockbench/results/num"
)

// A row is one lock in a chart of rows.
type row struct {
	name  string
	value string // written at the right end
	draw  func(c *canvas, p plot, y int)
}

const rowHeight = 20

// rowPanel puts the first row on top.
func rowPanel(rows []row, x *scale) *panel {
	n := len(rows)
	y := &scale{min: -0.6, max: float64(n) - 0.4}
	var names, values []string
	for i := range rows {
		y.ticks = append(y.ticks, chartdraw.Tick{Value: float64(n - 1 - i)})
		names, values = append(names, rows[i].name), append(values, rows[i].value)
	}
	p := &panel{width: panelWidth, height: 70 + n*rowHeight, rows: names, beside: values, x: x.copied(), y: y}
	for i, r := range rows {
		p.draw = append(p.draw, func(c *canvas, p plot) {
			at := p.box.Bottom - p.y.Translate(float64(n-1-i))
			// From its beginning on: a wide font must not push that out.
			c.titled(r.name, func() { c.say("axis", fit(r.name, c.room), 6, at+4, false) })
			r.draw(c, p, at)
			c.say("axis", r.value, p.box.Right+10, at+4, false)
		})
	}
	return p
}

// Ratios at which the axis of repetitions may end. What deviates more is drawn
// at its edge.
var ratioBounds = []struct {
	bound float64
	ticks []float64 // above 1; their inverses stand below
}{
	{1.02, []float64{1.01, 1.02}},
	{1.05, []float64{1.02, 1.05}},
	{1.1, []float64{1.05, 1.1}},
	{1.25, []float64{1.1, 1.25}},
	{1.5, []float64{1.25, 1.5}},
	{2, []float64{1.5, 2}},
	{5, []float64{2, 5}},
	{10, []float64{2, 5, 10}},
	{100, []float64{10, 100}},
	{1000, []float64{10, 100, 1000}},
}

// ratioScale goes as far down as up, so that 1 is in the middle.
func ratioScale(ratios []float64) *scale {
	most := 1.0
	for _, r := range ratios {
		if r > 0 && !math.IsInf(r, 0) {
			most = max(most, r, 1/r)
		}
	}
	end := ratioBounds[len(ratioBounds)-1]
	for _, b := range ratioBounds {
		if most <= b.bound {
			end = b
			break
		}
	}
	margin := math.Pow(end.bound, 0.06)
	s := &scale{name: "repetition / median of its lock, log scale", log: true, min: 1 / end.bound / margin, max: end.bound * margin}
	at := []float64{1}
	for _, t := range end.ticks {
		at = append(at, t, 1/t)
	}
	s.keep = len(at) / 2 // the 1
	slices.Sort(at)
	s.ticks = ticks(at, ratioTick)
	return s
}

func ratioTick(v float64) string {
	if v < 0.01 || v >= 10 {
		return num.Whole(v) + "×"
	}
	return fmt.Sprintf("%.2f×", v)
}

// jitter moves dots of a row apart, by the repetition's number and nothing
// random: multiples of the golden ratio are spread evenly however many there
// are.
func jitter(rep int) int {
	const golden = 0.6180339887498949
	_, f := math.Modf(float64(rep%1000) * golden)
	return int(math.Round((f - 0.5) * 11))
}

// throughput is the metric of the chart.
const throughput = "throughput_ops_s"

// repetitions draws each ok repetition of each lock as a dot.
func (b *builder) repetitions(g *group, s *results.Section) error {
	type dot struct {
		ratio   float64
		jump    int
		title   string
		outlier bool
	}
	var ringed []string
	var rows []row
	var ratios []float64
	scaled := func(c *results.CellSummary) bool { return c.Ranked() && c.Metrics.Throughput.Median > 0 }
	for _, c := range s.Cells {
		if !scaled(c) {
			continue
		}
		id, t := b.ids[c.RowName()], c.Metrics.Throughput
		var dots []dot
		for _, rep := range b.samples[c] {
			if rep.Outcome != results.OutcomeOK {
				continue
			}
			ratio := rep.ThroughputOps / t.Median
			ratios = append(ratios, ratio)
			title := fmt.Sprintf("%s, repetition %d: %s, %s× the median", c.RowName(), rep.Rep, num.Rate(rep.ThroughputOps), num.Three(ratio))
			if len(rep.Flags) > 0 {
				title += " (" + strings.Join(rep.Flags, "; ") + ")"
			}
			outlier := slices.ContainsFunc(c.Outliers, func(o results.Outlier) bool { return o.Rep == rep.Rep && o.Metric == throughput })
			if outlier {
				title += ", an outlier"
				ringed = append(ringed, fmt.Sprintf("%s repetition %d", c.RowName(), rep.Rep))
			}
			dots = append(dots, dot{ratio, jitter(rep.Rep), title, outlier})
		}
		rows = append(rows, row{name: c.RowName(), value: num.Rate(t.Median), draw: func(cv *canvas, p plot, y int) {
			at := func(ratio float64) int { return p.box.Left + p.x.Translate(ratio) }
			if t.Lo != nil {
				cv.lines("wide "+id.bar(), [2]int{at(*t.Lo / t.Median), y}, [2]int{at(*t.Hi / t.Median), y})
			}
			cv.lines("median", [2]int{at(1), y - 7}, [2]int{at(1), y + 7})
			for _, d := range dots {
				cv.titled(d.title, func() {
					cv.class = id.mark() + " dot"
					cv.Circle(3, at(d.ratio), y+d.jump)
					cv.FillStroke()
					if d.outlier {
						cv.class = id.bar()
						cv.Circle(6, at(d.ratio), y+d.jump)
						cv.Stroke()
					}
				})
			}
		}})
	}
	if len(rows) == 0 {
		return nil
	}
	one := []*results.Section{s}
	x := ratioScale(ratios)
	caption := []string{"Each dot is one repetition; up and down means nothing. Right: the median, on which the line stands; the band is its 95 % interval."}
	if len(ringed) > 0 {
		caption = append(caption, fmt.Sprintf("Ringed: outliers, which count like all others: %s.", strings.Join(ringed, ", ")))
	}
	outside := 0
	for _, r := range ratios {
		if r < x.min || r > x.max {
			outside++
		}
	}
	if outside > 0 {
		caption = append(caption, fmt.Sprintf("Beyond the axis, drawn at its edge: %s.", num.Count(outside, "repetition")))
	}
	caption = append(caption, absences(one, scaled, "the median is 0")...)
	c := &Chart{Name: g.name("repetitions", s), Title: g.title("Every repetition", s), Workload: g.workload, Workers: s.Workers, Caption: caption}
	return b.add(c, []*panel{rowPanel(rows, x)}, 1)
}
