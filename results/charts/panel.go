package charts

import (
	"fmt"
	"strings"

	"github.com/go-analyze/charts/chartdraw"
)

// A panel is one pair of axes with what is drawn on them.
type panel struct {
	title         string // "" for the only panel of a chart
	width, height int
	beside        []string // texts right of the plot
	rows          []string // names left of it, from the top; the y axis then has no labels
	x, y          *scale
	draw          []drawing
}

// A drawing draws on the plot of a panel. It is the library's Series.
type drawing func(c *canvas, p plot)

// A plot is the rectangle between the axes, and how figures map into it.
type plot struct {
	box  chartdraw.Box
	x, y chartdraw.Range
}

// at is the pixel of a pair of figures.
func (p plot) at(x, y float64) (int, int) {
	return p.box.Left + p.x.Translate(x), p.box.Bottom - p.y.Translate(y)
}

var _ chartdraw.Series = drawing(nil)

func (d drawing) GetName() string               { return "" }
func (d drawing) GetYAxis() chartdraw.YAxisType { return chartdraw.YAxisSecondary } // the left one
func (d drawing) GetStyle() chartdraw.Style     { return chartdraw.Style{} }
func (d drawing) Validate() error               { return nil }
func (d drawing) Render(r chartdraw.Renderer, box chartdraw.Box, x, y chartdraw.Range, _ chartdraw.Style) {
	d(r.(*canvas), plot{box, x, y})
}

// svg draws the panel, of a width, with so much room for a name.
func (p *panel) svg(width, room int) (string, error) {
	gutter, left, labels := 40+widest(p.beside, room), 6, 0
	if len(p.rows) > 0 {
		left += widest(p.rows, room)
	}
	for _, t := range p.y.ticks {
		labels = max(labels, textWidth(t.Label))
	}
	x := p.x.thinned(width - gutter - left - labels - 10)
	hidden := chartdraw.Hidden()
	top := 14
	if p.title != "" {
		top += 18
	}
	if p.y.name != "" {
		top += 16
	}
	axis := func(class string) chartdraw.Style {
		return chartdraw.Style{ClassName: class, FontStyle: chartdraw.FontStyle{FontSize: fontSize}}
	}
	chart := chartdraw.Chart{
		Width: width, Height: p.height,
		DPI: 72, // a point is then a pixel
		Background: chartdraw.Style{
			Padding: chartdraw.Box{Top: top, Left: left, Right: gutter, Bottom: 6, IsSet: true},
		},
		XAxis: chartdraw.XAxis{
			Name: p.x.name, NameStyle: axis("x name"), Style: axis("x axis"), Range: x, Ticks: x.ticks,
			GridMajorStyle: hidden, GridMinorStyle: hidden,
		},
		// The library's primary y axis is on the right; it wants a range even so.
		YAxis: chartdraw.YAxis{Style: hidden, Range: &scale{max: 1}},
		YAxisSecondary: chartdraw.YAxis{
			Style: axis("y axis"), Range: p.y, Ticks: p.y.ticks,
			Zero: chartdraw.GridLine{Style: hidden}, GridMajorStyle: hidden, GridMinorStyle: hidden,
		},
	}
	frame := func(c *canvas, plot plot) { p.frame(c, plot, x, width) }
	for _, d := range append([]drawing{frame}, p.draw...) {
		chart.Series = append(chart.Series, d)
	}
	var out strings.Builder
	render := func(w, h int) chartdraw.Renderer { return newCanvas(w, h, room) }
	if err := chart.Render(render, &out); err != nil {
		return "", fmt.Errorf("draw a chart: %w", err)
	}
	return out.String(), nil
}

// frame draws the grid, and the texts above the plot. The name of the y axis
// lies there, because turned text is hard to read.
func (p *panel) frame(c *canvas, plot plot, x *scale, width int) {
	for _, t := range x.ticks {
		at := plot.box.Left + x.Translate(t.Value)
		c.lines("grid", [2]int{at, plot.box.Top}, [2]int{at, plot.box.Bottom})
	}
	for _, t := range p.y.ticks {
		y := plot.box.Bottom - p.y.Translate(t.Value)
		c.lines("grid", [2]int{plot.box.Left, y}, [2]int{plot.box.Right, y})
	}
	above := 14
	if p.title != "" {
		c.titled(p.title, func() { c.say("title", fit(p.title, width-12), 6, above, false) })
		above += 18
	}
	if p.y.name != "" {
		c.say("name", p.y.name, 6, above, false)
	}
}

// place puts panels of one size into columns and returns the drawing and its
// size.
func place(panels []*panel, columns int) (svg string, width, height int, err error) {
	const gap = 16
	columns = min(columns, len(panels))
	var b strings.Builder
	y, rowHeight := 0, 0
	for i, p := range panels {
		column := i % columns
		if column == 0 && i > 0 {
			y, rowHeight = y+rowHeight+gap, 0
		}
		x := column * (p.width + gap)
		body, err := p.svg(p.width, fileRoom)
		if err != nil {
			return "", 0, 0, err
		}
		if len(panels) == 1 {
			b.WriteString(body)
		} else {
			fmt.Fprintf(&b, "<g transform=\"translate(%d %d)\">\n%s</g>\n", x, y, body)
		}
		rowHeight = max(rowHeight, p.height)
		width, height = max(width, x+p.width), max(height, y+p.height)
	}
	return b.String(), width, height, nil
}
