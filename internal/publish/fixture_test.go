package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/results"
)

// fixture is a measurement to be written.
type fixture struct {
	run     results.Run
	locks   []string
	workers []int
	change  func(*results.Sample) // may be nil
	tail    string                // more lines of the file
}

func newFixture() *fixture {
	return &fixture{
		run: results.Run{
			Type: results.TypeRun, Schema: results.SchemaMajor, RunID: "run-1", Started: "2026-01-02T03:04:05Z",
			Spec:      map[string]any{"locks": []string{"all"}, "runners": map[string]string{}},
			Host:      map[string]any{"os": "linux", "kernel": "6.1", "cpu_model": "Acme(R) Fast 9 CPU @ 2.00GHz", "logical_cpus": 2, "virtualized": true, "hypervisor": "KVM"},
			Program:   results.Program{Path: "lockbench/cmd/lockbench", Version: "(devel)", Revision: "0123456789abcdef"},
			Doubts:    []string{"virtual machine (KVM)"},
			Workloads: []string{"max-contention", "moderate"}, Reps: 7,
		},
		locks: []string{"null", "mutex", "mcs", "of-mine"}, workers: []int{1, 2, 8},
	}
}

// write makes DIR/NAME with a raw file and a matrix.
func (f *fixture) write(t *testing.T, dir, name string) string {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	f.raw(t, filepath.Join(at, rawName))
	writeText(t, filepath.Join(at, matrixName), "locks: [all]\n")
	return at
}

func (f *fixture) raw(t *testing.T, path string) {
	t.Helper()
	w, err := results.Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	run := f.run
	run.CellsPlanned += len(f.locks) * len(f.workers) * len(run.Workloads)
	put := func(v any) {
		if err := w.Write(v); err != nil {
			t.Fatal(err)
		}
	}
	put(&run)
	for _, workload := range run.Workloads {
		for _, n := range f.workers {
			for i, lock := range f.locks {
				for rep := range run.Reps {
					s := sample(t, lock, workload, n, rep, i)
					if f.change != nil {
						f.change(s)
					}
					put(s)
				}
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if f.tail != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		writeText(t, path, string(b)+f.tail)
	}
}

// sample is a repetition that was ok.
func sample(t *testing.T, lock, workload string, workers, rep, speed int) *results.Sample {
	t.Helper()
	s := &results.Sample{
		Type: results.TypeSample, Cell: fmt.Sprintf("%s/workload=%s/workers=%d", lock, workload, workers),
		Lock: lock, Family: "std", Control: lock == "null", Workload: workload, Workers: workers, Cores: 2,
		Pin: "none", Clients: 1, Rep: rep, Dispatch: "direct", Threads: "free", Outcome: results.OutcomeOK,
		ElapsedNS: 1e9, ProbeElapsedNS: 1e9,
	}
	for w := range workers {
		n := int64(1000*(10-speed) + 10*w + rep)
		s.PerWorkerOps = append(s.PerWorkerOps, n)
		s.Ops += n
	}
	s.ProbeOps, s.ThroughputOps = s.Ops, float64(s.Ops)
	jain := 1 / float64(workers)
	if workers > 1 {
		s.Fairness.Jain = &jain
	}
	h := results.NewHist()
	for i := range 200 {
		h.Record(int64(100+i*i), 1)
	}
	var err error
	if s.Acquire, err = h.Latency(1); err != nil {
		t.Fatal(err)
	}
	return s
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const readmeText = "# a page\n\n" + blockBegin + "\n" + blockEnd + "\n\nmore\n"

// newSite makes an empty site with a page.
func newSite(t *testing.T) (*site, []string) {
	t.Helper()
	dir := t.TempDir()
	s := &site{out: filepath.Join(dir, "published"), readme: filepath.Join(dir, "README.md")}
	if err := os.Mkdir(s.out, 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, s.readme, readmeText)
	return s, []string{"-out", s.out, "-readme", s.readme}
}

// publish runs the program and returns its exit code and what it printed.
func publish(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// mustPublish runs it and wants success.
func mustPublish(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := publish(args...)
	if code != 0 {
		t.Fatalf("publish %s: exit %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// snapshot is the content of all files below dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[path] = readText(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
