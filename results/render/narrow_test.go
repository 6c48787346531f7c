package render

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// longName is cut wherever it is shown, at its end.
const longName = "WIDE_PROTOTYPE_OF_A_LOCK_WITH_ROOM:spins=100000"

// chartsOutside counts the charts that are wider than the window.
const chartsOutside = `Array.from(document.querySelectorAll("svg.chart")).filter(s => { const r = s.getBoundingClientRect();
	return r.width < 100 || r.left < 0 || r.right > innerWidth }).length`

// pageOnLaptop: nothing of a usual report hides behind a sideways scroll.
func pageOnLaptop(t *testing.T, ctx context.Context) {
	for _, scheme := range []string{"light", "dark"} {
		b := open(t, ctx, synthetic(t, "mcs", longName, "racy", "tas"), 1300, media("", scheme))
		b.shoot("laptop-" + scheme)
		if size := eval[[]int](b, `(() => { const s = document.querySelector(".results").parentElement; return [s.scrollWidth, s.clientWidth] })()`); size[0] > size[1] {
			t.Errorf("%s: the table is %d pixels wide in a window with room for %d", scheme, size[0], size[1])
		}
		marks := eval[[]string](b, `Array.from(document.querySelectorAll(".mark")).filter(m => { const r = m.getBoundingClientRect();
			return r.width > 0 && r.left >= 0 && r.right <= innerWidth }).map(m => m.textContent)`)
		if all := eval[int](b, `document.querySelectorAll(".mark").length`); len(marks) != all || !slices.Contains(marks, "VIOLATION 1/7") {
			t.Errorf("%s: %d of %d marks can be seen: %q", scheme, len(marks), all, marks)
		}
		// Rows without marks are one line high.
		if high := eval[float64](b, `Math.max(...Array.from(document.querySelectorAll(".results tbody tr:first-child")).map(r => r.getBoundingClientRect().height))`); high > 30 {
			t.Errorf("%s: a line of figures is %.0f pixels high", scheme, high)
		}
		if n := eval[int](b, chartsOutside); n != 0 {
			t.Errorf("%s: %d charts are wider than the window", scheme, n)
		}
	}
}

func pageOnPhone(t *testing.T, ctx context.Context) {
	b := open(t, ctx, synthetic(t, "mcs", longName, "racy", "tas"), 390, media("", "light"))
	b.shoot("phone")
	if w := eval[[]int](b, `[document.scrollingElement.scrollWidth, innerWidth]`); w[0] > w[1] || w[1] != 390 {
		t.Errorf("the page is %d pixels wide on a screen of %d", w[0], w[1])
	}
	if n := eval[int](b, chartsOutside); n != 0 {
		t.Errorf("%d charts are wider than the screen", n)
	}
	if size := eval[float64](b, `(() => { const s = document.querySelector("svg.chart"); return 12 * s.getBoundingClientRect().width / s.viewBox.baseVal.width })()`); size < 9 {
		t.Errorf("text in charts is %.1f pixels high", size)
	}
	// What scrolls sideways is the table and nothing else.
	if got := eval[[]string](b, `Array.from(document.querySelectorAll("main *")).filter(e => e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX)).map(e => e.className)`); !slices.Equal(got, []string{"scroll"}) {
		t.Errorf("elements that scroll sideways: %q, want that of the table", got)
	}
	// From the left: the heads of the columns that can be seen without scrolling.
	seen := eval[[]string](b, `Array.from(document.querySelectorAll(".results thead tr:first-child th")).map(h => ({h, r: h.getBoundingClientRect()}))
		.filter(x => x.r.right <= innerWidth).sort((a, b) => a.r.left - b.r.left).map(x => x.h.textContent)`)
	if want := []string{"lock", "throughput", "95 % interval", "jain"}; len(seen) < len(want) || !slices.Equal(seen[:len(want)], want) {
		t.Errorf("the first columns are %q, want %q", seen, want)
	}
	// The name stays when the table is scrolled, and so do the marks.
	eval[int](b, `document.querySelector(".results").parentElement.scrollLeft = 300`)
	if left := eval[[]float64](b, `[".results tbody th", ".results .marks div"].map(s => document.querySelector(s).getBoundingClientRect().left)`); left[0] < 0 || left[1] < 0 {
		t.Errorf("scrolled, the name is at %v and the marks at %v", left[0], left[1])
	}
	if got := eval[string](b, `getComputedStyle(document.querySelector("tbody th"), "::after").content`); !strings.Contains(got, "moderate") {
		t.Errorf("below the name stands %s, want the workload: rows of one lock look the same", got)
	}
	longNames(t, b)

	// More locks than one panel shows: the panels stand below each other.
	var many []string
	for i := range 9 {
		many = append(many, fmt.Sprintf("lock%d", i))
	}
	b = open(t, ctx, synthetic(t, many...), 390)
	b.shoot("phone-many")
	if n := eval[int](b, `document.querySelectorAll(".wide svg.chart + svg.chart").length`); n == 0 {
		t.Error("no chart has several panels: the test is about nothing")
	}
	if n := eval[int](b, chartsOutside); n != 0 {
		t.Errorf("many locks: %d panels are wider than the screen", n)
	}
}

// longNames: a name in a chart begins at its beginning, ends in an ellipsis, lies
// within the chart, and is whole in the title.
func longNames(t *testing.T, b *tab) {
	t.Helper()
	got := eval[[]string](b, `Array.from(document.querySelectorAll("svg.chart")).map(s => Array.from(s.querySelectorAll("text")).filter(e => e.textContent.startsWith("WIDE_PRO") && e.textContent.endsWith("…") &&
		e.getBoundingClientRect().left >= s.getBoundingClientRect().left && e.getBoundingClientRect().right <= s.getBoundingClientRect().right)
		.map(e => e.parentElement.querySelector("title").textContent).join("|"))`)
	for i, title := range got {
		if !strings.Contains(title, longName) {
			t.Errorf("chart %d: the title of the cut name is %q, want %q in it", i, title, longName)
		}
	}
	if n := eval[int](b, `Array.from(document.querySelectorAll(".results tbody th")).filter(h => h.title === "`+longName+`" && h.scrollWidth > h.clientWidth).length`); n != 3 {
		t.Errorf("%d rows cut the long name and have it in their title, want 3", n)
	}
}
