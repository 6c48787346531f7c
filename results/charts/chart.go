package charts

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"lockbench/results"
)

// A Chart is one drawing.
type Chart struct {
	Name     string // of its file, without ".svg": of a-z, 0-9, "." and "-"
	Title    string
	Workload string
	Workers  int      // 0 = all there are
	Caption  []string // sentences: how to read it, and what is not drawn and why
	// Wide charts have several panels and want the whole width of a page.
	Wide bool

	body          string // of the file
	width, height int
	panels        []drawn // of the page
}

// drawn is a panel as a page shows it.
type drawn struct {
	title, body string
	height      int
}

// Size is the width and height of the drawing of the file, in pixels of a screen.
func (c *Chart) Size() (width, height int) { return c.width, c.height }

// Inline is the <svg> elements, one a panel, for a page that has the rules of
// CSS(".chart") and shows title and caption itself. They are narrower than the
// file, so that a page may show them side by side, or one below the other.
func (c *Chart) Inline() string {
	var b strings.Builder
	label := c.label()
	for i, p := range c.panels {
		title := c.Title
		if p.title != "" {
			title += ": " + p.title
		}
		if i > 0 {
			label = title
		}
		fmt.Fprintf(&b, "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n<title>%s</title>\n%s</svg>\n",
			pageWidth, p.height, attribute(label), text(title), p.body)
	}
	return b.String()
}

// label is what a reader who cannot see the chart is told.
func (c *Chart) label() string { return c.Title + ". " + strings.Join(c.Caption, " ") }

// File is a whole SVG file: with a background, and with title and caption as
// text.
func (c *Chart) File() []byte {
	const margin, line = 16, 16
	chars := (c.width) / 6 // of an average letter's width
	title := fold(c.Title, chars*9/10)
	var caption []string
	for _, s := range c.Caption {
		caption = append(caption, fold(s, chars)...)
	}
	head := margin + line*len(title)
	width, height := c.width+2*margin, head+c.height+line*len(caption)+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n<title>%s</title>\n<style>\n%s</style>\n",
		width, height, width, height, attribute(c.label()), text(c.Title), CSS(".chart"))
	fmt.Fprintf(&b, "<rect class=\"background\" width=\"%d\" height=\"%d\"/>\n", width, height)
	for i, s := range title {
		fmt.Fprintf(&b, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n", margin, margin+line*i+10, text(s))
	}
	fmt.Fprintf(&b, "<g transform=\"translate(%d %d)\">\n%s</g>\n", margin, head, c.body)
	for i, s := range caption {
		fmt.Fprintf(&b, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", margin, head+c.height+line*i+margin, text(s))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// fold breaks s into lines of at most width runes. A longer word is cut.
func fold(s string, width int) []string {
	var lines []string
	cur := ""
	for word := range strings.FieldsSeq(s) {
		for utf8.RuneCountInString(word) > width {
			r := []rune(word)
			lines, cur = appendLine(lines, cur), ""
			lines, word = append(lines, string(r[:width])), string(r[width:])
		}
		if cur != "" && utf8.RuneCountInString(cur)+1+utf8.RuneCountInString(word) > width {
			lines, cur = append(lines, cur), ""
		}
		if cur != "" {
			cur += " "
		}
		cur += word
	}
	return appendLine(lines, cur)
}

func appendLine(lines []string, s string) []string {
	if s == "" {
		return lines
	}
	return append(lines, s)
}

// Of draws the charts of a run, workload by workload. Cells without figures are
// named in the captions. The charts of latency need a Report that was built with
// results.KeepHistograms.
func Of(r *results.RunReport) ([]*Chart, error) {
	b := &builder{ids: identify(r), samples: samplesOf(r), used: map[string]bool{}}
	for _, g := range groups(r) {
		if err := b.group(g); err != nil {
			return nil, err
		}
	}
	return b.charts, nil
}

// builder collects the charts of a run.
type builder struct {
	ids     map[string]identity
	samples map[*results.CellSummary][]*results.Sample
	charts  []*Chart
	used    map[string]bool // names of charts
}

// group draws charts of one kind after each other, so that they can be compared.
func (b *builder) group(g *group) error {
	kinds := []func(*group, *results.Section) error{b.fairness, b.latency, b.repetitions}
	if len(g.sections) > 1 {
		if err := b.throughputLines(g); err != nil {
			return err
		}
	} else {
		// The two charts of rows stand beside each other.
		kinds = []func(*group, *results.Section) error{b.throughputRows, b.repetitions, b.fairness, b.latency}
	}
	for _, draw := range kinds {
		for _, s := range g.sections {
			if err := draw(g, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// add lays out the panels of a chart and gives it a name of its own.
func (b *builder) add(c *Chart, panels []*panel, columns int) error {
	var err error
	if c.body, c.width, c.height, err = place(panels, columns); err != nil {
		return fmt.Errorf("%s: %w", c.Title, err)
	}
	for _, p := range panels {
		body, err := p.svg(pageWidth, pageRoom)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Title, err)
		}
		c.panels = append(c.panels, drawn{p.title, body, p.height})
	}
	c.Wide = len(panels) > 1
	name := slug(c.Name)
	for n := 2; b.used[name]; n++ {
		name = fmt.Sprintf("%s-%d", slug(c.Name), n)
	}
	b.used[name], c.Name = true, name
	b.charts = append(b.charts, c)
	return nil
}

// slug makes a file name that every system and shell takes.
func slug(s string) string {
	const most = 100 // bytes
	var b strings.Builder
	dash := true // none at the beginning
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' && !dash:
			b.WriteRune(r)
			dash = false
		case !dash:
			b.WriteByte('-')
			dash = true
		}
		if b.Len() >= most {
			break
		}
	}
	return strings.Trim(b.String(), "-.")
}
