package render

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"lockbench/results"
)

func TestPage(t *testing.T) {
	ctx := browser(t)
	rep := synthetic(t, "mcs", "ticket", "racy", "tas")
	t.Run("renders", func(t *testing.T) { pageRenders(t, ctx, rep) })
	t.Run("sorts", func(t *testing.T) { pageSorts(t, ctx, rep) })
	t.Run("filters", func(t *testing.T) { pageFilters(t, ctx, rep) })
	t.Run("keyboard", func(t *testing.T) { pageKeyboard(t, ctx, rep) })
	t.Run("contrast", func(t *testing.T) { pageContrast(t, ctx, rep) })
	t.Run("print", func(t *testing.T) { pagePrints(t, ctx, rep) })
	t.Run("phone", func(t *testing.T) { pageOnPhone(t, ctx) })
	t.Run("laptop", func(t *testing.T) { pageOnLaptop(t, ctx) })
	t.Run("no script", func(t *testing.T) { pageWithoutScript(t, ctx, rep) })
	t.Run("hostile names", func(t *testing.T) { pageHostile(t, ctx) })
	t.Run("files", func(t *testing.T) {
		b := open(t, ctx, load(t, "testdata/run.jsonl", "testdata/special.jsonl", "testdata/hostile.jsonl"), 1500)
		b.shoot("files")
		if n := eval[int](b, `document.querySelectorAll(".run").length`); n != 3 {
			t.Errorf("got %d runs, want 3", n)
		}
		if n := eval[int](b, `document.querySelectorAll(".filters[hidden]").length`); n != 0 {
			t.Errorf("%d tables without filters: has the script stopped?", n)
		}
	})
}

func pageRenders(t *testing.T, ctx context.Context, rep *results.Report) {
	b := open(t, ctx, rep, 1500, media("", "light"))
	b.shoot("light")
	// Throughput; repetitions and latency of three numbers of workers; fairness of
	// two.
	const want = 1 + 3 + 3 + 2
	boxes := eval[[][2]float64](b, `Array.from(document.querySelectorAll("svg.chart")).map(s => { const r = s.getBoundingClientRect(); return [r.width, r.height] })`)
	if len(boxes) != want {
		t.Errorf("got %d charts, want %d", len(boxes), want)
	}
	for i, box := range boxes {
		if box[0] < 300 || box[1] < 60 {
			t.Errorf("chart %d is %v pixels", i, box)
		}
	}
	// Whatever a chart draws is within it.
	outside := eval[[]string](b, `Array.from(document.querySelectorAll("svg.chart")).flatMap(s => { const o = s.getBoundingClientRect();
		return Array.from(s.querySelectorAll("path,circle,text")).filter(e => { const r = e.getBoundingClientRect();
			return r.left < o.left - 1 || r.right > o.right + 1 || r.top < o.top - 1 || r.bottom > o.bottom + 1 })
			.map(e => s.querySelector("title").textContent + ": " + e.outerHTML) })`)
	if len(outside) > 0 {
		t.Errorf("%d elements lie outside of their charts, for instance %s", len(outside), outside[0])
	}
	text := eval[string](b, `document.body.innerText`)
	for _, want := range []string{
		"Testchip 9", "a doubt about the host", "moderate, 4 workers: racy: VIOLATION in 1 of 7 repetitions: two workers in the section",
		"Not drawn: racy with 4 workers (VIOLATION in 1 of 7).", "null is a control", "Jain's index",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	// What must be known first is above the table.
	for _, above := range []string{".alarm", ".doubt", ".facts"} {
		if !eval[bool](b, fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().bottom <= document.querySelector("table.results").getBoundingClientRect().top`, above)) {
			t.Errorf("%s is not above the table", above)
		}
	}
	heads := b.heads()
	if i := slices.Index(heads, "throughput"); !slices.Equal(heads[i:i+4], []string{"throughput", "95 % interval", "jain", "max/min"}) {
		t.Errorf("fairness does not stand next to throughput: %q", heads)
	}
}

func pageSorts(t *testing.T, ctx context.Context, rep *results.Report) {
	b := open(t, ctx, rep, 1500)
	before := b.rows()
	for i, head := range b.heads() {
		var first string
		for click := range 2 {
			b.do(chromedp.Click(b.button(i), chromedp.NodeVisible))
			state := eval[string](b, fmt.Sprintf(`document.querySelectorAll("table.results thead th")[%d].getAttribute("aria-sort")`, i))
			if click == 0 {
				first = state
			} else if state == first {
				t.Errorf("%s: two clicks sort %s twice", head, state)
			}
			if n := eval[int](b, `document.querySelectorAll("thead th:not([aria-sort=none])").length`); n != 1 {
				t.Errorf("%s: %d columns say that they are sorted", head, n)
			}
			rows := b.rows()
			if len(rows) != len(before) {
				t.Fatalf("%s: %d rows of %d are left", head, len(rows), len(before))
			}
			checkOrder(t, head, state, rows, i)
		}
	}
	high := map[string]string{"throughput": "descending", "jain": "descending", "time/op": "ascending", "lock": "ascending"}
	for head, want := range high {
		b.do(chromedp.Click(".filters button[type=reset]", chromedp.NodeVisible))
		b.do(chromedp.Click(b.button(b.column(head)), chromedp.NodeVisible))
		if got := eval[string](b, fmt.Sprintf(`document.querySelectorAll("table.results thead th")[%d].getAttribute("aria-sort")`, b.column(head))); got != want {
			t.Errorf("the first click on %s sorts %s, want %s", head, got, want)
		}
	}
	b.do(chromedp.Click(".filters button[type=reset]", chromedp.NodeVisible))
	if diff := cmp.Diff(before, b.rows()); diff != "" {
		t.Errorf("reset does not bring back the order:\n%s", diff)
	}
}

// checkOrder reads the texts of a column, and not what the page sorts by.
func checkOrder(t *testing.T, head, state string, rows [][]shownCell, i int) {
	t.Helper()
	var texts []string
	for _, r := range rows {
		texts = append(texts, r[i].Text)
	}
	numeric := rows[0][i].V != nil
	absentSeen, last, previous := false, math.NaN(), ""
	infinite := false
	for k, text := range texts {
		switch {
		case text == "" || text == "-":
			absentSeen = true
			continue
		case absentSeen:
			t.Errorf("%s %s: %q stands after an absent figure: %q", head, state, text, texts)
			return
		case !numeric:
			text = strings.ToLower(text) // as in a dictionary
			if k > 0 && text != previous && (state == "ascending") == (text < previous) {
				t.Errorf("%s %s: %q after %q", head, state, text, previous)
			}
			previous = text
			continue
		case strings.Contains(text, "-"): // an interval, whose bounds have no unit of their own
			continue
		}
		v, ok := figure(text)
		if !ok {
			t.Fatalf("%s: %q is no figure", head, text)
		}
		infinite = infinite || math.IsInf(v, 1)
		if state == "ascending" && v < last || state == "descending" && v > last {
			t.Errorf("%s %s: %v after %v in %q", head, state, v, last, texts)
			return
		}
		last = v
	}
	if head == "max/min" && (!infinite || !absentSeen) {
		t.Errorf("max/min has no infinite and no absent figure: the test is about nothing: %q", texts)
	}
}

func pageFilters(t *testing.T, ctx context.Context, rep *results.Report) {
	b := open(t, ctx, rep, 1500)
	all := len(b.rows())
	visible := func(selector string) int {
		return eval[int](b, fmt.Sprintf(`Array.from(document.querySelectorAll(%q)).filter(e => e.getBoundingClientRect().height > 0).length`, selector))
	}
	charts := visible("figure")
	locks := func() []string {
		var out []string
		for _, r := range b.rows() {
			if !slices.Contains(out, r[0].Text) {
				out = append(out, r[0].Text)
			}
		}
		return out
	}
	count := func(want string) {
		t.Helper()
		if got := eval[string](b, `document.querySelector(".filters output").textContent`); got != want {
			t.Errorf("the count says %q, want %q", got, want)
		}
	}
	count(fmt.Sprintf("%d of %d rows", all, all))
	b.do(chromedp.SendKeys(".filters input[name=lock]", "MCS, tas"))
	if got := locks(); !slices.Equal(got, []string{"mcs", "tas"}) {
		t.Errorf("filter MCS, tas: got %q", got)
	}
	count(fmt.Sprintf("6 of %d rows", all))
	choose := func(name, value string) {
		eval[bool](b, fmt.Sprintf(`(() => { const s = document.querySelector(".filters [name=%s]"); s.value = %q;
			s.dispatchEvent(new Event("input", {bubbles: true})); return s.value === %q })()`, name, value, value))
	}
	choose("workers", "2")
	for _, r := range b.rows() {
		if got := r[b.column("workers")].Text; got != "2" {
			t.Errorf("filter workers=2 shows a row of %s", got)
		}
	}
	count(fmt.Sprintf("2 of %d rows", all))
	if got := visible("figure"); got != 1+3 {
		t.Errorf("workers=2 shows %d charts of %d, want that of throughput and three", got, charts)
	}
	eval[*int](b, `document.querySelector(".filters input[name=lock]").select()`)
	b.do(chromedp.SendKeys(".filters input[name=lock]", "nothing"))
	if visible("p.none") != 1 || len(b.rows()) != 0 {
		t.Errorf("no row matches: %d rows, and the page does not say so", len(b.rows()))
	}
	count(fmt.Sprintf("0 of %d rows", all))
	b.do(chromedp.Click(".filters button[type=reset]", chromedp.NodeVisible))
	b.do(chromedp.WaitNotVisible("p.none"))
	if got := len(b.rows()); got != all || visible("figure") != charts {
		t.Errorf("after reset: %d of %d rows, %d of %d charts", got, all, visible("figure"), charts)
	}
	choose("workload", "moderate")
	count(fmt.Sprintf("%d of %d rows", all, all))
}

func pageKeyboard(t *testing.T, ctx context.Context, rep *results.Report) {
	b := open(t, ctx, rep, 1500)
	i := b.column("throughput")
	for range 60 {
		b.do(chromedp.KeyEvent("\t"))
		if eval[int](b, `document.activeElement.closest("thead tr:first-child th") ? document.activeElement.closest("th").cellIndex : -1`) == i {
			break
		}
	}
	if eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
		t.Error("the focus cannot be seen")
	}
	b.do(chromedp.KeyEvent("\r"))
	checkOrder(t, "throughput", "descending", b.rows(), i)
	if got := eval[string](b, `document.querySelector("th[aria-sort=descending]").textContent`); got != "throughput" {
		t.Errorf("tab and enter sort %q, want throughput", got)
	}
}

func pagePrints(t *testing.T, ctx context.Context, rep *results.Report) {
	// A4 across, less the margins.
	b := open(t, ctx, rep, 1046, media("print", "dark"))
	b.shoot("print")
	if got := eval[string](b, `getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		t.Errorf("printed on %s", got)
	}
	if eval[bool](b, `document.querySelector(".filters").getBoundingClientRect().height > 0`) {
		t.Error("the filters are printed")
	}
	if w := eval[int](b, `Math.max(...Array.from(document.querySelectorAll("table, svg")).map(e => e.getBoundingClientRect().right))`); w > 1046 {
		t.Errorf("the widest table or chart ends at %d of 1046 pixels: it is cut off", w)
	}
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Errorf("print: %d bytes, %v", len(pdf), err)
	}
}

func pageWithoutScript(t *testing.T, ctx context.Context, rep *results.Report) {
	b := open(t, ctx, rep, 1500, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	b.shoot("noscript")
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
		return err
	}))
	if n := len(b.rows()); n != 15 {
		t.Errorf("got %d rows, want 15", n)
	}
	if n := eval[int](b, `document.querySelectorAll("thead button").length`); n != 0 {
		t.Errorf("%d buttons that do nothing", n)
	}
	if eval[bool](b, `document.querySelector(".filters").getBoundingClientRect().height > 0`) {
		t.Error("filters that do nothing are shown")
	}
}

func TestHTMLSameBytes(t *testing.T) {
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := HTML(out, load(t, "testdata/run.jsonl", "testdata/special.jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two pages of the same files differ")
	}
}

// TestHTMLColumns: each figure sorts by a number.
func TestHTMLColumns(t *testing.T) {
	for _, r := range load(t, "testdata/run.jsonl", "testdata/special.jsonl").Runs {
		for _, s := range r.Sections {
			for _, c := range columns(s) {
				if c.of == nil && !c.left {
					t.Errorf("%s: the column %q has no figure to sort by", s.Workload, c.head)
				}
			}
		}
	}
}
