package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/results"
)

// lines are the records of a paired session of two cells and a control.
func lines(t *testing.T, pairs int) []string {
	t.Helper()
	var out []string
	add := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	add(results.Run{Type: results.TypeRun, Schema: results.SchemaMajor, RunID: "r", Started: "2026-01-02T03:04:05Z", Reps: pairs,
		Programs: []results.SideProgram{{Side: results.SideOld, SHA256: "a"}, {Side: results.SideNew, SHA256: "b"}}})
	for n := range pairs {
		for _, lock := range []string{"planted:mutex", "null", "planted:mcs"} {
			for i, side := range []string{results.SideNew, results.SideOld} {
				add(results.Sample{Type: results.TypeSample, Cell: lock + "/workload=w/workers=1", Lock: lock, Workload: "w", Workers: 1, Cores: 1, Clients: 1,
					Control: lock == "null", Rep: n, Side: side, Program: 1 - i, Second: i == 1, Outcome: results.OutcomeOK, Dispatch: "interface", Threads: "free",
					Ops: 1000, ElapsedNS: 200_000, WarmupNS: 100_000, ProbeElapsedNS: 100_000, OverheadNS: 600_000,
					ThroughputOps: 5e6, WallNSPerOp: 200, CPUNSPerOp: 200, PerWorkerOps: []int64{1000}})
			}
		}
	}
	return out
}

func TestReadRecording(t *testing.T) {
	const pairs = 4
	whole := lines(t, pairs)
	event := `{"type":"event","kind":"interrupted","text":"by a signal"}`
	skip := strings.NewReplacer(`"outcome":"ok"`, `"outcome":"skipped","reason":"no such lock"`)
	for _, c := range []struct {
		name       string
		lines      []string
		want       string // in the error; "" = none
		incomplete bool   // it has to be recorded anew
	}{
		{"whole", whole, "", false},
		{"a pair is missing", whole[:len(whole)-6], "incomplete", true},
		{"a half is missing", whole[:len(whole)-1], "incomplete: planted:mcs/workload=w/workers=1 has 7 repetitions of 8", true},
		{"a half twice, another missing", append(whole[:len(whole)-1:len(whole)-1], whole[5]), "both halves", true},
		{"no repetition", whole[:1], "incomplete", true},
		{"interrupted", append(whole[:len(whole):len(whole)], event), "incomplete", true},
		{"cut off", append(whole[:len(whole)-1:len(whole)-1], whole[len(whole)-1][:40]), "incomplete", true},
		{"more pairs than asked for", lines(t, pairs+1), "pair number 4", false},
		{"two sessions", append(whole[:len(whole):len(whole)], whole...), "not one paired session", false},
		{"an ordinary run", []string{strings.Replace(whole[0], `"programs"`, `"other"`, 1), whole[1]}, "not one paired session", false},
		{"a cell was skipped", []string{whole[0], skip.Replace(whole[1])}, "skipped: no such lock", false},
		{"something else", []string{"hello"}, "not a record", false},
		{"empty", nil, "no records", false},
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		end := "\n"
		if c.name == "cut off" {
			end = ""
		}
		if err := os.WriteFile(path, []byte(strings.Join(c.lines, "\n")+end), 0o644); err != nil {
			t.Fatal(err)
		}
		rec, err := readRecording(path, pairs)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || unusable(err) != c.incomplete {
			t.Errorf("%s: got %v, unusable %v, want %q, %v", c.name, err, unusable(err), c.want, c.incomplete)
		}
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v does not name the file", c.name, err)
		}
		if err != nil {
			continue
		}
		if len(rec.cells) != 2 || len(rec.cells[0].rounds) != pairs || rec.cells[0].Lock != "planted:mutex" || rec.samples != 4*pairs {
			t.Errorf("%s: got %d cells, %d samples", c.name, len(rec.cells), rec.samples)
		}
		// Two lives of a millisecond.
		if s := rec.cells[0].seconds; s < 0.00199 || s > 0.00201 || rec.combos[3] != [2]int{0, 1} || rec.cells[0].perOp() != 200 {
			t.Errorf("%s: %g s a pair, builds %v, %g ns", c.name, s, rec.combos[3], rec.cells[0].perOp())
		}
	}
	if _, err := readRecording(filepath.Join(t.TempDir(), "none"), pairs); !unusable(err) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v, want one that is to be recorded", err)
	}
}

// TestFits: a recording of something else is not replayed.
func TestFits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines(t, 4), "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	st := &study{o: options{locks: []string{"mcs", "mutex"}}}
	rec, err := st.read(path, session{pairs: 4})
	if err != nil {
		t.Fatal(err)
	}
	if rec.cells[0].Lock != "planted:mcs" {
		t.Errorf("cells: the first is %s, want the order of the flag", rec.cells[0].Lock)
	}
	rec.run.Spec = map[string]any{"duration_ns": 0.0, "probe_ns": 0.0, "warmup_ns": 0.0}
	good := session{workers: 1, old: []program{base()}}
	for _, c := range []struct {
		name string
		sums []string
		s    session
		o    options
		want string
	}{
		{"the same", []string{"a", "b"}, good, st.o, ""},
		{"another new program", []string{"a", "c"}, good, st.o, "other programs"},
		{"more programs", []string{"a", "b", "b"}, good, st.o, "other programs"},
		{"fewer", []string{"a"}, good, st.o, "other programs"},
		{"sides", []string{"a", "b"}, session{workers: 1, old: []program{base(), base()}}, st.o, "other programs"},
		{"workers", []string{"a", "b"}, session{workers: 2, old: []program{base()}}, st.o, "other cells"},
		{"locks", []string{"a", "b"}, good, options{locks: []string{"mcs"}}, "other cells"},
		{"duration", []string{"a", "b"}, good, options{locks: st.o.locks, duration: 5}, "another duration"},
	} {
		err := (&study{o: c.o}).fits(rec, c.s, c.sums)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if got := fmt.Sprint(ldflags([]string{"mcs"}, map[string]uint32{"mcs": 7}, 3)); got != "-X main.extra=mcs=00007 -randlayout=3" {
		t.Errorf("flags of a build: got %q", got)
	}
}
