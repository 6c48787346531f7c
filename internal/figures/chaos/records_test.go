package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/figure"
	"lockbench/results"
)

// header begins a file of records of so many cells.
func header(id string, cells int) string {
	return fmt.Sprintf(`{"type":"run","schema":1,"run_id":%q,"started":"2026-12-01T10:15:00Z","seed":1,"spec":{"command":"chaos"},"host":{"os":"linux","cpu_model":"AMD EPYC","logical_cpus":2},"go":{"version":"go1.26.8"},"program":{"path":"lockbench"},"clock":{"kind":"monotonic","hz":1e9},"cells_planned":%d,"reps":10}`, id, cells)
}

// goodControl is a control that held, and badControl one that did not.
var (
	goodControl = &results.ChaosVerdict{Lock: "control-naive", Topology: "loopback", Fault: "stale-unlock", Policy: "careful", Rounds: 3, Felt: 3, Probative: 3,
		Bad: 3, Verdict: "unsafe", Expected: "unsafe", Agrees: true, Control: true}
	badControl = &results.ChaosVerdict{Lock: "control-naive", Topology: "loopback", Fault: "stale-unlock", Policy: "careful", Rounds: 3, Felt: 3, Probative: 3,
		Verdict: "safe", Expected: "unsafe", Control: true}
)

// verdict is of ten rounds: "lock/topology/fault/policy got expected".
func verdict(t *testing.T, text string) *results.ChaosVerdict {
	t.Helper()
	words := append(strings.Fields(text), "")
	parts := strings.Split(words[0], "/")
	if len(parts) != 4 {
		t.Fatalf("%q: want lock/topology/fault/policy got expected", text)
	}
	v := &results.ChaosVerdict{Lock: parts[0], Topology: parts[1], Fault: parts[2], Policy: parts[3], Rounds: 10, Felt: 10, Probative: 10,
		Verdict: words[1], Expected: words[2], Agrees: words[1] == words[2]}
	zero := 0
	switch v.Verdict {
	case results.VerdictFence:
		v.Bad, v.StaleFenced, v.Reason = 10, &zero, "both wrote"
	case results.VerdictUnsafe:
		v.Bad, v.Reason = 10, "both wrote"
	case results.VerdictUnknown:
		v.Probative, v.Reason = 4, "4 of 10 rounds counted"
	case results.VerdictSkipped:
		v.Rounds, v.Felt, v.Probative, v.Reason = 0, 0, 0, "it cannot be"
	}
	return v
}

func verdicts(t *testing.T, texts ...string) []*results.ChaosVerdict {
	t.Helper()
	out := []*results.ChaosVerdict{goodControl}
	for _, text := range texts {
		out = append(out, verdict(t, text))
	}
	return out
}

// file writes records: a header of as many cells as there are verdicts, and these.
func file(t *testing.T, id string, all ...*results.ChaosVerdict) string {
	t.Helper()
	cells := 0
	var lines []string
	for _, v := range all {
		if !v.Control {
			cells++
		}
		w := *v
		w.Type = results.TypeVerdict
		b, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	return write(t, append([]string{header(id, cells)}, lines...)...)
}

func write(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chaos.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// reports reads a run of each list of verdicts, through a file.
func reports(t *testing.T, runs ...[]*results.ChaosVerdict) []*results.ChaosReport {
	t.Helper()
	var paths []string
	for i, vs := range runs {
		paths = append(paths, file(t, fmt.Sprintf("run-%d", i), vs...))
	}
	out, err := (&bench{}).read(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func target(t *testing.T, name string) []figure.Figure {
	t.Helper()
	for _, g := range groups() {
		if got := g.asked([]string{name}); len(got) > 0 {
			return got
		}
	}
	t.Fatalf("no figure %s", name)
	return nil
}

// line is the figure of a report, or why there is none.
func line(r figure.Report, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, f := range r.Figures {
		out = append(out, f.String())
	}
	return strings.Join(out, "; ")
}

// remarked reports whether a remark has all the words.
func remarked(r figure.Report, words string) bool {
	return strings.Contains(strings.Join(r.Remarks, "\n"), words)
}

// noted is a note's value.
func noted(t *testing.T, r figure.Report, name string) float64 {
	t.Helper()
	for _, f := range r.Notes {
		if f.Name == name {
			return f.Value
		}
	}
	t.Errorf("no note %s in %+v", name, r.Notes)
	return 0
}

func TestRead(t *testing.T) {
	good := "redis/redis/none/careful safe safe"
	text, err := json.Marshal(verdict(t, good))
	if err != nil {
		t.Fatal(err)
	}
	v := strings.Replace(string(text), `"type":""`, `"type":"verdict"`, 1)
	for _, c := range []struct {
		name  string
		lines []string
		want  string // in the error; empty: none
	}{
		{"whole", []string{header("a", 1), v}, ""},
		{"two runs", []string{header("a", 1), v, header("b", 1), v}, ""},
		{"a cell is missing", []string{header("a", 2), v}, "run a: 1 of 2 cells have a verdict"},
		{"interrupted", []string{header("a", 1), v, `{"type":"event","kind":"interrupted","rep":0,"text":"SIGINT"}`}, "run a: the run was interrupted: SIGINT"},
		{"no faults", []string{header("a", 0)}, "run a: the run has no repetitions"},
		{"cut off", []string{header("a", 1), v, v[:20]}, "cut off in the middle of a record"},
		{"a verdict that cannot be", []string{header("a", 1), strings.Replace(v, `"probative":10`, `"probative":0`, 1)}, "no round proves it"},
		{"no header", []string{v}, "header"},
	} {
		b := &bench{}
		got, err := b.read(write(t, c.lines...))
		if c.want == "" && (err != nil || len(got) == 0 || !strings.Contains(b.host, "AMD EPYC")) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %d runs, host %q, %v, want %q", c.name, len(got), b.host, err, c.want)
		}
	}
	if _, err := (&bench{}).read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no file: no error")
	}
}
