package charts

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/go-analyze/charts/chartdraw"
)

// fontSize of all text, in the units of the drawing.
const fontSize = 12

// A canvas is the library's renderer for one panel. It leaves measuring to the
// library's own, and writes elements with classes in place of colours; what has
// no class, such as the library's background, is not drawn.
type canvas struct {
	chartdraw.Renderer // measures text, keeps font and rotation
	out                strings.Builder
	class              string
	path               strings.Builder
	circles            []string
	room               int // for a name beside the plot, in pixels
}

func newCanvas(width, height, room int) *canvas {
	return &canvas{Renderer: chartdraw.SVG(width, height), room: room}
}

// ResetStyle implements chartdraw.Renderer, as all of the following do.
func (c *canvas) ResetStyle() {
	c.Renderer.ResetStyle()
	c.class = ""
}

// MeasureText implements chartdraw.Renderer. Readers' fonts may be wider than the
// one that is measured with.
func (c *canvas) MeasureText(body string) chartdraw.Box {
	box := c.Renderer.MeasureText(body)
	box.Right += box.Width() / 10
	return box
}

func (c *canvas) SetClassName(class string) { c.class = class }

func (c *canvas) MoveTo(x, y int) { fmt.Fprintf(&c.path, "M%d %d", x, y) }
func (c *canvas) LineTo(x, y int) { fmt.Fprintf(&c.path, "L%d %d", x, y) }
func (c *canvas) Close()          { c.path.WriteString("Z") }

func (c *canvas) QuadCurveTo(cx, cy, x, y int) { fmt.Fprintf(&c.path, "Q%d %d %d %d", cx, cy, x, y) }

// ArcTo draws the chord: no chart here has arcs.
func (c *canvas) ArcTo(cx, cy int, rx, ry, start, delta float64) {
	end := start + delta
	c.LineTo(cx+int(math.Round(rx*math.Cos(end))), cy+int(math.Round(ry*math.Sin(end))))
}

func (c *canvas) Circle(radius float64, x, y int) {
	c.circles = append(c.circles, fmt.Sprintf(`cx="%d" cy="%d" r="%g"`, x, y, radius))
}

func (c *canvas) Stroke()     { c.paint() }
func (c *canvas) Fill()       { c.paint() }
func (c *canvas) FillStroke() { c.paint() }

func (c *canvas) paint() {
	if c.class != "" {
		for _, circle := range c.circles {
			fmt.Fprintf(&c.out, "<circle class=\"%s\" %s/>\n", attribute(c.class), circle)
		}
		if c.path.Len() > 0 {
			fmt.Fprintf(&c.out, "<path class=\"%s\" d=\"%s\"/>\n", attribute(c.class), c.path.String())
		}
	}
	c.circles = c.circles[:0]
	c.path.Reset()
}

// Text implements chartdraw.Renderer. The library centres the labels of the x
// axis and aligns those of the y axis by the width of its own font; an anchor
// does so by the reader's.
func (c *canvas) Text(body string, x, y int) {
	if body == "" { // of a row
		return
	}
	anchor := ""
	width := c.MeasureText(body).Width()
	switch first, _, _ := strings.Cut(c.class, " "); first {
	case "x":
		x, anchor = x+width/2, ` text-anchor="middle"`
	case "y":
		x, anchor = x+width, ` text-anchor="end"`
	}
	fmt.Fprintf(&c.out, "<text class=\"%s\" x=\"%d\" y=\"%d\"%s>%s</text>\n", attribute(c.class), x, y, anchor, text(body))
}

// Save implements chartdraw.Renderer.
func (c *canvas) Save(w io.Writer) error {
	_, err := io.WriteString(w, c.out.String())
	return err
}

// The following are for the drawings of this package.

// say writes text that begins at a point, or ends there.
func (c *canvas) say(class, body string, x, y int, end bool) {
	anchor := ""
	if end {
		anchor = ` text-anchor="end"`
	}
	fmt.Fprintf(&c.out, "<text class=\"%s\" x=\"%d\" y=\"%d\"%s>%s</text>\n", attribute(class), x, y, anchor, text(body))
}

// lines strokes a polyline of at least two points.
func (c *canvas) lines(class string, points ...[2]int) {
	c.class = class
	for i, p := range points {
		if i == 0 {
			c.MoveTo(p[0], p[1])
		} else {
			c.LineTo(p[0], p[1])
		}
	}
	c.Stroke()
}

// titled groups what draw draws under a text that browsers show beside the
// pointer.
func (c *canvas) titled(title string, draw func()) {
	fmt.Fprintf(&c.out, "<g><title>%s</title>\n", text(title))
	draw()
	c.out.WriteString("</g>\n")
}

// mark draws marker number shape around a point.
func (c *canvas) mark(class string, shape, x, y int) {
	c.class = class
	const r = 4
	corners := func(ps ...[2]int) {
		for i, p := range ps {
			if i == 0 {
				c.MoveTo(x+p[0], y+p[1])
			} else {
				c.LineTo(x+p[0], y+p[1])
			}
		}
		c.Close()
	}
	switch shape % shapes {
	case 0:
		c.Circle(r, x, y)
	case 1:
		corners([2]int{-r, -r}, [2]int{r, -r}, [2]int{r, r}, [2]int{-r, r})
	case 2:
		corners([2]int{0, -r - 1}, [2]int{r + 1, 0}, [2]int{0, r + 1}, [2]int{-r - 1, 0})
	case 3:
		corners([2]int{0, -r - 1}, [2]int{r + 1, r}, [2]int{-r - 1, r})
	case 4:
		corners([2]int{0, r + 1}, [2]int{r + 1, -r}, [2]int{-r - 1, -r})
	case 5: // a plus
		corners([2]int{-2, -5}, [2]int{2, -5}, [2]int{2, -2}, [2]int{5, -2}, [2]int{5, 2}, [2]int{2, 2},
			[2]int{2, 5}, [2]int{-2, 5}, [2]int{-2, 2}, [2]int{-5, 2}, [2]int{-5, -2}, [2]int{-2, -2})
	case 6: // a cross
		corners([2]int{-5, -3}, [2]int{-3, -5}, [2]int{0, -2}, [2]int{3, -5}, [2]int{5, -3}, [2]int{2, 0},
			[2]int{5, 3}, [2]int{3, 5}, [2]int{0, 2}, [2]int{-3, 5}, [2]int{-5, 3}, [2]int{-2, 0})
	}
	c.FillStroke()
}

// spread moves positions apart until neighbours have a distance of gap, within
// lo to hi if they fit; the order stays.
func spread(at []int, gap, lo, hi int) []int {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return at[a] - at[b] })
	out := make([]int, len(at))
	floor := lo
	for _, i := range order {
		out[i] = max(at[i], floor)
		floor = out[i] + gap
	}
	ceiling := hi
	for _, i := range slices.Backward(order) {
		out[i] = min(out[i], ceiling)
		ceiling = out[i] - gap
	}
	return out
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// text escapes what XML would obey. What XML cannot contain at all is replaced;
// the Builder has done so before.
func text(s string) string {
	return escapes.Replace(strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF {
			return 0xFFFD
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

func attribute(s string) string { return text(s) }
