package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"lockbench/internal/golden"
	"lockbench/results"
	"lockbench/results/num"
)

func load(t *testing.T, paths ...string) *results.Report {
	t.Helper()
	b := results.NewBuilder()
	for _, p := range paths {
		if err := b.AddFile(p); err != nil {
			t.Fatal(err)
		}
	}
	return b.Report()
}

func TestGolden(t *testing.T) {
	for name, paths := range map[string][]string{
		"run": {"testdata/run.jsonl"},
		// Another run, cut off, with hostile names; and the first once more.
		// An open loop, phases, tries, starvation, collapse, locked threads.
		"special":     {"testdata/special.jsonl"},
		"distributed": distributed,
		// Verdicts of all kinds; a failed control in an interrupted run; samples beside verdicts.
		"chaos":       {"testdata/chaos.jsonl"},
		"chaos-bad":   {"testdata/chaos-bad.jsonl"},
		"chaos-mixed": {"testdata/run.jsonl", "testdata/chaos-bad.jsonl"},
		"several":     {"testdata/hostile.jsonl", "testdata/run.jsonl", "./testdata/run.jsonl"},
	} {
		rep := load(t, paths...)
		for _, f := range Formats() {
			if f.Name == "html" {
				continue // its tests read it as a browser does
			}
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				var out bytes.Buffer
				if err := f.Write(&out, rep); err != nil {
					t.Fatal(err)
				}
				golden.Check(t, filepath.Join("testdata", name+"."+f.Name), out.Bytes())
				for i, r := range out.String() {
					if r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e) {
						t.Fatalf("control character %U at byte %d: %.60q", r, i, out.String()[i:])
					}
				}
			})
		}
	}
}

func TestTableFits(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, load(t, append(distributed, "testdata/run.jsonl", "testdata/special.jsonl")...)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line); n > maxColumns+1 {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.HasSuffix(line, " \n") {
			t.Errorf("white space at the end: %q", line)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"noisy", "noisy"},
		{"noisy, coherence 3/7, gc", "noisy,\ncoherence 3/7,\ngc"},
		{"skipped: for at most 2 workers", "skipped: for\nat most 2\nworkers"},
		{"aaaaaaaaaaaaaaaaaaaa b", "aaaaaaaaaaaaaaaaaaaa\nb"},
	} {
		if got := wrap(tc.in, 14); got != tc.want {
			t.Errorf("wrap(%q): got %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestEmptyReport(t *testing.T) {
	for _, f := range Formats() {
		var out bytes.Buffer
		if err := f.Write(&out, results.NewBuilder().Report()); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteErrors(t *testing.T) {
	rep := load(t, "testdata/run.jsonl")
	for _, f := range Formats() {
		if err := f.Write(failing{}, rep); err == nil {
			t.Errorf("%s: no error from a broken pipe", f.Name)
		}
	}
}

func TestInterval(t *testing.T) {
	real := func(v float64) *float64 { return &v }
	for _, tc := range []struct {
		median, lo, hi float64
		want           string
	}{{9.39e6, 4.1e6, 20.3e6, "4.10-20.3"}, {900e3, 0, 1.2e6, "0-1200"}, {0, 0, 28900, "0 /s-28.9 k/s"}, {1.31e9, 893e6, 1.5e9, "0.893-1.50"}, {58, 22, 57.8e6, "22.0 /s-57.8 M/s"}, {0, 0, 0, "0 /s-0 /s"}} {
		if got := interval(&results.Estimate{Median: tc.median, Lo: real(tc.lo), Hi: real(tc.hi)}); got != tc.want {
			t.Errorf("interval of %v: got %q, want %q", tc, got, tc.want)
		}
	}
	if got := interval(&results.Estimate{Median: 1}); got != num.Absent {
		t.Errorf("no interval: got %q", got)
	}
}

func TestLookup(t *testing.T) {
	for _, name := range Names() {
		if f, err := Lookup(name); err != nil || f.Name != name {
			t.Errorf("Lookup(%q): got %q, %v", name, f.Name, err)
		}
	}
	if _, err := Lookup("yaml"); err == nil || !strings.Contains(err.Error(), "table, markdown, csv, json, bench") {
		t.Errorf("Lookup(yaml): got %v, want the names there are", err)
	}
}

func TestBenchParses(t *testing.T) {
	var out bytes.Buffer
	rep := load(t, "testdata/run.jsonl")
	if err := Bench(&out, rep); err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, s := range rep.Runs[0].Samples {
		if s.Outcome == results.OutcomeOK && s.Lock != "racy" { // racy has violations
			want++
		}
	}
	got := 0
	r := benchfmt.NewReader(&out, "bench")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			got++
			base, parts := rec.Name.Parts()
			if base[0] < 'A' || base[0] > 'Z' || len(parts) != 2 || !bytes.HasPrefix(parts[0], []byte("/workload=")) {
				t.Errorf("name %q: base %q, parts %q", rec.Name, base, parts)
			}
			sec, ok := rec.Value("sec/op")
			rate, ok2 := rec.Value("ops/s")
			if !ok || !ok2 || math.Abs(sec*rate-1) > 0.01 {
				t.Errorf("%s: %g sec/op and %g ops/s do not agree", rec.Name, sec, rate)
			}
			if rec.GetConfig("cpu") == "" || rec.GetConfig("goos") != "linux" || rec.GetConfig("pkg") != "lockbench" {
				t.Errorf("%s: configuration %v", rec.Name, rec.Config)
			}
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %d benchmark lines, want %d", got, want)
	}
	if better := r.Units().GetBetter("ops/s"); better != 1 {
		t.Errorf("ops/s: better = %d, want 1 (higher)", better)
	}
}

// TestBenchHasTheUnlucky: a repetition without an operation is a line, and no
// figure comes from the others alone.
func TestBenchHasTheUnlucky(t *testing.T) {
	var out bytes.Buffer
	if err := Bench(&out, load(t, "testdata/special.jsonl")); err != nil {
		t.Fatal(err)
	}
	lines, idle := 0, 0
	r := benchfmt.NewReader(&out, "bench")
	for r.Scan() {
		rec, ok := r.Result().(*benchfmt.Result)
		if !ok || !strings.HasPrefix(rec.Name.String(), "Spin/") {
			continue
		}
		lines++
		rate, _ := rec.Value("ops/s")
		sec, _ := rec.Value("sec/op")
		if rate == 0 {
			idle++
			if sec != 0.1 {
				t.Errorf("no operation: %g sec/op, want the interval", sec)
			}
		}
		if _, ok := rec.Value("cpu-sec/op"); ok {
			t.Errorf("%s has a figure that other repetitions lack", rec.Name)
		}
	}
	if lines != 7 || idle != 5 {
		t.Errorf("got %d lines, %d of them idle; want 7 and 5", lines, idle)
	}
}

func TestBenchName(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"mcs/workload=moderate/workers=2", "Mcs/workload=moderate/workers=2"},
		{"ticket-park/a=b c\u00a0d", "Ticket-park/a=b_c_d"},
		{"éa", "Éa"},
		{"2pl", "2pl"},
	} {
		if got := benchName(tc.in); got != tc.want {
			t.Errorf("benchName(%q): got %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestDataFormatsParse(t *testing.T) {
	rep := load(t, "testdata/run.jsonl")
	cells := len(rep.Runs[0].Cells())

	var out bytes.Buffer
	if err := CSV(&out, rep); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != cells+1 {
		t.Errorf("csv: got %d rows, %v; want %d", len(rows), err, cells+1)
	}

	out.Reset()
	if err := JSON(&out, rep); err != nil {
		t.Fatal(err)
	}
	var sums []results.CellSummary
	if err := json.Unmarshal(out.Bytes(), &sums); err != nil || len(sums) != cells {
		t.Fatalf("json: got %d summaries, %v; want %d", len(sums), err, cells)
	}
	for _, s := range sums {
		if s.Type != results.TypeSummary {
			t.Errorf("%s: type %q", s.Cell, s.Type)
		}
	}
}

// TestEveryFlagIsExplained: a flag that a child may set has a line in the
// legend. Their names are read from the schema's source.
func TestEveryFlagIsExplained(t *testing.T) {
	src, err := os.ReadFile("../schema.go")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^\tFlag\w+\s+= "([a-z-]+)"`).FindAllStringSubmatch(string(src), -1)
	if len(flags) < 10 {
		t.Fatalf("only %d flags found in schema.go", len(flags))
	}
	for _, f := range flags {
		if !slices.ContainsFunc(meanings, func(e entry) bool { return e.word == f[1] }) {
			t.Errorf("flag %q has no line in the legend", f[1])
		}
	}
}
