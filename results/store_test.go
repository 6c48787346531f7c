package results

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testRun(id string) *Run {
	return &Run{Type: TypeRun, Schema: SchemaMajor, RunID: id, Seed: 7, Reps: 5}
}

// testSample is a consistent repetition: ops in 100 ms.
func testSample(lock string, rep int, ops int64) *Sample {
	const elapsed = 100_000_000
	return &Sample{
		Type: TypeSample, Cell: lock + "/workload=moderate/workers=2", Lock: lock, Family: "spin", Workload: "moderate",
		Workers: 2, Cores: 2, Pin: "none", Clients: 1, Rep: rep, Dispatch: "direct", Threads: "free", Outcome: OutcomeOK,
		Ops: ops, ElapsedNS: elapsed, ThroughputOps: float64(ops) * 10, WallNSPerOp: elapsed / float64(max(ops, 1)),
		PerWorkerOps: []int64{ops / 2, ops - ops/2},
	}
}

func readAll(t *testing.T, text string) (recs []Record, r *Reader, err error) {
	t.Helper()
	r = NewReader(strings.NewReader(text), "in.jsonl")
	for rec, e := range r.Records() {
		if e != nil {
			return recs, r, e
		}
		rec.Raw = bytes.Clone(rec.Raw)
		recs = append(recs, rec)
	}
	return recs, r, nil
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{
		{Line: 1, Type: TypeRun, Run: testRun("a")},
		{Line: 2, Type: TypeSample, Sample: testSample("mcs", 0, 1000)},
		{Line: 3, Type: TypeEvent, Event: &Event{Type: TypeEvent, Kind: "hang", Text: "a <b> & c"}},
	}
	for _, rec := range []any{*want[0].Run, want[1].Sample, &Event{Kind: "hang", Text: "a <b> & c"}} {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []Record
	if _, err := ReadFile(path, func(r Record) error { got = append(got, r); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
}

func TestCreateNeverClobbers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(path, []byte("precious\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Create(path, false)
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("existing file: got %v, want fs.ErrExist", err)
	}
	var fe *FileError
	if !errors.As(err, &fe) || !strings.Contains(fe.Hint(), "--force") {
		t.Errorf("existing file: got %#v, want a hint about --force", err)
	}

	// A forced run that fails before its first record destroys nothing.
	w, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "precious\n" {
		t.Errorf("after Create with force: got %q, want the old content", got)
	}
	if err := w.Write(testRun("a")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); bytes.Contains(got, []byte("precious")) || !bytes.HasPrefix(got, []byte(`{"type":"run"`)) {
		t.Errorf("after the first record: got %q, want only the new run", got)
	}

	if _, err := Create(filepath.Join(dir, "none", "out.jsonl"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: got %v, want fs.ErrNotExist", err)
	}
	if _, err := Create(dir, true); err == nil {
		t.Error("a directory: got no error")
	}
}

func TestCreateDevice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /dev/null")
	}
	w, err := Create(os.DevNull, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(testRun("a")); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full: ", err)
	}
	w, err := Create("/dev/full", false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	err = w.Write(testRun("a"))
	var fe *FileError
	if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &fe) || !strings.HasPrefix(err.Error(), "/dev/full: write results: ") {
		t.Errorf("got %v, want no space left on /dev/full", err)
	}
	if fe != nil && !strings.Contains(fe.Hint(), "nothing was written") {
		t.Errorf("hint %q: nothing was written", fe.Hint())
	}
}

func TestWriterRefusesWhatAReaderWould(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, "out")
	s := testSample("mcs", 0, 1000)
	s.Ops = -1
	err := w.Write(s)
	var fe *FieldError
	if !errors.As(err, &fe) || fe.Field != "ops" || out.Len() != 0 {
		t.Errorf("got %v and %q, want an error about ops and no output", err, out.String())
	}
	if err := w.Write(testRun("a")); err != nil {
		t.Errorf("the next record: %v", err)
	}
}

// lineCounter fails after some writes and checks that each is a whole line.
type lineCounter struct {
	t      *testing.T
	writes int
	fail   int
}

func (c *lineCounter) Write(p []byte) (int, error) {
	c.writes++
	if c.writes > c.fail {
		return len(p) / 2, errors.New("disk full")
	}
	if bytes.Count(p, []byte("\n")) != 1 || !bytes.HasSuffix(p, []byte("\n")) {
		c.t.Errorf("write %d is not one line: %q", c.writes, p)
	}
	return len(p), nil
}

func TestWriterOneWriteARecord(t *testing.T) {
	c := &lineCounter{t: t, fail: 3}
	w := NewWriter(c, "out")
	for i := range 3 {
		if err := w.Write(testSample("mcs\n", i, 10)); err != nil {
			t.Fatal(err)
		}
	}
	first := w.Write(testRun("a"))
	if first == nil || !strings.Contains(first.Error(), "disk full") {
		t.Errorf("got %v, want the cause", first)
	}
	if again := w.Write(testRun("a")); again != first || c.writes != 4 {
		t.Errorf("after a failure: got %v after %d writes, want the same error and no write", again, c.writes)
	}
}

const runLine = `{"type":"run","schema":1,"run_id":"a","seed":1}` + "\n"

func sampleLine(t testing.TB, edit func(*Sample)) string {
	var out bytes.Buffer
	s := testSample("mcs", 0, 1000)
	if edit != nil {
		edit(s)
	}
	if err := NewWriter(&out, "").Write(s); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReaderTolerates(t *testing.T) {
	sample := sampleLine(t, nil)
	for _, tc := range []struct {
		name, in  string
		types     string
		truncated bool
		unknown   map[string]int
	}{
		{"header only", runLine, "run", false, map[string]int{}},
		{"no last newline", runLine + strings.TrimSuffix(sample, "\n"), "run sample", false, map[string]int{}},
		{"empty lines, CRLF", "\n" + strings.TrimSuffix(runLine, "\n") + "\r\n\n" + sample, "run sample", false, map[string]int{}},
		{"unknown types", runLine + `{"type":"future","x":1}` + "\n" + sample, "run future sample", false, map[string]int{"future": 1}},
		{"verdict and summary", runLine + `{"type":"verdict"}` + "\n" + `{"type":"summary"}`, "run verdict summary", false, map[string]int{}},
		{"unknown fields", runLine + `{"new_field":[1],` + sample[1:], "run sample", false, map[string]int{}},
		{"two runs", runLine + sample + runLine + sample, "run sample run sample", false, map[string]int{}},
		{"cut off", runLine + sample + sample[:len(sample)/2], "run sample", true, map[string]int{}},
		{"cut off after one byte", runLine + "{", "run", true, map[string]int{}},
		{"tail of zeros", runLine + sample + "\x00\x00\x00", "run sample", true, map[string]int{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			recs, r, err := readAll(t, tc.in)
			if err != nil {
				t.Fatal(err)
			}
			var types []string
			for _, rec := range recs {
				types = append(types, rec.Type)
			}
			if got := strings.Join(types, " "); got != tc.types {
				t.Errorf("got %q, want %q", got, tc.types)
			}
			if got := r.Truncated != ""; got != tc.truncated {
				t.Errorf("truncated: got %q, want %v", r.Truncated, tc.truncated)
			}
			if diff := cmp.Diff(tc.unknown, r.Unknown); diff != "" {
				t.Errorf("unknown types (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReaderRefuses(t *testing.T) {
	sample := sampleLine(t, nil)
	edit := func(old, new string) string {
		out := strings.Replace(sample, old, new, 1)
		if out == sample {
			t.Fatalf("%q is not in the sample", old)
		}
		return runLine + out
	}
	for _, tc := range []struct {
		name, in string
		line     int64
		field    string
		text     string
	}{
		{"empty", "", 1, "", "no records"},
		{"foreign text", "hello\nworld\n", 1, "", "not a record"},
		{"foreign, one line", "hello", 1, "", "not a record"},
		{"binary", "\x7fELF\x02\x01\x01\x00\n\x00", 1, "", "not a record"},
		{"foreign JSON", `{"a":1}` + "\n", 1, "type", "without a type"},
		{"JSON array", "[1,2]\n", 1, "", "a JSON array, where an object is expected"},
		{"no header", sample, 1, "type", "not with a run header"},
		{"type is a number", `{"type":3}` + "\n", 1, "type", "number"},
		{"newer schema", `{"type":"run","schema":2}` + "\n", 1, "schema", "version 2"},
		{"no schema", `{"type":"run"}` + "\n", 1, "schema", "version 0"},
		{"newer schema later", runLine + `{"type":"run","schema":9}` + "\n", 2, "schema", "version 9"},
		{"damage inside", runLine + sample[:40] + "\n" + sample, 2, "", "not a record"},
		{"two records on a line", runLine + strings.TrimSuffix(sample, "\n") + sample, 2, "", "not a record"},
		{"negative ops", edit(`"ops":1000`, `"ops":-1000`), 2, "ops", "negative"},
		{"ops too large", edit(`"ops":1000`, `"ops":1e30`), 2, "ops", "does not fit"},
		{"ops is a string", edit(`"ops":1000`, `"ops":"many"`), 2, "ops", "string"},
		{"NaN", edit(`"ctx_voluntary":0`, `"ctx_voluntary":NaN`), 2, "", "not a record"},
		{"negative time", edit(`"elapsed_ns":100000000`, `"elapsed_ns":-1`), 2, "elapsed_ns", "negative"},
		{"a time of 300 years", edit(`"drain_ns":0`, `"drain_ns":9223372036854775807`), 2, "drain_ns", "longer than a year"},
		{"throughput off by 2 %", edit(`"throughput_ops_s":10000`, `"throughput_ops_s":10200`), 2, "throughput_ops_s", "10000"},
		{"ns per op", edit(`"wall_ns_per_op":100000`, `"wall_ns_per_op":100`), 2, "wall_ns_per_op", "100000"},
		{"absurd", edit(`"ops":1000,"elapsed_ns":100000000`, `"ops":1000,"elapsed_ns":0`), 2, "elapsed_ns", "took 0 ns"},
		{"sum of workers", edit(`[500,500]`, `[500,400]`), 2, "per_worker_ops", "900"},
		{"negative worker", edit(`[500,500]`, `[1500,-500]`), 2, "per_worker_ops", "negative"},
		{"sum overflows", edit(`[500,500]`, `[9223372036854775807,9223372036854775807]`), 2, "per_worker_ops", "2^63"},
		{"no workers", edit(`"workers":2`, `"workers":0`), 2, "workers", "from 1"},
		{"outcome", edit(`"outcome":"ok"`, `"outcome":"fine"`), 2, "outcome", "fine"},
		{"share", edit(`"fairness":{}`, `"fairness":{"jain":1.5}`), 2, "fairness.jain", "1.5"},
		{"percentage", edit(`"fairness":{}`, `"fairness":{},"contended_pct":101`), 2, "contended_pct", "101"},
		{"percentiles", edit(`"fairness":{}`, `"fairness":{},"acquire":{"count":1,"p50_ns":9,"p90_ns":8}`), 2, "acquire.p90_ns", "below"},
		{"sum of workers off by one", edit(`[500,500]`, `[500,501]`), 2, "per_worker_ops", "1001"},
		{"histogram", edit(`"fairness":{}`, `"fairness":{},"acquire":{"count":1,"hdr":"HISTF***"}`), 2, "acquire.hdr", "no HdrHistogram"},
		{"histogram of another kind", edit(`"fairness":{}`, `"fairness":{},"handoff":{"count":1,"hdr":"AAAA"}`), 2, "handoff.hdr", "no HdrHistogram"},
		{"contradiction at the end", strings.TrimSuffix(edit(`"ops":1000`, `"ops":-1000`), "\n"), 2, "ops", "negative"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := readAll(t, tc.in)
			var fe *FileError
			if !errors.As(err, &fe) {
				t.Fatalf("got %v, want a FileError", err)
			}
			if fe.File != "in.jsonl" || fe.Line != tc.line || fe.Field != tc.field || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %q (line %d, field %q), want line %d, field %q, text %q", err, fe.Line, fe.Field, tc.line, tc.field, tc.text)
			}
			if fe.Hint() == "" {
				t.Errorf("%v: no hint", err)
			}
		})
	}
}

func TestReaderLongLines(t *testing.T) {
	long := sampleLine(t, func(s *Sample) { s.Reason = strings.Repeat("x", 3<<20) })
	recs, _, err := readAll(t, runLine+long+long)
	if err != nil || len(recs) != 3 {
		t.Errorf("3 MiB lines: got %d records, %v", len(recs), err)
	}
	_, _, err = readAll(t, runLine+strings.Repeat("x", MaxLine+1))
	if err == nil || !strings.Contains(err.Error(), "in.jsonl:2: the line is longer than 16 MiB") {
		t.Errorf("over the limit: got %v", err)
	}
}

// endless yields n sample lines without keeping them.
type endless struct {
	line []byte
	n    int
	pos  int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := copy(p, e.line[e.pos:])
	if e.pos += n; e.pos == len(e.line) {
		e.pos, e.n = 0, e.n-1
	}
	return n, nil
}

func TestReaderConstantMemory(t *testing.T) {
	const records = 20_000 // 16 MB
	line := sampleLine(t, func(s *Sample) { s.Reason = strings.Repeat("x", 200) })
	in := io.MultiReader(strings.NewReader(runLine), &endless{line: []byte(line), n: records})
	n := 0
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := NewReader(in, "in")
	for rec, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Sample != nil {
			n++
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n != records {
		t.Errorf("got %d samples, want %d", n, records)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes over %d records", grown, records)
	}
	runtime.KeepAlive(r)
}

func TestPrintable(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"mcs", "mcs"},
		{"µs → ok", "µs → ok"},
		{"a\x1b[31mred\x07", "a\ufffd[31mred\ufffd"},
		{"two\nlines\t", "two lines "},
		{"c1 \u009b31m", "c1 \ufffd31m"},
		{"bidi \u202e\u2066x", "bidi \ufffd\ufffdx"},
		{"bad \xff utf8", "bad \ufffd utf8"},
	} {
		if got := Printable(tc.in); got != tc.want {
			t.Errorf("Printable(%q): got %q, want %q", tc.in, got, tc.want)
		}
	}
}
