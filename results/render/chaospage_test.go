package render

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"lockbench/results"
)

func TestChaosPage(t *testing.T) {
	ctx := browser(t)
	rep := load(t, "testdata/chaos.jsonl")
	t.Run("matrix", func(t *testing.T) { chaosPageMatrix(t, ctx, rep) })
	t.Run("contrast", func(t *testing.T) { chaosPageContrast(t, ctx, rep) })
	t.Run("phone", func(t *testing.T) { chaosPagePhone(t, ctx, rep) })
	t.Run("hostile", func(t *testing.T) { chaosPageHostile(t, ctx) })
	t.Run("mixed", func(t *testing.T) {
		b := open(t, ctx, load(t, "testdata/run.jsonl", "testdata/chaos-bad.jsonl"), 1500)
		b.shoot("chaos-mixed")
		if got := eval[[]int](b, `["table.results", "table.matrix", "svg.chart"].map(s => document.querySelectorAll(s).length)`); got[0] != 1 || got[1] < 1 || got[2] < 1 {
			t.Errorf("tables of results, matrices and charts: %v, want some of each", got)
		}
	})
}

func chaosPageMatrix(t *testing.T, ctx context.Context, rep *results.Report) {
	b := open(t, ctx, rep, 1500, media("", "light"))
	b.shoot("chaos")
	for kind, want := range map[string]int{"safe": 33, "fence": 8, "unsafe": 13, "unknown": 1, "skipped": 14, "differs": 2} {
		if got := eval[int](b, fmt.Sprintf(`document.querySelectorAll(".matrix td.%s").length`, kind)); got != want {
			t.Errorf("%d cells %s, want %d", got, kind, want)
		}
	}
	// Each kind has its colour, and says the same in words.
	colours := eval[[]string](b, `[".safe", ".fence", ".unsafe", ".unknown", ".skipped"].map(k => getComputedStyle(document.querySelector(".matrix td" + k)).backgroundColor)`)
	slices.Sort(colours)
	if n := len(slices.Compact(colours)); n != 5 {
		t.Errorf("%d colours for 5 kinds: %v", n, colours)
	}
	if got := eval[string](b, `document.querySelector(".matrix td.differs").textContent.trim()`); got != "UNSAFE!" {
		t.Errorf("the first cell that differs reads %q", got)
	}
	if got := eval[string](b, `document.querySelector(".matrix td.fence").title`); got != "redis / holder-pause / careful: safe-with-fence in 10 of 10 rounds, expected safe-with-fence; next grant after 861 ms, at most 990 ms, bound 1.05 s; 10 of 10 rounds: the paused holder wrote after the next grant; the fenced store refused it" {
		t.Errorf("a cell's tip is %q", got)
	}
	// Each link leads to the figures of its cell.
	if broken := eval[[]string](b, `Array.from(document.querySelectorAll("a[href^='#']")).map(a => a.getAttribute("href")).filter(h => !document.querySelector(h))`); len(broken) > 0 {
		t.Errorf("links to nowhere: %q", broken)
	}
	if got := eval[[]string](b, `Array.from(document.querySelector(document.querySelector(".matrix td.fence a").getAttribute("href")).cells).slice(0, 4).map(c => c.textContent)`); !slices.Equal(got, []string{"redis", "holder-pause", "careful", "fence"}) {
		t.Errorf("the figures of a cell are those of %q", got)
	}
	if got := eval[int](b, `Array.from(document.querySelectorAll("details")).filter(d => d.querySelector("pre").textContent.includes("FAULT")).length`); got != 4 {
		t.Errorf("%d timelines of bad rounds, want 4", got)
	}
}

func chaosPageContrast(t *testing.T, ctx context.Context, rep *results.Report) {
	for _, scheme := range []string{"light", "dark"} {
		b := open(t, ctx, rep, 1500, media("", scheme))
		b.shoot("chaos-" + scheme)
		got := eval[struct {
			Bad   []string
			Texts int
		}](b, contrastScript)
		if got.Texts < 100 {
			t.Errorf("%s: only %d texts were looked at", scheme, got.Texts)
		}
		for _, bad := range got.Bad[:min(10, len(got.Bad))] {
			t.Errorf("%s: too little contrast: %s", scheme, bad)
		}
	}
}

func chaosPagePhone(t *testing.T, ctx context.Context, rep *results.Report) {
	b := open(t, ctx, rep, 390, media("", "light"))
	b.shoot("chaos-phone")
	if w := eval[[]int](b, `[document.scrollingElement.scrollWidth, innerWidth]`); w[0] > w[1] {
		t.Errorf("the page is %d pixels wide on a screen of %d", w[0], w[1])
	}
	eval[int](b, `document.querySelector(".matrix").parentElement.scrollLeft = 300`)
	if left := eval[float64](b, `document.querySelector(".matrix tbody th").getBoundingClientRect().left`); left < 0 {
		t.Errorf("scrolled, the fault's name is at %v", left)
	}
}

// chaosPageHostile puts what HTML would obey into every text of a verdict.
func chaosPageHostile(t *testing.T, ctx context.Context) {
	const evil = `"><img src=x onerror=window.pwned=1></pre></details><script>window.pwned=1</script>`
	v := &results.ChaosVerdict{Lock: evil, Peer: evil, Topology: evil, Network: evil, Version: evil, Fault: evil, On: evil, Policy: evil, Verdict: results.VerdictUnsafe,
		Expected: results.VerdictSafe, Rounds: 1, Bad: 1, Reason: evil, Theory: evil, Note: evil, BoundText: evil, Counterexample: evil, Counterfile: evil,
		Recovery: &results.Timing{Count: 1, P50: 5, Max: 5}, BoundMS: new(float64)}
	skipped := *v
	skipped.Verdict, skipped.Lock = results.VerdictSkipped, evil+"2"
	tab := open(t, ctx, results.NewChaosReport(&results.Run{}, []*results.ChaosVerdict{v, &skipped}, nil).Report(), 1500)
	if got := eval[string](tab, `String(window.pwned)`); got != "undefined" {
		t.Errorf("a text was executed: %s", got)
	}
	if n := eval[int](tab, `document.querySelectorAll("img, script:not(:last-of-type)").length`); n != 0 {
		t.Errorf("%d texts became elements", n)
	}
	if got := eval[string](tab, `document.querySelector("details pre").textContent`); got != evil {
		t.Errorf("the timeline is shown as %q", got)
	}
}
