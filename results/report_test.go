package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func add(t *testing.T, b *Builder, file string, recs ...any) {
	t.Helper()
	for _, rec := range recs {
		var err error
		switch r := rec.(type) {
		case *Run:
			err = b.Add(file, Record{Type: TypeRun, Run: r})
		case *Sample:
			err = b.Add(file, Record{Type: TypeSample, Sample: r})
		case *Event:
			err = b.Add(file, Record{Type: TypeEvent, Event: r})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestBuilderMergesOnlyTheSameRun(t *testing.T) {
	b := NewBuilder()
	add(t, b, "a.jsonl", testRun("r1"), testSample("mcs", 0, 10))
	add(t, b, "b.jsonl", testRun("r1"), testSample("mcs", 1, 10), testSample("mcs", 0, 10))
	add(t, b, "c.jsonl", testRun("r2"), testSample("mcs", 0, 10))
	add(t, b, "d.jsonl", testRun(""), testSample("mcs", 0, 10), testRun(""), testSample("mcs", 0, 10))
	rep := b.Report()
	var got []string
	for _, r := range rep.Runs {
		c := r.Cells()[0]
		got = append(got, strings.Join(r.Files, "+")+" "+strings.Repeat("x", c.Reps))
	}
	want := []string{"a.jsonl+b.jsonl xx", "c.jsonl x", "d.jsonl x", "d.jsonl x"}
	if !slices.Equal(got, want) {
		t.Errorf("runs: got %q, want %q", got, want)
	}
	if w := rep.Runs[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "b.jsonl: repetitions of run r1 that were read before are not counted again: 1") {
		t.Errorf("warnings: got %q", w)
	}
}

func TestBuilderNeedsAHeader(t *testing.T) {
	err := NewBuilder().Add("x", Record{Type: TypeSample, Line: 3, Sample: testSample("mcs", 0, 1)})
	var fe *FileError
	if !errors.As(err, &fe) || fe.Line != 3 {
		t.Errorf("got %v, want an error with the line", err)
	}
}

func TestBuilderDoesNotChangeItsInput(t *testing.T) {
	s := testSample("mcs", 0, 10)
	s.Acquire = &Latency{Count: 1, HDR: "x"}
	e := &Event{Kind: EventInterrupted, Dump: "goroutine 1"}
	b := NewBuilder()
	add(t, b, "a", testRun("r"), s, e)
	rep := b.Report()
	if s.Acquire.HDR != "x" || e.Dump == "" {
		t.Error("Add changed the records it was given")
	}
	if got := rep.Runs[0].Samples[0].Acquire.HDR; got != "" {
		t.Errorf("the report keeps the histogram %q", got)
	}
	if c := rep.Runs[0].Cells()[0]; !c.Interrupted || !rep.Runs[0].Interrupted {
		t.Error("the interrupt is not in the cell's summary")
	}
	if w := rep.Runs[0].Warnings; !slices.Equal(w, []string{"the run was interrupted"}) {
		t.Errorf("warnings: got %q", w)
	}
}

func TestSectionOrder(t *testing.T) {
	run := testRun("r")
	run.Workloads = []string{"zeta", "alpha"}
	mk := func(lock, workload string, workers int, ops int64, edit func(*Sample)) *Sample {
		s := testSample(lock, 0, ops)
		s.Workload, s.Workers, s.Cell = workload, workers, lock+"/workload="+workload
		if edit != nil {
			edit(s)
		}
		return s
	}
	b := NewBuilder()
	add(t, b, "a", run,
		mk("mcs", "other", 1, 10, nil),
		mk("mcs", "alpha", 4, 10, nil),
		mk("mcs", "alpha", 2, 10, nil),
		mk("slow", "zeta", 2, 10, nil),
		mk("fast", "zeta", 2, 20, nil),
		mk("skip", "zeta", 2, 0, func(s *Sample) { s.Outcome = OutcomeSkipped }),
		mk("racy", "zeta", 2, 90, func(s *Sample) { s.Outcome = OutcomeViolation }),
		mk("stuck", "zeta", 2, 0, func(s *Sample) { s.Outcome = OutcomeHang }),
		mk("null", "zeta", 2, 1, func(s *Sample) { s.Control = true }),
		mk("iface", "zeta", 2, 99, func(s *Sample) { s.Dispatch = "interface" }),
	)
	var got []string
	for _, s := range b.Report().Runs[0].Sections {
		line := s.Workload + " " + s.Dispatch + ":"
		for _, c := range s.Cells {
			line += " " + c.Lock
		}
		got = append(got, line)
	}
	want := []string{
		"zeta direct: null fast slow racy stuck skip", "zeta interface: iface",
		"alpha direct: mcs", "alpha direct: mcs", "other direct: mcs",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestOpenLoopOrder: the arrivals set the throughput, so the p99 ranks.
func TestOpenLoopOrder(t *testing.T) {
	mk := func(lock string, ops, p99 int64) *Sample {
		s := testSample(lock, 0, ops)
		s.OfferedOps, s.Acquire = 1000, &Latency{Count: 1, P99: p99, P999: p99, Max: p99}
		return s
	}
	b := NewBuilder()
	none := testSample("none", 0, 99)
	none.OfferedOps = 1000
	add(t, b, "a", testRun("r"), mk("busy", 102, 900), mk("quick", 100, 100), mk("mid", 101, 500), none)
	sec := b.Report().Runs[0].Sections[0]
	var got []string
	for _, c := range sec.Cells {
		got = append(got, c.Lock)
	}
	if want := []string{"quick", "mid", "busy", "none"}; !slices.Equal(got, want) || sec.OfferedOps != 1000 {
		t.Errorf("got %q at %g offered, want %q at 1000", got, sec.OfferedOps, want)
	}
}

// TestControlOfAnotherSection: locked threads have no null row of their own.
func TestControlOfAnotherSection(t *testing.T) {
	b := NewBuilder()
	null, bound, ext, far := testSample("null", 0, 9), testSample("pi", 0, 5), testSample("ext", 0, 5), testSample("far", 0, 5)
	null.Control, bound.Threads, ext.Dispatch = true, "locked", "external"
	ext.Cell += "/dispatch=external"
	far.Workers = 3
	add(t, b, "a", testRun("r"), null, testSample("mcs", 0, 5), bound, ext, far)
	got := map[string]string{}
	for _, s := range b.Report().Runs[0].Sections {
		name := s.Cells[len(s.Cells)-1].Lock
		switch {
		case s.HasControl():
			got[name] = "own"
		case s.Control != nil:
			got[name] = s.Control.Lock
		}
	}
	for lock, want := range map[string]string{"mcs": "own", "pi": "null", "ext": "null", "far": ""} {
		if got[lock] != want {
			t.Errorf("control of %s: %q, want %q", lock, got[lock], want)
		}
	}
}

func TestHostFacts(t *testing.T) {
	yes := true
	for _, tc := range []struct {
		in   any
		want string
	}{
		{nil, ""},
		{"a string", ""},
		{map[string]any{"cpu_model": 5}, ""},
		{map[string]any{"cpu_model": "X", "logical_cpus": 2.0, "virtualized": true, "hypervisor": "KVM", "os": "linux", "kernel": "6.1", "governor": "powersave"},
			"X, 2 logical CPUs, virtual machine (KVM), governor powersave, linux 6.1"},
		{struct {
			V *bool `json:"virtualized"`
		}{&yes}, "virtual machine"},
		{func() {}, ""},
	} {
		if got := hostFacts(tc.in).String(); got != tc.want {
			t.Errorf("host %v: got %q, want %q", tc.in, got, tc.want)
		}
	}
}

// TestSummariesOnly: the summaries are the same with and without the samples.
func TestSummariesOnly(t *testing.T) {
	fill := func(opts ...BuilderOption) *Report {
		b := NewBuilder(opts...)
		run := testRun("r")
		run.Reps = 9
		add(t, b, "a", run)
		for rep := range 8 {
			for i, lock := range []string{"mcs", "tas", "mutex"} {
				s := testSample(lock, 7-rep, int64(1000*(i+1)+37*rep*rep%500)) // in no order
				s.Flags = []string{fmt.Sprintf("gc: of repetition %d", 7-rep)} // the mark has the first one's
				c := 100 + float64(rep)
				s.CoherenceNS, s.CPUNSPerOp = &c, float64(rep)
				s.Acquire = &Latency{Count: 1, P50: 5, P90: 5, P99: int64(10 + rep*rep*rep), P999: 1000, Max: 1000 + int64(rep)}
				if lock == "mutex" && rep == 3 {
					s.Outcome, s.Reason = OutcomeHang, "no progress"
				}
				s.Phases = []Phase{{Workers: 2, ElapsedNS: 100_000_000, Ops: s.Ops, ThroughputOps: s.ThroughputOps}}
				add(t, b, "a", s)
			}
		}
		add(t, b, "b", run, testSample("mcs", 0, 1000)) // read before
		return b.Report()
	}
	full, slim := fill(), fill(SummariesOnly())
	if got := len(slim.Runs[0].Samples); got != 0 || len(full.Runs[0].Samples) != 24 {
		t.Errorf("got %d and %d samples, want none and 24", got, len(full.Runs[0].Samples))
	}
	slim.Runs[0].Samples = full.Runs[0].Samples
	if diff := cmp.Diff(full, slim); diff != "" {
		t.Errorf("reports differ (-full +slim):\n%s", diff)
	}
}
