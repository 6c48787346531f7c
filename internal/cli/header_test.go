package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"lockbench/impls"
	"lockbench/internal/engine"
	"lockbench/internal/host"
	"lockbench/results"
	"lockbench/results/render"
)

// TestHeaderHasTheHost: package results may not import package host and reads
// its facts by their JSON names; this holds the two together.
func TestHeaderHasTheHost(t *testing.T) {
	h := host.Collect()
	h.CPUModel, h.Governor, h.Kernel = "Testchip 9", "powersave", "9.9-test"
	p, err := engine.NewPlan(engine.Default(), impls.Catalog(), machine(h))
	if err != nil {
		t.Fatal(err)
	}
	run := header(p, h, engine.Calibrate(invariant(h)), map[string]string{"k": "v"})
	b := results.NewBuilder()
	if err := b.Add("x", results.Record{Type: results.TypeRun, Run: run}); err != nil {
		t.Fatal(err)
	}
	s := &results.Sample{Type: results.TypeSample, Cell: "a/workload=b/workers=1", Lock: "a", Workload: "b", Workers: 1, Outcome: results.OutcomeOK, ElapsedNS: 1e9}
	if err := b.Add("x", results.Record{Type: results.TypeSample, Sample: s}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := render.Table(&out, b.Report()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Testchip 9", "powersave", "9.9-test", "lockbench " + version() + ".", "labels: k=v"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q of the host is not in the report:\n%s", want, &out)
		}
	}
	// What the issue wants in a header, by its JSON names.
	js, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(js, &m); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"schema", "seed", "spec", "host", "go", "program", "clock", "calibration", "labels", "workloads", "cells_planned", "reps"} {
		if m[k] == nil {
			t.Errorf("the header has no %q", k)
		}
	}
	if m["clock"].(map[string]any)["cost_ns"].(float64) <= 0 || m["calibration"].(map[string]any)["unit_ns"].(float64) <= 0 {
		t.Errorf("clock %v, calibration %v", m["clock"], m["calibration"])
	}
}
