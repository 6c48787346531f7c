package render

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"lockbench/results"
)

// requireBrowser makes a missing browser an error. CI, which installs one, sets
// it: a test that is always skipped checks nothing.
const requireBrowser = "LOCKBENCH_REQUIRE_BROWSER"

// browser starts a headless Chromium for a test.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is not needed to find data races")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv(requireBrowser) != "" {
			t.Fatalf("%s is set, and there is no chromium on the PATH", requireBrowser)
		}
		t.Skip("there is no chromium on the PATH (Debian: apt-get install chromium)")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// A tab is a page in the browser, with what it did.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	requests []string
	errors   []string
}

// open writes the report as HTML and opens the file in a tab of its own. At the
// end of the test the page must have asked for nothing but itself, and have
// logged no error.
func open(t *testing.T, ctx context.Context, rep *results.Report, width int64, steps ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, rep); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	tabCtx, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	limited, cancel := context.WithTimeout(tabCtx, 2*time.Minute)
	b := &tab{t: t, ctx: tabCtx, url: "file://" + path}
	if err := chromedp.Listen(tabCtx, b.event); err != nil {
		t.Fatal(err)
	}
	b.ctx = limited
	t.Cleanup(cancel)
	b.do(chromedp.EmulateViewport(width, 900))
	b.do(steps...)
	b.do(chromedp.Navigate(b.url))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, u := range b.requests {
			if u != b.url && u != "data:," {
				t.Errorf("the page asked for %s", u)
			}
		}
		if len(b.requests) == 0 {
			t.Error("no request was seen, not even for the file: events are lost")
		}
		for _, e := range b.errors {
			t.Errorf("the page logged: %s", e)
		}
	})
	return b
}

func (b *tab) event(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.errors = append(b.errors, fmt.Sprintf("console.%s", ev.Type))
	case *log.EventEntryAdded:
		b.errors = append(b.errors, fmt.Sprintf("%s: %s", ev.Entry.Level, ev.Entry.Text))
	case *page.EventJavascriptDialogOpening:
		b.errors = append(b.errors, "dialog: "+ev.Message)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval is the value of an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// media emulates what media queries ask for.
func media(kind, scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: kind, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

// shoot takes a picture of the page, and fails if there is nothing on it. With
// LOCKBENCH_SCREENSHOTS=DIR it is kept there, for whoever changes the looks.
func (b *tab) shoot(name string) {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("LOCKBENCH_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	colours, box := map[[3]uint32]int{}, img.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y += 2 {
		for x := box.Min.X; x < box.Max.X; x += 2 {
			r, g, bl, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r, g, bl}]++
		}
	}
	most, all := 0, 0
	for _, n := range colours {
		most, all = max(most, n), all+n
	}
	if len(colours) < 50 || most > all*99/100 {
		b.t.Errorf("%s: %d colours, and one has %d of %d pixels: is the page blank?", name, len(colours), most, all)
	}
}

// synthetic is a run with what pages show: several numbers of workers, a
// histogram each, a control, an infinite and an absent figure, a violation.
func synthetic(t *testing.T, locks ...string) *results.Report {
	t.Helper()
	b := results.NewBuilder(results.KeepHistograms())
	add := func(rec results.Record) {
		t.Helper()
		if err := b.Add("synthetic.jsonl", rec); err != nil {
			t.Fatal(err)
		}
	}
	add(results.Record{Run: &results.Run{
		RunID: "r", Reps: 7, Seed: 1, Started: "2026-01-10T09:15:00Z",
		Host: map[string]any{"cpu_model": "Testchip 9", "logical_cpus": 2}, Doubts: []string{"a doubt about the host"},
	}})
	for w := 1; w <= 4; w *= 2 {
		for i, name := range append([]string{"null"}, locks...) {
			for rep := range 7 {
				s := syntheticSample(t, name, i, w, rep)
				if i == 3 && w == 4 && rep == 6 {
					s.Outcome, s.Reason = results.OutcomeViolation, "two workers in the section"
				}
				add(results.Record{Sample: s})
			}
		}
	}
	return b.Report()
}

func syntheticSample(t *testing.T, name string, i, workers, rep int) *results.Sample {
	t.Helper()
	rate := 1e6*float64(10-i)/float64(workers) + float64(rep*997%7)*2e4
	ops := int64(rate / 10)
	s := &results.Sample{
		Cell: fmt.Sprintf("%s/workload=moderate/workers=%d", name, workers), Lock: name, Family: fmt.Sprintf("family%d", i/3),
		Control: name == "null", Workload: "moderate", Workers: workers, Cores: 2, Pin: "none", Clients: 1, Rep: rep,
		Dispatch: "direct", Threads: "free", Outcome: results.OutcomeOK,
		Ops: ops, ElapsedNS: 1e8, ThroughputOps: float64(ops) * 10, WallNSPerOp: 1e8 / float64(ops), CPUNSPerOp: 2e8 / float64(ops),
	}
	h := results.NewHist()
	for k := range int64(2000) {
		ns := 20 + k%100
		if k%97 == 0 {
			ns = 1000 * (1 + k/97)
		}
		h.Record(ns*int64(i+1), 16)
	}
	l, err := h.Latency(16)
	if err != nil {
		t.Fatal(err)
	}
	s.Acquire = l
	if workers > 1 {
		jain, most := 1-float64(i)/20, 1+float64(i)
		s.Fairness.Jain, s.Fairness.MaxMin = &jain, &most
		s.PerWorkerOps = make([]int64, workers)
		s.PerWorkerOps[0] = ops
		if i == 2 { // starved: max/min is infinite
			s.Fairness.MaxMin = nil
		} else {
			share := ops / int64(workers)
			for k := range s.PerWorkerOps {
				s.PerWorkerOps[k] = share
			}
			s.PerWorkerOps[0] += ops - share*int64(workers)
		}
	}
	return s
}

// A cell of the table as the page shows it.
type shownCell struct {
	Text string
	V    *string // the figure; nil = the column is text
}

// rows are the visible rows of the first table.
func (b *tab) rows() [][]shownCell {
	b.t.Helper()
	return eval[[][]shownCell](b, `Array.from(document.querySelector("table.results").tBodies)
		.filter(r => r.getBoundingClientRect().height > 0)
		.map(r => [...r.rows[0].cells, r.rows[1] ? r.rows[1].cells[0] : document.createElement("td")].map(c => ({Text: c.textContent.trim(), V: c.dataset.v === undefined ? null : c.dataset.v})))`)
}

func (b *tab) heads() []string {
	b.t.Helper()
	return eval[[]string](b, `Array.from(document.querySelectorAll("table.results thead th")).map(h => h.textContent.trim())`)
}

// button is the selector of what sorts by a column; the last is that of marks,
// below the others.
func (b *tab) button(column int) string {
	if column == len(b.heads())-1 {
		return `table.results thead tr:nth-child(2) button`
	}
	return fmt.Sprintf(`table.results thead tr:first-child th:nth-child(%d) button`, column+1)
}

// column is where a head stands.
func (b *tab) column(head string) int {
	b.t.Helper()
	for i, h := range b.heads() {
		if h == head {
			return i
		}
	}
	b.t.Fatalf("no column %q among %q", head, b.heads())
	return 0
}

// figure reads a cell's own text, "1.29 ns" or "inf", and not what the page
// sorts by.
func figure(text string) (float64, bool) {
	text = strings.TrimPrefix(strings.TrimPrefix(text, ">"), "<")
	number, unit, _ := strings.Cut(text, " ")
	if number == "inf" {
		return math.Inf(1), true
	}
	var v float64
	if _, err := fmt.Sscanf(number, "%g", &v); err != nil {
		return 0, false
	}
	scale := map[string]float64{
		"": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "%": 1, "/s": 1, "k/s": 1e3, "M/s": 1e6, "G/s": 1e9,
	}
	by, ok := scale[unit]
	return v * by, ok
}
