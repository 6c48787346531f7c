package render

import (
	"bytes"
	"strings"
	"testing"

	"lockbench/results"
)

// spreadReport has repetitions of two locks: one with outliers by rate and by
// latency, one with two groups.
func spreadReport(t *testing.T) *results.Report {
	t.Helper()
	b := results.NewBuilder()
	add := func(r results.Record) {
		t.Helper()
		if err := b.Add("x", r); err != nil {
			t.Fatal(err)
		}
	}
	add(results.Record{Run: &results.Run{RunID: "r", Schema: 1, Reps: 7}})
	for lock, rates := range map[string][]float64{
		"lone": {100e3, 102e3, 50e3, 101e3, 99e3, 100e3, 103e3},
		"twin": {100e3, 101e3, 99e3, 200e3, 201e3, 100e3, 199e3},
	} {
		for rep, rate := range rates {
			coherence, p99 := 290.0, int64(10)
			if rate > 150e3 {
				coherence = 27
			}
			if lock == "lone" && rep == 5 {
				p99 = 1500
			}
			add(results.Record{Sample: &results.Sample{
				Cell: lock, Lock: lock, Workload: "w", Workers: 2, Cores: 2, Rep: rep, Outcome: results.OutcomeOK,
				Ops: int64(rate), ElapsedNS: 1e9, ThroughputOps: rate, CoherenceNS: &coherence,
				Acquire: &results.Latency{Count: 1, P50: 10, P90: 10, P99: p99, P999: p99, Max: p99},
			}})
		}
	}
	return b.Report()
}

func TestNotes(t *testing.T) {
	rep := spreadReport(t)
	want := []string{
		"lone has outliers: repetition 2 at 50.0 k/s (median 100 k/s), repetition 5 at acquire p99 1.50 µs (median 10 ns)",
		"twin is bimodal: 4 repetitions at 100 k/s with coherence 290 ns, 3 repetitions at 200 k/s with coherence 27 ns: they ran in different coherence modes",
	}
	for _, f := range []struct {
		name, lead string
	}{{"table", "note: "}, {"markdown", "- "}} {
		format, err := Lookup(f.name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := format.Write(&out, rep); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(out.String(), "\n  ", " ") // long notes are wrapped
		for _, w := range want {
			if !strings.Contains(text, "\n"+f.lead+w+"\n") {
				t.Errorf("%s: no line %q in\n%s", f.name, f.lead+w, out.String())
			}
		}
		for _, word := range []string{"outliers", "bimodal"} {
			if !strings.Contains(out.String(), word) || strings.Contains(out.String(), "a mark that this version does not know") {
				t.Errorf("%s: the mark %s is not explained", f.name, word)
			}
		}
	}
	var out bytes.Buffer
	if err := CSV(&out, rep); err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"modes_by_coherence,outliers\n", ",,2:throughput_ops_s 5:acquire_p99_ns\n", ",true,\n"} {
		if !strings.Contains(out.String(), w) {
			t.Errorf("csv: no %q in\n%s", w, out.String())
		}
	}
}

func TestNotesAreFew(t *testing.T) {
	s := &results.Section{}
	for range maxNotes + 3 {
		s.Cells = append(s.Cells, &results.CellSummary{
			Outcome: results.OutcomeOK, Metrics: results.Metrics{Throughput: &results.Estimate{N: 7}},
			Outliers: []results.Outlier{{Rep: 1, Metric: "throughput_ops_s", Value: 1, Median: 2}},
		})
	}
	got := notes(s)
	if len(got) != maxNotes+1 || !strings.HasPrefix(got[maxNotes], "and 3 more; ") {
		t.Errorf("got %q, want %d notes and a line about 3 more", got, maxNotes)
	}
}

func TestSpreadColumns(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	for _, tc := range []struct {
		name string
		e    *results.Estimate
		want string
	}{
		{"none", nil, "- - -"},
		{"one repetition", &results.Estimate{N: 1, Median: 5, MAD: v(0)}, "1 - -"},
		{"two", &results.Estimate{N: 2, Median: 100, MAD: v(1), CV: v(0.0141)}, "2 1.0 1.4"},
		{"tight", &results.Estimate{N: 7, Median: 1e6, MAD: v(1), CV: v(0.00001)}, "7 <0.1 <0.1"},
		{"equal", &results.Estimate{N: 7, Median: 1e6, MAD: v(0), CV: v(0)}, "7 0 0"},
		{"wide", &results.Estimate{N: 7, Median: 100, MAD: v(40), CV: v(1.62)}, "7 40 162"},
		{"nothing done", &results.Estimate{N: 7, MAD: v(0)}, "7 - -"},
	} {
		c := &results.CellSummary{Metrics: results.Metrics{Throughput: tc.e}}
		var got []string
		for _, col := range spreadColumns() {
			got = append(got, col.cell(c))
			if f := col.of(&c.Metrics); (f == nil) != (got[len(got)-1] == "-") {
				t.Errorf("%s: column %q sorts by %v and shows %q", tc.name, col.head, f, got[len(got)-1])
			}
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, text, tc.want)
		}
	}
}
