package charts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/results"
)

// build makes a report of samples.
func build(t *testing.T, samples ...*results.Sample) *results.Report {
	t.Helper()
	b := results.NewBuilder(results.KeepHistograms())
	if err := b.Add("f", results.Record{Run: &results.Run{RunID: "r", Reps: 7}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if err := b.Add("f", results.Record{Sample: s}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Report()
}

// sample is an ok repetition of a rate, with a histogram.
func sample(lock string, workers, rep int, rate float64) *results.Sample {
	ops := int64(rate / 10)
	jain := 0.9
	s := &results.Sample{
		Cell: fmt.Sprintf("%s/workload=moderate/workers=%d", lock, workers), Lock: lock, Family: strings.TrimRight(lock, "0123456789"),
		Control: lock == "null", Workload: "moderate", Workers: workers, Cores: 2, Rep: rep, Outcome: results.OutcomeOK,
		Ops: ops, ElapsedNS: 1e8, ThroughputOps: float64(ops) * 10, Fairness: results.Fairness{Jain: &jain},
	}
	h := results.NewHist()
	for ns := int64(1); ns <= 5000; ns++ {
		h.Record(ns, 1)
	}
	s.Acquire, _ = h.Latency(1)
	return s
}

// cell is seven repetitions of about a rate.
func cell(lock string, workers int, rate float64) []*results.Sample {
	var out []*results.Sample
	for rep := range 7 {
		out = append(out, sample(lock, workers, rep, rate*(1+float64(rep)/100)))
	}
	return out
}

func with(samples []*results.Sample, change func(*results.Sample)) []*results.Sample {
	for _, s := range samples {
		change(s)
	}
	return samples
}

func outcome(o, reason string) func(*results.Sample) {
	return func(s *results.Sample) { s.Outcome, s.Reason = o, reason }
}

// many is 35 locks of 12 families, with one to four workers.
func many() []*results.Sample {
	var all []*results.Sample
	for i := range 35 {
		for w := 1; w <= 4; w *= 2 {
			all = append(all, cell(fmt.Sprintf("%c%d", 'a'+i/3, i), w, 1e6/float64(1+i)/float64(w))...)
		}
	}
	return all
}

func draw(t *testing.T, rep *results.Report) []*Chart {
	t.Helper()
	var all []*Chart
	for _, r := range rep.Runs {
		cs, err := Of(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cs...)
	}
	for _, c := range all {
		wellFormed(t, c.Name, []byte(c.Inline()))
		wellFormed(t, c.Name, c.File())
	}
	return all
}

// wellFormed reads XML to its end.
func wellFormed(t *testing.T, name string, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s is not well-formed: %v", name, err)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains([]string{"svg", "title", "style", "rect", "g", "path", "text", "circle"}, e.Name.Local) {
			t.Errorf("%s has an element %q", name, e.Name.Local)
		}
		for _, a := range e.Attr {
			if slices.Contains([]string{"style", "fill", "stroke", "href"}, a.Name.Local) || strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("%s has an attribute %s=%q: looks belong to classes", name, a.Name.Local, a.Value)
			}
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
			}
		}
	}
}

func names(cs []*Chart) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Name)
	}
	return out
}

func TestWhatIsDrawn(t *testing.T) {
	inOne := []string{"throughput-moderate-2w", "repetitions-moderate-2w", "fairness-moderate-2w", "latency-moderate-2w"}
	for _, tc := range []struct {
		name    string
		samples []*results.Sample
		want    []string // names of charts
		say     []string // in the captions
	}{
		{"no cells", nil, nil, nil},
		{"one number of workers", slices.Concat(cell("null", 2, 9e7), cell("mcs", 2, 1e6)), inOne,
			[]string{"null is a control, not a lock", "95 % interval"}},
		{"three", slices.Concat(cell("mcs", 1, 4e6), cell("mcs", 2, 1e6), cell("mcs", 4, 1e3)),
			[]string{"throughput-moderate", "fairness-moderate-2w", "fairness-moderate-4w", "latency-moderate-1w", "latency-moderate-2w",
				"latency-moderate-4w", "repetitions-moderate-1w", "repetitions-moderate-2w", "repetitions-moderate-4w"}, nil},
		{"one repetition", cell("mcs", 2, 1e6)[:1], inOne, []string{"No bars: fewer than 6 repetitions"}},
		{"only controls", cell("null", 2, 1e6), inOne, nil},
		{"only skipped", with(cell("mcs", 2, 1e6)[:1], outcome(results.OutcomeSkipped, "cannot")), nil, nil},
		{"only violations", with(cell("mcs", 2, 1e6), outcome(results.OutcomeViolation, "two")), nil, nil},
		{"no operation", with(cell("mcs", 2, 1e6), func(s *results.Sample) {
			s.Ops, s.ThroughputOps, s.Acquire, s.Fairness.Jain = 0, 0, nil, nil
		}), []string{"throughput-moderate-2w"}, nil},
		{"the absent are named", slices.Concat(cell("mcs", 2, 1e6),
			with(cell("racy", 2, 1e6)[:1], outcome(results.OutcomeViolation, "two workers")),
			with(cell("stuck", 2, 1e6), outcome(results.OutcomeHang, "no progress")),
			with(cell("old", 2, 1e6)[:1], outcome(results.OutcomeSkipped, "for one worker")),
			cell("flaky", 2, 1e6)[:6], with(cell("flaky", 2, 1e6)[6:], outcome(results.OutcomeHang, ""))),
			inOne, []string{"racy (VIOLATION in 1 of 1)", "stuck (HANG in 7 of 7)", "old (skipped: for one worker)",
				"Drawn from the other repetitions: flaky (HANG in 1 of 7)."}},
		{"few samples", with(cell("mcs", 2, 1e6)[:1], func(s *results.Sample) {
			h := results.NewHist()
			h.Record(5, 1)
			s.Acquire, _ = h.Latency(1)
		}), inOne[:3], nil},
		{"a paired session", slices.Concat(with(cell("mcs", 2, 1e6), func(s *results.Sample) { s.Side = results.SideOld }),
			with(cell("mcs", 2, 2e6), func(s *results.Sample) { s.Side = results.SideNew })),
			[]string{"throughput-moderate-2w-the-old-side", "repetitions-moderate-2w-the-old-side", "fairness-moderate-2w-the-old-side",
				"latency-moderate-2w-the-old-side", "throughput-moderate-2w-the-new-side", "repetitions-moderate-2w-the-new-side",
				"fairness-moderate-2w-the-new-side", "latency-moderate-2w-the-new-side"}, nil},
		{"other cores", slices.Concat(cell("mcs", 2, 1e6), with(cell("mcs", 2, 1e6), func(s *results.Sample) { s.Cores = 1 })),
			append(slices.Clone(inOne), "throughput-moderate-2w-2", "repetitions-moderate-2w-2", "fairness-moderate-2w-2", "latency-moderate-2w-2"), nil},
	} {
		cs := draw(t, build(t, tc.samples...))
		got := names(cs)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
		for _, c := range cs {
			caption := strings.Join(c.Caption, " ")
			for _, s := range tc.say {
				if strings.HasPrefix(c.Name, "throughput") && !strings.Contains(caption, s) {
					t.Errorf("%s: the caption of %s is %q, want %q in it", tc.name, c.Name, caption, s)
				}
			}
		}
	}
}

// TestMany: each of 35 locks is in colour in one panel, with its name, and no
// panel has more than can be told apart.
func TestMany(t *testing.T) {
	cs := draw(t, build(t, many()...))
	c := cs[0]
	if c.Name != "throughput-moderate" || !c.Wide {
		t.Fatalf("the first chart is %q, wide %v", c.Name, c.Wide)
	}
	for i := range 35 {
		name := fmt.Sprintf("%c%d", 'a'+i/3, i)
		if n := strings.Count(c.body, ">"+name+"</text>"); n != 1 {
			t.Errorf("%s is named %d times, want once", name, n)
		}
	}
	for i, panel := range strings.Split(c.body, "<g transform=")[1:] {
		if n := strings.Count(panel, `class="line l`); n < 1 || n > maxLines {
			t.Errorf("panel %d has %d lines", i, n)
		}
		if n := strings.Count(panel, `class="context"`); n != 35 {
			t.Errorf("panel %d has %d lines of context, want 35", i, n)
		}
	}
	seen := map[string]string{}
	for name, id := range identify(build(t, many()...).Runs[0]) {
		look := fmt.Sprint(id.hue, "/", id.shape)
		if seen[look] != "" {
			t.Errorf("%s and %s look the same: hue and marker %s", name, seen[look], look)
		}
		seen[look] = name
	}
}

func TestSameBytes(t *testing.T) {
	first := draw(t, build(t, many()...))
	second := draw(t, build(t, many()...))
	for i := range first {
		if a, b := first[i].File(), second[i].File(); !bytes.Equal(a, b) {
			t.Errorf("%s differs when it is drawn again", first[i].Name)
		}
	}
}

func TestEveryRepetitionIsADot(t *testing.T) {
	samples := cell("mcs", 2, 1e6)
	samples[3].ThroughputOps, samples[3].Ops = 1e8, 1e7 // far outside
	for _, c := range draw(t, build(t, samples...)) {
		if !strings.HasPrefix(c.Name, "repetitions") {
			continue
		}
		if dots, rings := strings.Count(c.body, "dot\" cx"), strings.Count(c.body, `r="6"`); dots != 7 || rings != 1 {
			t.Errorf("got %d dots and %d rings, want 7 and 1", dots, rings)
		}
		if !strings.Contains(c.body, "<title>mcs, repetition 3: 100 M/s, 96.2× the median, an outlier</title>") {
			t.Errorf("the outlier does not say what it is: %s", c.body)
		}
		if caption := strings.Join(c.Caption, " "); !strings.Contains(caption, "outliers, which count like all others: mcs repetition 3.") {
			t.Errorf("the caption does not name the outlier: %s", caption)
		}
		return
	}
	t.Error("no chart of repetitions")
}

// TestHostileNames: names are text in SVG, too.
func TestHostileNames(t *testing.T) {
	name := `<script>alert("1")</script>&'` + "\x00\x1b]]>"
	samples := with(cell("mcs", 2, 1e6), func(s *results.Sample) {
		s.Lock, s.Workload, s.Family, s.Pin, s.Flags = name, name, name, name, []string{name}
		s.Cell = name + "/workload=" + name
	})
	for _, c := range draw(t, build(t, samples...)) {
		if strings.Contains(c.Inline(), "<script") || bytes.Contains(c.File(), []byte("<script")) {
			t.Errorf("%s has an element of a name", c.Name)
		}
		if !strings.Contains(c.body, "&lt;script&gt;") {
			t.Errorf("%s does not show the name", c.Name)
		}
		if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
			t.Errorf("the file name %q", c.Name)
		}
	}
}

func TestHuge(t *testing.T) {
	var samples []*results.Sample
	for i, rate := range []float64{1e-3, 1, 1e9, 9e15} {
		samples = append(samples, with(cell(fmt.Sprintf("l%d", i), 100000, rate), func(s *results.Sample) {
			s.Ops, s.ThroughputOps, s.ElapsedNS = 1, rate, int64(min(1e16, 1e9/rate))
			if rate > 1e9 {
				s.Ops, s.ElapsedNS = int64(rate), 1e9
			}
		})...)
	}
	if n := len(draw(t, build(t, samples...))); n != 4 {
		t.Errorf("got %d charts, want 4", n)
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{
		"throughput-moderate-": "throughput-moderate", "a/../../b": "a-..-b", "..": "", "Ä b": "b", "section=1.5": "section-1.5",
		strings.Repeat("x", 300): strings.Repeat("x", 100),
	} {
		if got := slug(in); got != want && !(in == "a/../../b" && !strings.Contains(got, "/")) {
			t.Errorf("slug(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestWriteFiles(t *testing.T) {
	rep := build(t, cell("mcs", 2, 1e6)...)
	dir := filepath.Join(t.TempDir(), "new", "charts")
	paths, err := WriteFiles(dir, false, rep)
	if err != nil || len(paths) != 4 {
		t.Fatalf("got %q, %v; want four files", paths, err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, p, data)
		for _, want := range []string{`class="background"`, "<style>", "prefers-color-scheme:dark"} {
			if !bytes.Contains(data, []byte(want)) {
				t.Errorf("%s has no %s: it does not stand alone", p, want)
			}
		}
	}
	mine := []byte("mine")
	if err := os.WriteFile(paths[2], mine, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	var exists *ExistsError
	if _, err := WriteFiles(dir, false, rep); !errors.As(err, &exists) || !errors.Is(err, fs.ErrExist) || len(exists.Paths) != 3 {
		t.Errorf("files in the way: got %v", err)
	}
	if got, _ := os.ReadFile(paths[2]); !bytes.Equal(got, mine) {
		t.Error("a file was replaced without force")
	}
	if _, err := os.Stat(paths[0]); err == nil {
		t.Error("a part of the charts was written")
	}
	if _, err := WriteFiles(dir, true, rep); err != nil {
		t.Errorf("force: %v", err)
	}
	if got, _ := os.ReadFile(paths[2]); bytes.Equal(got, mine) {
		t.Error("force replaces nothing")
	}
}

// TestPalette computes contrast as WCAG 2.1 does.
func TestPalette(t *testing.T) {
	luminance := func(hex string) float64 {
		var c [3]int
		if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
			t.Fatal(hex, err)
		}
		l := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v := float64(c[i]) / 255
			if v <= 0.03928 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			l += weight * v
		}
		return l
	}
	ratio := func(a, b string) float64 {
		x, y := luminance(a), luminance(b)
		return (max(x, y) + 0.05) / (min(x, y) + 0.05)
	}
	for name, th := range map[string]theme{"light": light, "dark": dark} {
		for what, colour := range map[string]string{"text": th.text, "muted": th.muted} {
			if r := ratio(colour, th.background); r < 4.5 {
				t.Errorf("%s: %s has a contrast of %.2f, want 4.5", name, what, r)
			}
		}
		for i, colour := range th.series {
			if r := ratio(colour, th.background); r < 3 {
				t.Errorf("%s: series %d has a contrast of %.2f, want 3", name, i, r)
			}
		}
	}
	for a := 2; a <= min(hues, shapes); a++ {
		if hues%a == 0 && shapes%a == 0 {
			t.Errorf("%d hues and %d shapes have the divisor %d", hues, shapes, a)
		}
	}
}
