package charts

import (
	"fmt"
	"strings"
)

// A theme is the colours of one background.
type theme struct {
	background string
	text       string
	muted      string // axes, controls, leaders
	grid       string
	context    string    // lines that only give context
	series     [6]string // of locks
}

// The hues are those of M. Okabe and K. Ito ("Color Universal Design", 2008),
// which readers with any of the common colour vision deficiencies tell apart.
// Their brightness is changed, so that each has a contrast of at least 3 : 1 to
// its background (WCAG 2.1, 1.4.11), and text one of 4.5 : 1; a test computes
// both. Locks differ by marker, too, so that nothing hangs on the hue alone.
var (
	light = theme{
		background: "#ffffff", text: "#1c2024", muted: "#5b646d", grid: "#e3e6e9", context: "#d5dade",
		series: [6]string{"#0072b2", "#c65200", "#008560", "#a8407e", "#8a6d00", "#404850"},
	}
	dark = theme{
		background: "#15191e", text: "#e6e9ec", muted: "#9aa5af", grid: "#2b323a", context: "#3a434c",
		series: [6]string{"#4ba3e3", "#ff8c4d", "#2fc79c", "#e695c4", "#e0b83f", "#c3ccd4"},
	}
)

// hues and shapes have no common divisor, so that their product is the number
// of locks which differ in at least one of both.
const (
	hues   = len(theme{}.series)
	shapes = 7
)

// Fonts of the charts: the texts are measured with Roboto, which these are near.
const fonts = `Roboto,"Segoe UI","Helvetica Neue",Arial,sans-serif`

// CSS is the rules of the charts below the selector scope. Printing is on white
// paper whatever the screen is.
func CSS(scope string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s{font:%dpx %s}\n", scope, fontSize, fonts)
	for _, r := range []string{
		" .title{font-weight:bold}",
		" .line,%s .context,%s .control-line,%s .bar{fill:none;stroke-linejoin:round}",
		" .line{stroke-width:1.8}",
		" .bar{stroke-width:1.4}",
		" .wide{stroke-width:5;stroke-opacity:.35;fill:none}",
		" .context{stroke-width:1}",
		" .control-line{stroke-width:1.4;stroke-dasharray:5 4}",
		" .dot{fill-opacity:.75}",
		" .open{fill-opacity:0}",
		" .grid,%s .axis,%s .lead,%s .median{fill:none;stroke-width:1}",
		" .lead{stroke-dasharray:1 3}",
		" .halo{stroke-width:.8}",
	} {
		b.WriteString(scope + strings.ReplaceAll(r, "%s", scope) + "\n")
	}
	b.WriteString(light.css(scope))
	fmt.Fprintf(&b, "@media screen and (prefers-color-scheme:dark){\n%s}\n", dark.css(scope))
	return b.String()
}

func (t *theme) css(scope string) string {
	var b strings.Builder
	rule := func(selectors, declarations string) {
		var all []string
		for s := range strings.SplitSeq(selectors, ",") {
			all = append(all, scope+" "+s)
		}
		fmt.Fprintf(&b, "%s{%s}\n", strings.Join(all, ","), declarations)
	}
	rule(".background", "fill:"+t.background+";stroke:none")
	rule("text", "fill:"+t.text+";stroke:none")
	rule("text.axis,text.note,text.hint", "fill:"+t.muted)
	rule("path.axis,.lead,.median", "stroke:"+t.muted)
	rule(".grid", "stroke:"+t.grid)
	rule(".context", "stroke:"+t.context)
	rule(".control-line,.control-bar", "stroke:"+t.muted)
	rule(".control-mark", "fill:"+t.muted+";stroke:"+t.muted)
	rule(".halo", "stroke:"+t.background)
	for i, c := range t.series {
		rule(fmt.Sprintf(".l%d", i), "stroke:"+c)
		rule(fmt.Sprintf(".m%d", i), "fill:"+c)
	}
	return b.String()
}
