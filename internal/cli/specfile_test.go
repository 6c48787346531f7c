package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/engine"
	"lockbench/internal/yamldoc"
	"lockbench/workloads"
)

func TestDecodeSpec(t *testing.T) {
	f := specFile{spec: engine.Default()}
	err := f.decode("x.yaml", []byte(`
locks: [mcs, "ticket*"]
workers: [1, all, 4x]
cores: [1, 2]
pin: compact
duration: 50ms
probe: 10ms
warmup: 0s
reps: 3
seed: 18446744073709551615
sample-every: 8
timeout: 2s
dispatch: interface
workloads:
  - open-loop
  - name: mine
    base: moderate
    section: 500
    think: bimodal:10,1000,5
    hog: exp:3us
    reads: 12.5
    timed: 5
    timed-wait: 1ms
    locks: 4
    choice: zipf:0.8
    phases: 50:1,100:1
    read-lines: 2
    write-lines: 0
labels: {branch: main, n: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	s := f.spec
	if f.labels["branch"] != "main" || f.labels["n"] != "3" {
		t.Errorf("labels %v", f.labels)
	}
	if len(s.Locks) != 2 || len(s.Workers) != 3 || s.Workers[2].Factor != 4 || s.Duration != 50*time.Millisecond || s.Seed != 1<<64-1 || s.Every != 8 {
		t.Errorf("spec %+v", s)
	}
	if len(s.Workloads) != 2 || s.Workloads[0].Name != "open-loop" || s.Workloads[0].Arrivals.Rate != 200000 {
		t.Fatalf("workloads %+v", s.Workloads)
	}
	w := s.Workloads[1]
	if w.Name != "mine" || w.Section.A.Units != 500 || w.Think.Pct != 5 || w.Hog.A.Time != 3*time.Microsecond || w.Reads != 12.5 ||
		w.TimedWait != time.Millisecond || w.Choice.Zipf != 0.8 || len(w.Phases) != 2 || w.WriteLines != 0 || w.Workers.Factor != 1 {
		t.Errorf("workload %+v", w)
	}
	if err := w.Validate(); err != nil {
		t.Error(err)
	}
}

// TestSpecFileErrors: file, line, column, plain words, and a hint.
func TestSpecFileErrors(t *testing.T) {
	check := func(s engine.Spec) error {
		if err := s.Validate(engine.Machine{Scatter: []int{0, 1}, Compact: []int{0, 1}}); err != nil {
			return err
		}
		_, err := engine.Select(impls.Catalog(), s.Locks)
		return err
	}
	for _, c := range []struct{ in, err, hint string }{
		{"", "f.yaml: the file has no settings", ""},
		{"# only this\n", "f.yaml: the file has no settings", ""},
		{"- 1", "f.yaml:1:1: the settings: want a map", ""},
		{"reps: 3\n---\nreps: 4\n", "f.yaml:3:", "one file is one run"},
		{"reps: 3\nlock: [mutex]\n", `f.yaml:2:1: unknown key "lock"`, "did you mean locks? keys: locks, workloads"},
		{"reps: 3\nreps: 4\n", "f.yaml:2:1: ", ""},
		{"locks:\n  - mutex\n  - mutx\n", `f.yaml:3:5: unknown lock "mutx"`, "did you mean mutex"},
		{"locks: mutex,tsa", `f.yaml:1:8: unknown lock "tsa"`, "did you mean tas"},
		{"locks: {a: b}", "f.yaml:1:8: want a list", ""},
		{"locks: []", "f.yaml:1:8: locks: an empty list", ""},
		{"workloads: [moderat]", `f.yaml:1:13: unknown workload "moderat"`, "did you mean moderate"},
		{"workloads:\n  - {name: a, base: nope}", `f.yaml:2:21: unknown workload "nope"`, ""},
		{"workloads:\n  - {base: moderate}", "f.yaml:2:", "add a key name"},
		{"workloads:\n  - name: a\n    section: norm:3", `f.yaml:3:14: section: unknown distribution "norm"`, "section length"},
		{"workloads:\n  - name: a\n    sektion: 3", `f.yaml:3:5: unknown key "sektion"`, "did you mean section"},
		{"workloads:\n  - name: a\n    reads: 101", "f.yaml:3:12: reads: 101", ""},
		{"duration: 10", `f.yaml:1:11: duration: "10": want a duration with a unit`, ""},
		{"duration: 10parsec", `f.yaml:1:11: duration: "10parsec": want a duration with a unit`, ""},
		{"duration: -1s", "f.yaml:1:11: duration: -1s", ""},
		{"reps: many", `f.yaml:1:7: reps: "many": want an integer`, ""},
		{"reps: [1]", "f.yaml:1:7: want one value", ""},
		{"reps: 0", "f.yaml:1:7: reps: 0", ""},
		{"ops: -5", `f.yaml:1:6: ops: "-5": want a number of operations above 0`, ""},
		{"seed: -1", `f.yaml:1:7: seed: "-1": want an integer from 0`, ""},
		{"workers: [0]", `f.yaml:1:11: workers: bad number of workers "0"`, "numbers"},
		{"workers: [3:1]", `f.yaml:1:11: workers: bad range "3:1"`, ""},
		{"cores: [99]", "f.yaml:1:9: cores: 99", ""},
		{"pin: sideways", `f.yaml:1:6: pin: "sideways"`, "scatter"},
		{"labels: [a]", "f.yaml:1:9: labels: want a map", ""},
		{"reps: &a *a", "f.yaml:", ""},
	} {
		f := specFile{spec: engine.Default(), check: check}
		err := f.decode("f.yaml", []byte(c.in))
		var u *engine.UsageError
		if !errors.As(err, &u) || !strings.HasPrefix(err.Error(), c.err) || !strings.Contains(u.Hint, c.hint) {
			t.Errorf("%q: got %v (%+v), want %q with hint %q", c.in, err, u, c.err, c.hint)
			continue
		}
		for _, leak := range []string{"unmarshal", "uint64", "time.Duration", "struct"} {
			if strings.Contains(err.Error(), leak) {
				t.Errorf("%q: %v shows Go's insides", c.in, err)
			}
		}
	}
}

func TestSpecFileLists(t *testing.T) {
	f := specFile{spec: engine.Default()}
	if err := f.decode("f.yaml", []byte("locks: mutex,tas\nworkers: [1:3, all]\ncores: [1:2]\nworkloads: ['un*', all]\n")); err != nil {
		t.Fatal(err)
	}
	s := f.spec
	if !slices.Equal(s.Locks, []string{"mutex", "tas"}) || fmt.Sprint(s.Workers) != "[1 2 3 all]" || !slices.Equal(s.Cores, []int{1, 2}) {
		t.Errorf("locks %q, workers %v, cores %v", s.Locks, s.Workers, s.Cores)
	}
	if want := 1 + len(workloads.Presets()); len(s.Workloads) != want {
		t.Errorf("%d workloads, want %d", len(s.Workloads), want)
	}
}

// TestSpecFileKeys: every setting of a spec can be set in a file.
// TestSpecFileWorkersOf: a workload may have several numbers of workers of its
// own, which the workers of the whole file override.
func TestSpecFileWorkersOf(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int // of the cells of mutex, in order
	}{
		{"workloads: [uncontended, {name: m, base: moderate, workers: [1, '2,3', all]}]", []int{1, 1, 2, 3, 4}},
		{"workloads: [uncontended, {name: m, base: moderate, workers: 3}]", []int{1, 3}},
		{"workers: 2\nworkloads: [uncontended, {name: m, base: moderate, workers: [1, 3]}]", []int{2, 2}},
	} {
		f := specFile{spec: engine.Default()}
		if err := f.decode("x.yaml", []byte("locks: [mutex]\n"+c.text)); err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		p, err := engine.NewPlan(f.spec, impls.Catalog(), engine.Machine{Compact: []int{0, 1, 2, 3}, Scatter: []int{0, 1, 2, 3}})
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		var got []int
		for _, x := range p.Cells {
			if x.Lock.Name == "mutex" {
				got = append(got, x.Workers)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got cells of %v workers, want %v", c.text, got, c.want)
		}
	}
}

func TestSpecFileKeys(t *testing.T) {
	keys := slices.Concat(yamldoc.Keys(engine.Spec{}), yamldoc.Keys(engine.RemoteSpec{}))
	if len(keys) < 25 {
		t.Errorf("%d keys: %q", len(keys), keys)
	}
	for _, key := range keys {
		if slices.Contains([]string{"locks", "workloads", "workers", "cores", "runners", "clients", "topologies", "backends", "images"}, key) {
			continue
		}
		if err := setScalar(new(engine.Default()), key, "1"); err != nil && strings.Contains(err.Error(), "this version") {
			t.Error(err)
		}
	}
}

func FuzzSpecFile(f *testing.F) {
	for _, s := range []string{
		"locks: [mcs]\nreps: 3\n", "workloads:\n  - name: a\n    section: 5\n", "workloads: [moderate]", "reps: x", "a: b", "- 1",
		"workloads:\n  - {base: nope}", "workers: [1:2]", ": :", "\t", "locks: &a [*a]", "duration: 1", "workloads: {}", "workloads: [[]]",
		"labels: {a: 1}", "a: 1\n---\nb: 2", "locks: &a mcs\nlabels: {x: *a}", "x: &a [*a]", "? [a]\n: b", "<<: {a: b}", "locks: mcs,tas", "reps: !!int 3",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := engine.Machine{Scatter: []int{0, 1}, Compact: []int{0, 1}}
		f := specFile{spec: engine.Default(), check: func(s engine.Spec) error { return s.Validate(m) }}
		err := f.decode("f.yaml", b)
		var u *engine.UsageError
		if err != nil && !errors.As(err, &u) {
			t.Errorf("%v is no usage error", err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%v does not name the file", err)
		}
		if err == nil {
			// Whatever decodes can be validated without a panic.
			_ = f.spec.Validate(m)
		}
	})
}
