package compare

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/results"
)

func pairedRun(t *testing.T, change func(*results.Run)) *results.RunReport {
	t.Helper()
	b := results.NewBuilder()
	path := filepath.Join("testdata", "ab.jsonl")
	if _, err := results.ReadFile(path, func(r results.Record) error {
		if r.Run != nil {
			change(r.Run)
		}
		return b.Add(path, r)
	}); err != nil {
		t.Fatal(err)
	}
	return b.Report().Runs[0]
}

func TestPaired(t *testing.T) {
	run := pairedRun(t, func(*results.Run) {})
	c, err := Paired(run, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Paired || c.Tests != 6 || len(c.Rows) != 9 {
		t.Fatalf("got %d rows, %d tests, want 9 and 6", len(c.Rows), c.Tests)
	}
	byName := map[string]*Row{}
	for _, r := range c.Rows {
		byName[r.Lock+" "+r.Metric.Name] = r
	}
	// In the file, mutex is slower by a factor of 16 to 16.96.
	r := byName["mutex throughput_ops_s"]
	if r.Verdict != Slower || r.Pairs != 14 || math.Abs(r.Ratio.Center*16.48-1) > 0.02 || r.Ratio.Lo < 1/17.2 || r.Ratio.Hi > 1/15.9 {
		t.Errorf("mutex: got %q, ratio %+v of %d pairs, want slower, 1/16.5 of 14", r.Verdict, r.Ratio, r.Pairs)
	}
	if want := math.Ldexp(2, -14); *r.P != want || r.MinP != want {
		t.Errorf("mutex: got p %g, smallest %g, want %g", *r.P, r.MinP, want)
	}
	if r := byName["null jain"]; r.Verdict != ControlAlike {
		t.Errorf("null: got %q", r.Verdict)
	}
	if r := byName["mcs jain"]; r.Pairs != 12 {
		t.Errorf("mcs: got %d pairs, want 12 of 14", r.Pairs)
	}
	want := Dropped{Cell: "mcs/workload=moderate/workers=2", Kept: 12}
	i := slices.IndexFunc(c.Dropped, func(d Dropped) bool { return d.Cell == want.Cell })
	if i < 0 || c.Dropped[i].Kept != 12 || c.Dropped[i].Reason["coherence"] != 1 || c.Dropped[i].Reason["outcome"] != 1 {
		t.Errorf("dropped: got %+v, want of mcs 1 by coherence, 1 by outcome", c.Dropped)
	}
	if len(c.Alarms) != 1 || c.Alarms[0].Outcome != "hang" || c.Alarms[0].Side != "new" || c.Alarms[0].N != 14 || c.Alarms[0].Reason == "" {
		t.Errorf("alarms: got %+v, want the hang of new", c.Alarms)
	}
	var programs []string
	for _, p := range c.Programs {
		if p.Cell == "mutex/workload=moderate/workers=2" && p.Metric == "throughput_ops_s" {
			programs = append(programs, p.Old+" "+p.New)
		}
	}
	if !slices.Equal(programs, []string{"./old ./new-a", "./old ./new-b"}) {
		t.Errorf("programs: got %q", programs)
	}
}

func TestPairedHeader(t *testing.T) {
	for _, x := range []struct {
		name    string
		change  func(*results.Run)
		o       Options
		err     string
		warning string
	}{
		{"one side only", func(r *results.Run) { r.Programs = nil }, Options{}, "is no paired session", ""},
		{"A/A", func(r *results.Run) { r.Programs[1].SHA256 = r.Programs[0].SHA256 }, Options{}, "", "one program is on both sides"},
		{"fewer programs than samples say", func(r *results.Run) { r.Programs = r.Programs[:1] }, Options{}, "", ""},
		{"a filter", func(*results.Run) {}, Options{Filters: []Filter{{Text: "lock=tas", key: "lock", pattern: "tas"}}}, "matches no cell", ""},
	} {
		c, err := Paired(pairedRun(t, x.change), x.o)
		switch {
		case x.err == "" && err != nil || x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err)):
			t.Errorf("%s: got %v, want %q", x.name, err, x.err)
		case err == nil && x.warning != "" && !strings.Contains(strings.Join(c.Warnings, "\n"), x.warning):
			t.Errorf("%s: got %q, want %q", x.name, c.Warnings, x.warning)
		}
	}
}

// TestProgramNames: two builds of one name are told apart, and none is lost.
func TestProgramNames(t *testing.T) {
	run := &results.RunReport{Run: results.Run{Programs: []results.SideProgram{{File: "./a"}, {File: "./b"}, {File: "./b"}, {}}}}
	for n, want := range map[int]string{0: "./a", 1: "./b #2", 2: "./b #3", 3: "#4", 4: "program 4", -1: "program -1"} {
		if got := programName(run, n); got != want {
			t.Errorf("program %d: got %q, want %q", n, got, want)
		}
	}
}

// TestPairedFew: of 5 pairs, no interval exists at 95 %, and no row can pass.
func TestPairedFew(t *testing.T) {
	run := pairedRun(t, func(*results.Run) {})
	for _, s := range run.Samples {
		if s.Rep >= 5 && s.Outcome == results.OutcomeOK {
			s.Outcome = results.OutcomeError
		}
		if s.Lock == "mcs" {
			s.Dispatch = map[string]string{"old": "direct", "new": "interface"}[s.Side]
		}
		if s.Lock == "null" && s.Rep == 9 {
			s.Outcome = results.OutcomeViolation
		}
	}
	c, err := Paired(run, Options{Metrics: metrics(t, "throughput_ops_s")})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Rows) != 1 || c.Rows[0].Lock != "mutex" || c.Rows[0].Verdict != TooFew || c.Rows[0].Ratio.OK || c.TooFew != 1 || c.NeedReps != 6 {
		t.Errorf("got %+v, want mutex alone, too few, 6 pairs needed", c)
	}
	if len(c.OneSided) != 2 || !strings.Contains(c.OneSided[0].Reason, "violation in old") || !strings.Contains(c.OneSided[1].Reason, "dispatch direct and interface") {
		t.Errorf("got %+v, want null by a violation and mcs by dispatch", c.OneSided)
	}
}
