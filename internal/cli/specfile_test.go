package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockbench/internal/engine"
)

func TestDecodeSpec(t *testing.T) {
	s := engine.Default()
	err := decodeSpec("x.yaml", []byte(`
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
`), &s)
	if err != nil {
		t.Fatal(err)
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

func FuzzSpecFile(f *testing.F) {
	for _, s := range []string{
		"locks: [mcs]\nreps: 3\n", "workloads:\n  - name: a\n    section: 5\n", "workloads: [moderate]", "reps: x", "a: b", "- 1",
		"workloads:\n  - {base: nope}", "workers: [1:2]", ": :", "\t", "locks: &a [*a]", "duration: 1", "workloads: {}", "workloads: [[]]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := engine.Default()
		err := decodeSpec("f.yaml", b, &s)
		var u *engine.UsageError
		if err != nil && !errors.As(err, &u) {
			t.Errorf("%v is no usage error", err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%v does not name the file", err)
		}
		if err == nil {
			// Whatever decodes can be validated without a panic.
			_ = s.Validate(engine.Machine{Scatter: []int{0, 1}, Compact: []int{0, 1}})
		}
	})
}
