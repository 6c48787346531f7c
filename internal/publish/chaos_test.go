package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/results"
)

// chaosFile writes what faults did on the fixture's host, changed, and returns its path.
func chaosFile(t *testing.T, change func(run *results.Run, cells []*results.ChaosVerdict) []any) string {
	t.Helper()
	cell := func(lock, fault, policy, verdict string) *results.ChaosVerdict {
		v := &results.ChaosVerdict{Lock: lock, Topology: "redis", Fault: fault, On: "holder", Policy: policy, Rounds: 10, Felt: 10, Probative: 10, Verdict: verdict,
			Expected: verdict, Agrees: true, Recovery: &results.Timing{Count: 10, P50: 842, Max: 990}}
		if verdict == results.VerdictUnsafe {
			v.Bad = 10
		}
		return v
	}
	control := cell("control-naive", "stale-unlock", "careful", results.VerdictUnsafe)
	control.Control = true
	cells := []*results.ChaosVerdict{control, cell("redis|x", "holder-kill", "careful", results.VerdictSafe), cell("redis|x", "holder-pause", "careful", results.VerdictUnsafe),
		cell("redis|x", "holder-pause", "careless", results.VerdictUnsafe), cell("redis|x", "holder-slow", "careful", results.VerdictSafe)}
	run := newFixture().run
	run.RunID = "chaos-1"
	run.Labels = map[string]string{"caches": "/sys/devices/system/cpu/cpu0/cache has none"} // no private path
	var tail []any
	if change != nil {
		tail = change(&run, cells)
	}
	path := filepath.Join(t.TempDir(), "c.jsonl")
	w, err := results.Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	put := func(rec any) {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	put(&run)
	for _, v := range cells {
		if v != nil {
			put(v)
		}
	}
	for _, rec := range tail {
		put(rec)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestChaos: the chaos of a host stands beside its measurement and on the pages, is made again from its records, and
// stays when the host is measured again.
func TestChaos(t *testing.T) {
	s, flags := newSite(t)
	dir := newFixture().write(t, s.out, acme)
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	plain := readText(t, s.readme)
	file := chaosFile(t, nil)
	if out := mustPublish(t, append([]string{"-chaos", file}, flags...)...); !strings.Contains(out, "chaos of 4 cells") {
		t.Errorf("got %q", out)
	}
	if out := mustPublish(t, append([]string{"-check"}, flags...)...); !strings.Contains(out, "all the same bytes") {
		t.Errorf("check: got %q", out)
	}
	if readText(t, filepath.Join(dir, chaosName)) != readText(t, file) {
		t.Error("the records are not those of the file")
	}
	readme := readText(t, s.readme)
	for _, want := range []string{"### When the holder dies", "1 lock under 3 faults, 4 cells with a verdict", "| holder-kill  | careful  | ok 0.84s", "|              | careless | UNSAFE 0.84s",
		`redis\|x`, "(published/" + acme + "/chaos.md)", "(published/" + acme + "/chaos.jsonl)"} {
		if !strings.Contains(readme, want) {
			t.Errorf("the page does not say %q:\n%s", want, readme)
		}
	}
	if strings.Contains(readme, "holder-slow") {
		t.Error("the page shows a fault that was not chosen")
	}
	if list := readText(t, filepath.Join(s.out, indexName)); !strings.Contains(list, "- chaos: 1 lock under 3 faults") || !strings.Contains(list, "("+acme+"/chaos.html)") {
		t.Errorf("the index is\n%s", list)
	}
	if table := readText(t, filepath.Join(dir, chaosTable)); !strings.Contains(table, "holder-slow") || strings.Contains(table, filepath.Dir(file)) {
		t.Errorf("the matrix lacks a fault, or says where its records lay:\n%s", table)
	}

	// What is made of it is checked and made again.
	first := snapshot(t, filepath.Dir(s.out))
	writeText(t, filepath.Join(dir, chaosTable), "x")
	if code, _, stderr := publish(append([]string{"-check"}, flags...)...); code == 0 || !strings.Contains(stderr, "chaos.md: ") {
		t.Errorf("a changed matrix: exit %d, %s", code, stderr)
	}
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	if !maps.Equal(first, snapshot(t, filepath.Dir(s.out))) {
		t.Error("written again, the files are not what they were")
	}

	// Without its records nothing is left of it.
	if err := os.Remove(filepath.Join(dir, chaosName)); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	if got := readText(t, s.readme); got != plain {
		t.Errorf("without chaos the page is\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, chaosPage)); err == nil {
		t.Error("the page of a chaos that is not there is left")
	}
}

// TestChaosStays: who measures a machine again does not lose what faults did on it.
func TestChaosStays(t *testing.T) {
	s, flags := measuring(t, tiny)
	first := mustPublish(t, flags...)
	host := strings.TrimPrefix(strings.Split(strings.TrimPrefix(first, "published "), ":")[0], s.out+string(filepath.Separator))
	all, err := s.hosts()
	if err != nil {
		t.Fatal(err)
	}
	file := chaosFile(t, func(run *results.Run, _ []*results.ChaosVerdict) []any {
		run.Host = all[0].run.Run.Host
		return nil
	})
	mustPublish(t, append([]string{"-chaos", file}, flags...)...)
	mustPublish(t, flags...)
	if _, err := os.Stat(filepath.Join(s.out, host, chaosTable)); err != nil {
		t.Errorf("measured again, the host has lost its chaos: %v", err)
	}
	mustPublish(t, append([]string{"-check"}, flags...)...)
}

// TestChaosAlone: a host that was not measured has its matrix, which the page shows beside the measurement of another one.
func TestChaosAlone(t *testing.T) {
	s, flags := newSite(t)
	newFixture().write(t, s.out, acme)
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	file := chaosFile(t, func(run *results.Run, _ []*results.ChaosVerdict) []any {
		run.Host = map[string]any{"cpu_model": "Aaa", "logical_cpus": 1} // first in the list
		return nil
	})
	mustPublish(t, append([]string{"-chaos", file}, flags...)...)
	mustPublish(t, append([]string{"-check"}, flags...)...)
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	readme := readText(t, s.readme)
	for _, want := range []string{"(published/" + acme + "/table.md)", "(published/aaa-1cpu/chaos.md)", "run on 2026-01-02 on Aaa, 1 logical CPU"} {
		if !strings.Contains(readme, want) {
			t.Errorf("the page does not say %q:\n%s", want, readme)
		}
	}
	if list := readText(t, filepath.Join(s.out, indexName)); !strings.Contains(list, "## aaa-1cpu\n\n- host: Aaa, 1 logical CPU\n- chaos: ") {
		t.Errorf("the index is\n%s", list)
	}
	if err := os.RemoveAll(filepath.Join(s.out, acme)); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	if readme := readText(t, s.readme); !strings.Contains(readme, "No machine is [published]") || !strings.Contains(readme, "(published/aaa-1cpu/chaos.md)") {
		t.Errorf("with nothing but chaos the page is\n%s", readme)
	}
}

func TestChaosRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(run *results.Run, cells []*results.ChaosVerdict) []any
	}{
		{"no verdict", "no verdicts of faults", func(run *results.Run, cells []*results.ChaosVerdict) []any {
			clear(cells)
			return nil
		}},
		{"a failed control", "the control control-naive failed", func(_ *results.Run, cells []*results.ChaosVerdict) []any {
			cells[0].Verdict, cells[0].Bad, cells[0].Agrees = results.VerdictSafe, 0, false
			return nil
		}},
		{"no control", "no control was run", func(_ *results.Run, cells []*results.ChaosVerdict) []any {
			cells[0].Control = false
			return nil
		}},
		{"interrupted", "the run was interrupted", func(*results.Run, []*results.ChaosVerdict) []any {
			return []any{&results.Event{Kind: results.EventInterrupted}}
		}},
		{"a file of this machine", "names a file of the machine", func(_ *results.Run, cells []*results.ChaosVerdict) []any {
			cells[1].Counterfile = "/home/me/c.html"
			return nil
		}},
		{"a path in the header", "header's spec.out is a path", func(run *results.Run, _ []*results.ChaosVerdict) []any {
			run.Spec = map[string]any{"out": "/home/me/c"}
			return nil
		}},
		{"a host without a name", "does not name the processor", func(run *results.Run, _ []*results.ChaosVerdict) []any {
			run.Host = map[string]any{"logical_cpus": 1}
			return nil
		}},
	} {
		s, flags := newSite(t)
		newFixture().write(t, s.out, acme)
		mustPublish(t, append([]string{"-regenerate"}, flags...)...)
		before := snapshot(t, filepath.Dir(s.out))
		file := chaosFile(t, c.change)
		code, _, stderr := publish(append([]string{"-chaos", file}, flags...)...)
		if code == 0 || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "publish: hint: ") {
			t.Errorf("%s: exit %d, got %q, want it to say %q, with a hint", c.name, code, stderr, c.want)
		}
		if !maps.Equal(before, snapshot(t, filepath.Dir(s.out))) {
			t.Errorf("%s: files have changed", c.name)
		}
	}
}
