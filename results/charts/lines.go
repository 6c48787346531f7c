package charts

import (
	"slices"
	"strings"

	"github.com/go-analyze/charts/chartdraw"
)

// A line is one lock in a chart of lines.
type line struct {
	identity
	title  string // beside the pointer, for the whole line
	points []point
}

// A point is a figure of a line, perhaps with an interval.
type point struct {
	x, y   float64
	lo, hi *float64
	title  string
	marked bool
}

// Locks in one panel: more lines cannot be told apart. With more locks, each
// panel shows some in colour and the others in grey, on the same axes.
const maxLines = 8

const (
	panelWidth  = 640
	panelHeight = 380
	// Panels beside each other.
	facetWidth  = 560
	facetHeight = 320
	columns     = 2
)

// linePanels lays lines out, of one family beside each other.
func linePanels(lines []line, x, y *scale) []*panel {
	var locks, others []line
	for _, l := range lines {
		if l.control {
			others = append(others, l)
		} else {
			locks = append(locks, l)
		}
	}
	if len(locks) <= maxLines {
		return []*panel{linePanel("", panelWidth, panelHeight, nil, append(locks, others...), x, y)}
	}
	var out []*panel
	for _, part := range facets(locks) {
		title := strings.Join(familiesOf(part), ", ")
		out = append(out, linePanel(title, facetWidth, facetHeight, locks, append(slices.Clone(part), others...), x, y))
	}
	// Plots of one width: each has room for the names of all.
	var names []string
	for _, p := range out {
		names = append(names, p.beside...)
	}
	for _, p := range out {
		p.beside = names
	}
	return out
}

// facets parts locks, which are in order of their families, into groups of at
// most maxLines. A family that fits is not parted.
func facets(locks []line) [][]line {
	var families [][]line
	for _, l := range locks {
		last := len(families) - 1
		if last >= 0 && families[last][0].family == l.family && len(families[last]) < maxLines {
			families[last] = append(families[last], l)
		} else {
			families = append(families, []line{l})
		}
	}
	var out [][]line
	for _, f := range families {
		last := len(out) - 1
		if last >= 0 && len(out[last])+len(f) <= maxLines {
			out[last] = append(out[last], f...)
		} else {
			out = append(out, f)
		}
	}
	return out
}

func familiesOf(lines []line) []string {
	var out []string
	for _, l := range lines {
		if l.family != "" && !slices.Contains(out, l.family) {
			out = append(out, l.family)
		}
	}
	return out
}

func linePanel(title string, width, height int, context, lines []line, x, y *scale) *panel {
	var names []string
	for _, l := range lines {
		names = append(names, l.name)
	}
	p := &panel{title: title, width: width, height: height, beside: names, x: x.copied(), y: y.copied()}
	for _, l := range context {
		p.draw = append(p.draw, func(c *canvas, p plot) { c.lines("context", l.pixels(p, 0)...) })
	}
	p.draw = append(p.draw, func(c *canvas, p plot) { nameLines(c, p, lines) })
	for i, l := range lines {
		// Intervals of neighbours would cover each other.
		aside := 0
		if l.hasIntervals() {
			aside = (2*i - (len(lines) - 1)) * 3 / 2
		}
		p.draw = append(p.draw, func(c *canvas, p plot) { l.draw(c, p, aside) })
	}
	return p
}

func (l *line) hasIntervals() bool {
	return slices.ContainsFunc(l.points, func(p point) bool { return p.lo != nil })
}

func (l *line) pixels(p plot, aside int) [][2]int {
	var out [][2]int
	for _, q := range l.points {
		x, y := p.at(q.x, q.y)
		out = append(out, [2]int{x + aside, y})
	}
	return out
}

func (l *line) draw(c *canvas, p plot, aside int) {
	pixels := l.pixels(p, aside)
	c.titled(l.title, func() {
		if len(pixels) > 1 {
			c.lines(l.line(), pixels...)
		}
	})
	for i, q := range l.points {
		x, y := pixels[i][0], pixels[i][1]
		if !q.marked {
			continue
		}
		c.titled(q.title, func() {
			if q.lo != nil {
				_, bottom := p.at(q.x, *q.lo)
				_, top := p.at(q.x, *q.hi)
				c.lines(l.bar(), [2]int{x, bottom}, [2]int{x, top})
				c.lines(l.bar(), [2]int{x - 3, bottom}, [2]int{x + 3, bottom})
				c.lines(l.bar(), [2]int{x - 3, top}, [2]int{x + 3, top})
			}
			c.mark(l.mark(), l.shape, x, y)
		})
	}
}

// nameLines writes the names right of the plot, each at the end of its line or as
// near as the others let it.
func nameLines(c *canvas, p plot, lines []line) {
	var at []int
	for _, l := range lines {
		end := l.points[len(l.points)-1]
		_, y := p.at(end.x, end.y)
		at = append(at, y)
	}
	for i, y := range spread(at, 15, p.box.Top, p.box.Bottom) {
		l := lines[i]
		end := l.points[len(l.points)-1]
		x0, y0 := p.at(end.x, end.y)
		x := p.box.Right + 14
		c.lines("lead", [2]int{x0, y0}, [2]int{p.box.Right, y0}, [2]int{x - 2, y})
		c.titled(l.name, func() {
			c.mark(l.mark(), l.shape, x+6, y)
			c.say("name", fit(l.name, c.room), x+16, y+4, false)
		})
	}
}

// ticks of a scale of a few known values.
func ticks(values []float64, label func(float64) string) []chartdraw.Tick {
	var out []chartdraw.Tick
	for _, v := range values {
		out = append(out, chartdraw.Tick{Value: v, Label: label(v)})
	}
	return out
}
