package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"lockbench/internal/golden"
	"lockbench/results"
)

func chaosOf(t *testing.T, paths ...string) *results.ChaosReport {
	t.Helper()
	return load(t, paths...).Runs[0].Chaos
}

func chaosText(t *testing.T, format string, c *results.ChaosReport, detail bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := Chaos(&out, format, c, ChaosOptions{Detail: detail}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestChaosDetail(t *testing.T) {
	golden.Check(t, filepath.Join("testdata", "chaos.detail"), []byte(chaosText(t, "table", chaosOf(t, "testdata/chaos.jsonl"), true)))
}

// TestChaosFits: a usual terminal shows the matrix of all locks, if their names can be broken.
func TestChaosFits(t *testing.T) {
	for _, path := range []string{"testdata/chaos.jsonl", "testdata/chaos-bad.jsonl"} {
		for line := range strings.Lines(chaosText(t, "table", chaosOf(t, path), false)) {
			if n := utf8.RuneCountInString(line); n > maxChaos+1 {
				t.Errorf("%s: %d columns: %s", path, n, line)
			}
			if strings.HasSuffix(line, " \n") {
				t.Errorf("%s: white space at the end: %q", path, line)
			}
		}
	}
}

// TestChaosParts: twenty locks of one service become several tables, each with the rows that it needs.
func TestChaosParts(t *testing.T) {
	var all []*results.ChaosVerdict
	for i := range 20 {
		all = append(all, &results.ChaosVerdict{Lock: fmt.Sprintf("a-longer-name-%d", i), Topology: "redis", Fault: "server-restart-empty", On: "servers",
			Policy: "careful", Verdict: results.VerdictUnsafe, Rounds: 10, Bad: 1, Recovery: &results.Timing{Count: 9, P50: 1234, Max: 2000}})
	}
	c := results.NewChaosReport(&results.Run{}, all, nil)
	parts := chaosParts(c, maxChaos)
	columns := 0
	for _, p := range parts {
		columns += len(p.Columns)
		if w := rowHeadWidth(p.ChaosMatrix) + columnsWidth(p.ChaosMatrix, p.Columns, p.heads); w > maxChaos {
			t.Errorf("a part is %d columns wide", w)
		}
		if p.several || len(p.Rows) != 1 {
			t.Errorf("a part of one kind of servers has %d rows, several=%t", len(p.Rows), p.several)
		}
	}
	if columns != 20 || len(parts) > 6 {
		t.Errorf("%d columns in %d parts, want 20 in at most 6", columns, len(parts))
	}
}

func TestShortSpan(t *testing.T) {
	for _, tc := range []struct {
		ms   float64
		want string
	}{{0, "0us"}, {-1234, "-1.2s"}, {0.0004, "0.40us"}, {0.084, "84us"}, {0.4, "0.40ms"}, {3.21, "3.2ms"}, {9.96, "10ms"}, {99.4, "99ms"}, {99.6, "0.10s"}, {842, "0.84s"},
		{1234, "1.2s"}, {9960, "10s"}, {12345, "12s"}, {123456, "123s"}} {
		if got := shortSpan(tc.ms); got != tc.want {
			t.Errorf("%v ms: got %q, want %q", tc.ms, got, tc.want)
		}
	}
}

func TestBreakName(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"redis", "redis"}, {"redis-naive", "redis-naive"}, {"etcd-concurrency", "etcd-|concurrency"},
		{"pg-advisory-xact", "pg-|advisory-|xact"}, {"averylongnamewithoutadash", "averylongnamewithoutadash"}, {"-", "-"},
	} {
		if got := strings.Join(breakName(tc.name), "|"); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestChaosMarks: what is loud is what somebody must look at.
func TestChaosMarks(t *testing.T) {
	for _, tc := range []struct{ verdict, expected, want string }{
		{results.VerdictSafe, results.VerdictSafe, "ok"}, {results.VerdictSafe, results.VerdictUnsafe, "ok!"},
		{results.VerdictFence, results.VerdictFence, "fence"}, {results.VerdictFence, results.VerdictSafe, "fence!"},
		{results.VerdictUnsafe, results.VerdictUnsafe, "UNSAFE"}, {results.VerdictUnsafe, "", "UNSAFE!"}, {results.VerdictSafe, "", "ok"},
		{results.VerdictUnknown, results.VerdictSafe, "?"}, {results.VerdictSkipped, "", "-"},
	} {
		if got := chaosMark(&results.ChaosVerdict{Verdict: tc.verdict, Expected: tc.expected}); got != tc.want {
			t.Errorf("%s, expected %q: got %s, want %s", tc.verdict, tc.expected, got, tc.want)
		}
	}
}

func TestChaosAlarms(t *testing.T) {
	out := chaosText(t, "table", chaosOf(t, "testdata/chaos-bad.jsonl"), false)
	for _, want := range []string{"controls: 1 of 2 FAILED", "!!! CONTROL FAILED: control-naive / stale-unlock / careful", "!!! WORSE THAN EXPECTED: redis / holder-kill / careful"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	c := chaosOf(t, "testdata/chaos.jsonl")
	c.Controls = nil
	if out := chaosText(t, "table", c, false); !strings.Contains(out, "controls: none was run") {
		t.Errorf("a run without controls does not say so:\n%s", out)
	}
}

// TestChaosCSV: every row has every column, whatever is beside the verdicts.
func TestChaosCSV(t *testing.T) {
	for _, tc := range []struct {
		paths      []string
		rows       int
		throughput bool
	}{
		{[]string{"testdata/chaos.jsonl"}, 72, false},
		{[]string{"testdata/run.jsonl", "testdata/chaos-bad.jsonl"}, -1, true},
	} {
		var out bytes.Buffer
		if err := CSV(&out, load(t, tc.paths...)); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll() // refuses rows of another length
		if err != nil {
			t.Fatal(err)
		}
		if tc.rows >= 0 && len(rows)-1 != tc.rows {
			t.Errorf("%v: %d rows, want %d", tc.paths, len(rows)-1, tc.rows)
		}
		head := rows[0]
		if got := slices.Contains(head, "throughput_ops_s"); got != tc.throughput {
			t.Errorf("%v: columns of measurements: %t, want %t", tc.paths, got, tc.throughput)
		}
		seen := map[string]bool{}
		for _, name := range head {
			if seen[name] {
				t.Errorf("%v: two columns %s", tc.paths, name)
			}
			seen[name] = true
		}
		last := rows[len(rows)-1]
		for _, name := range []string{"lock", "fault", "policy", "verdict", "run_id"} {
			if last[slices.Index(head, name)] == "" {
				t.Errorf("%v: a verdict has no %s: %q", tc.paths, name, last)
			}
		}
	}
}

// TestChaosJSON: the records are those of the file, and say their run.
func TestChaosJSON(t *testing.T) {
	c := chaosOf(t, "testdata/chaos.jsonl")
	var got []map[string]any
	if err := json.Unmarshal([]byte(chaosText(t, "json", c, false)), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(c.All()) {
		t.Fatalf("%d records, want %d", len(got), len(c.All()))
	}
	for _, field := range []string{"type", "run_id", "lock", "topology", "fault", "policy", "rounds", "probative", "verdict", "expected", "agrees", "overlap_ms_max",
		"double_grants", "stale_writes_unfenced", "stale_writes_fenced", "current_rejected", "recovery", "detection_lag", "bound_ms", "orphans", "seed"} {
		if _, ok := got[4][field]; !ok {
			t.Errorf("a record has no %s: %v", field, got[4])
		}
	}
}

// TestChaosBench: what benchstat reads are recoveries of locks that let nobody in.
func TestChaosBench(t *testing.T) {
	r := benchfmt.NewReader(strings.NewReader(chaosText(t, "bench", chaosOf(t, "testdata/chaos.jsonl"), false)), "chaos")
	n := 0
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			n++
			if rec.Values[0].Unit != "recovery-p50-ns" && rec.Values[0].OrigUnit != "recovery-p50-ns" {
				t.Errorf("%s: the first unit is %v", rec.Name, rec.Values[0])
			}
			if name := string(rec.Name); strings.Contains(name, "redis-naive") && strings.Contains(name, "holder-pause") {
				t.Errorf("%s has figures: its next grant is no recovery", name)
			}
		case *benchfmt.SyntaxError:
			t.Errorf("%v", rec)
		}
	}
	if n != 21 {
		t.Errorf("%d lines, want 21", n)
	}
}

func TestChaosUnknownFormat(t *testing.T) {
	if err := Chaos(&bytes.Buffer{}, "word", chaosOf(t, "testdata/chaos.jsonl"), ChaosOptions{}); err == nil || !strings.Contains(err.Error(), "table, markdown") {
		t.Errorf("got %v, want the formats that there are", err)
	}
}

// FuzzChaosFormats: whatever a file says, every format shows it or refuses it, and no text of it is obeyed.
func FuzzChaosFormats(f *testing.F) {
	b, err := os.ReadFile("testdata/chaos-bad.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	header, rest, _ := bytes.Cut(b, []byte("\n"))
	for line := range bytes.Lines(rest) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		b := results.NewBuilder()
		for rec, err := range results.NewReader(bytes.NewReader(slices.Concat(header, []byte("\n"), lines)), "in").Records() {
			if err != nil {
				return
			}
			if err := b.Add("in", rec); err != nil {
				return
			}
		}
		rep := b.Report()
		if len(rep.Runs) != 1 || rep.Runs[0].Chaos == nil {
			return
		}
		for _, format := range Formats() {
			var out bytes.Buffer
			if err := format.Detailed(&out, rep); err != nil {
				t.Fatalf("%s: %v", format.Name, err)
			}
			if i := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && r != '\r' && (r < 0x20 || r >= 0x7f && r < 0xa0) }); i >= 0 {
				t.Errorf("%s: control character at byte %d: %.60q", format.Name, i, out.String()[i:])
			}
		}
	})
}
