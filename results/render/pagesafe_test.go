package render

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockbench/results"
)

// pageHostile puts what HTML, SVG, CSS and scripts would obey into every text of
// a file.
func pageHostile(t *testing.T, ctx context.Context) {
	names := []string{
		`<img src=x onerror=window.pwned=1>`,
		`"><script>window.pwned=1</script>`,
		`</title></style></script><script>window.pwned=1</script>`,
		`' onmouseover='window.pwned=1`,
		`{{.}}${1}` + "`]]>-->",
		`<svg/onload=window.pwned=1>&lt;b&gt;`,
		`javascript:window.pwned=1`,
	}
	b := results.NewBuilder(results.KeepHistograms())
	add := func(rec results.Record) {
		t.Helper()
		if err := b.Add(`<b>file</b>.jsonl`, rec); err != nil {
			t.Fatal(err)
		}
	}
	add(results.Record{Run: &results.Run{
		RunID: names[1], Reps: 1, Started: names[0], Labels: map[string]string{names[0]: names[2]},
		Host: map[string]any{"cpu_model": names[2], "kernel": names[1]}, Doubts: names,
	}})
	for i, name := range names {
		for _, workers := range []int{2, 4} {
			s := syntheticSample(t, name, i, workers, 0)
			s.Family, s.Workload, s.Flags = name, names[2], []string{name + ": " + name}
			s.Pin, s.Cell = name, name+"/workload="+names[2]+"/"+name
			add(results.Record{Sample: s})
			bad := syntheticSample(t, name+"!", i, workers, 0)
			bad.Workload, bad.Outcome, bad.Reason = names[2], results.OutcomeHang, name
			add(results.Record{Sample: bad})
			skipped := syntheticSample(t, name+"?", i, workers, 0)
			skipped.Workload, skipped.Outcome, skipped.Reason = names[2], results.OutcomeSkipped, name
			add(results.Record{Sample: skipped})
		}
	}
	tab := open(t, ctx, b.Report(), 1500)
	tab.shoot("hostile")
	if got := eval[string](tab, `String(window.pwned)`); got != "undefined" {
		t.Errorf("a name was executed: %s", got)
	}
	for _, element := range []string{"img", "script:not(:last-of-type)", "b", "svg:not(.chart)", "[onmouseover]", "[onload]", "[onerror]", "style style"} {
		if n := eval[int](tab, fmt.Sprintf(`document.querySelectorAll(%q).length`, element)); n != 0 {
			t.Errorf("%d elements %s: a name became one", n, element)
		}
	}
	shown := eval[[]string](tab, `Array.from(document.querySelectorAll("table.results tbody th")).map(e => e.textContent)`)
	titles := eval[string](tab, `Array.from(document.querySelectorAll("svg title")).map(e => e.textContent).join("\n")`)
	for _, name := range names {
		if !slices.Contains(shown, name) {
			t.Errorf("the table does not show the lock %q", name)
		}
	}
	if titles == "" || !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(titles, n) }) {
		t.Error("the charts do not name the locks")
	}
}

// contrastScript finds texts and marks that differ too little from what is
// behind them. The formula is that of WCAG 2.1, relative luminance and contrast
// ratio.
const contrastScript = `(() => {
  const rgb = s => { const m = s.match(/^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/); return m ? [+m[1], +m[2], +m[3], m[4] === undefined ? 1 : +m[4]] : null };
  const luminance = c => { const f = c.slice(0, 3).map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 });
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2] };
  const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c && c[3] === 1) return c } return null };
  const bad = []; let texts = 0, marks = 0;
  for (const e of document.body.querySelectorAll("*")) {
    if (e.closest("title") || e.getBoundingClientRect().width === 0) continue;
    const style = getComputedStyle(e), back = behind(e);
    const svg = e instanceof SVGElement;
    if (Array.from(e.childNodes).some(n => n.nodeType === 3 && n.textContent.trim() !== "")) {
      const c = rgb(svg ? style.fill : style.color);
      texts++;
      const r = back && c ? ratio(c, back) : 0;
      if (r < 4.5) bad.push("text " + r.toFixed(2) + " " + e.outerHTML.slice(0, 120));
    } else if (svg && /\b[lm]\d|control/.test(e.getAttribute("class") || "")) {
      const open = /\bopen\b|\bline|bar|control-line/.test(e.getAttribute("class"));
      const c = rgb(open ? style.stroke : style.fill);
      marks++;
      if (!c || ratio(c, back) < 3) bad.push("mark " + e.outerHTML.slice(0, 120));
    }
  }
  return {bad, texts, marks};
})()`

func pageContrast(t *testing.T, ctx context.Context, rep *results.Report) {
	backgrounds := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		b := open(t, ctx, rep, 1500, media("", scheme))
		b.shoot("contrast-" + scheme)
		got := eval[struct {
			Bad          []string
			Texts, Marks int
		}](b, contrastScript)
		if got.Texts < 100 || got.Marks < 100 {
			t.Errorf("%s: only %d texts and %d marks were looked at", scheme, got.Texts, got.Marks)
		}
		for i, bad := range got.Bad {
			if i < 10 {
				t.Errorf("%s: too little contrast: %s", scheme, bad)
			}
		}
		backgrounds[scheme] = eval[string](b, `getComputedStyle(document.body).backgroundColor`)
	}
	if backgrounds["light"] == backgrounds["dark"] {
		t.Errorf("light and dark are the same: %v", backgrounds)
	}
}
