package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"lockbench/internal/golden"
	"lockbench/results"
	"lockbench/results/compare"
	"lockbench/results/stat"
)

// comparisons are those of the files in results/compare/testdata, and one made
// up of everything that can go wrong.
func comparisons(t *testing.T) map[string]*compare.Comparison {
	t.Helper()
	t.Chdir(filepath.Join("..", "compare", "testdata"))
	load := func(arg, label string) *compare.Side {
		s, err := compare.Load(arg, label)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	files, err := compare.Compare(load("old.jsonl", "old"), load("after=new.jsonl", "new"), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	paired, err := compare.Paired(load("ab.jsonl", "old").PairedRun(), compare.Options{Alpha: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*compare.Comparison{"files": files, "paired": paired, "odd": odd(t)}
}

func odd(t *testing.T) *compare.Comparison {
	t.Helper()
	metric := func(name string) results.Metric {
		m, err := results.LookupMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	inf := math.Inf(1)
	p, adj := 1e-9, 2e-8
	const cell = "a|b<i>/workload=w/workers=2"
	return &compare.Comparison{
		Old: compare.SideInfo{Label: "before", Files: []string{"a.jsonl"}, Host: "one"}, New: compare.SideInfo{Label: "after", Files: []string{"b.jsonl", "c.jsonl"}, Host: "another"},
		Alpha: 0.05, Tests: 2, TooFew: 1, NeedReps: 6, Metrics: []string{"wall_ns_per_op"},
		Rows: []*compare.Row{
			{Cell: cell, Lock: "a|b<i>", Workload: "w", Workers: 2, Metric: metric("wall_ns_per_op"), Old: compare.Value{N: 7, Median: 12}, New: compare.Value{N: 6, Median: inf},
				Ratio: stat.Interval{Center: inf, Lo: 3, Hi: inf, Confidence: 0.96, N: 13, OK: true}, P: &p, AdjP: &adj, MinP: 1e-9, Verdict: compare.Slower, Notes: []string{"2 and 4 cores"}},
			{Cell: cell, Lock: "a|b<i>", Workload: "w", Workers: 2, Metric: metric("try_failed_pct"), Old: compare.Value{N: 1, Median: 12}, New: compare.Value{N: 1, Median: 0},
				Ratio: stat.Interval{Center: 0, Lo: 0, Hi: inf, N: 2}, MinP: 1, Verdict: compare.TooFew},
			{Cell: cell, Lock: "a|b<i>", Workload: "w", Workers: 2, Metric: metric("handoff_p50_ns"), Old: compare.Value{N: 3, Median: 12}, MinP: 1, Verdict: compare.Absent},
		},
		Alarms: []compare.Alarm{{Side: "after", Cell: "bad/workload=w/workers=2", Outcome: "violation", K: 1, N: 7, Reason: "violation: two | workers"}},
		OneSided: []compare.OneSided{{Side: "before", Cell: "bad/workload=w/workers=2", Reason: "violation: two | workers"},
			{Side: "after", Cell: "more/workload=w/workers=2"}, {Cell: "no/workload=w/workers=2", Reason: "skipped: no TryLock"}},
		Notes:    []compare.Difference{{What: "kernel", Old: "6.1", New: strings.Repeat("long ", 30)}},
		Warnings: []string{"a *doubt*"},
	}
}

func TestComparisonGolden(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range comparisons(t) {
		for _, f := range ComparisonFormats() {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				var out bytes.Buffer
				if err := f.Write(&out, c); err != nil {
					t.Fatal(err)
				}
				golden.Check(t, filepath.Join(here, "testdata", "compare-"+name+"."+f.Name), out.Bytes())
			})
		}
	}
}

// TestComparisonWidth: the table fits its terminal.
func TestComparisonWidth(t *testing.T) {
	for name, c := range comparisons(t) {
		var out bytes.Buffer
		if err := comparisonTable(&out, c); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > maxColumns {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
			if strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
				t.Errorf("%s: white space at the end of %q", name, line)
			}
		}
	}
}

// TestComparisonReadsBack: CSV and JSON have every row and every cell.
func TestComparisonReadsBack(t *testing.T) {
	for name, c := range comparisons(t) {
		var text, object bytes.Buffer
		if err := comparisonCSV(&text, c); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&text).ReadAll()
		if err != nil || len(lines) != 1+len(c.Rows)+len(c.OneSided) {
			t.Errorf("%s: got %d CSV lines, %v, want %d", name, len(lines), err, 1+len(c.Rows)+len(c.OneSided))
		}
		if err := comparisonJSON(&object, c); err != nil {
			t.Fatal(err)
		}
		var back struct {
			Type   string
			Rows   []map[string]any
			Lone   []map[string]any `json:"cells_not_compared"`
			Alarms []map[string]any
		}
		if err := json.Unmarshal(object.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if back.Type != "comparison" || len(back.Rows) != len(c.Rows) || len(back.Lone) != len(c.OneSided) || len(back.Alarms) != len(c.Alarms) {
			t.Errorf("%s: JSON has %d rows, %d cells without, %d alarms", name, len(back.Rows), len(back.Lone), len(back.Alarms))
		}
	}
}

func TestComparisonLookup(t *testing.T) {
	for _, name := range ComparisonNames() {
		if f, err := Comparison(name); err != nil || f.Name != name || f.Help == "" {
			t.Errorf("%s: got %+v, %v", name, f, err)
		}
	}
	if _, err := Comparison("xml"); err == nil || !strings.Contains(err.Error(), "table, markdown, csv, json") {
		t.Errorf("xml: got %v, want the names", err)
	}
}
