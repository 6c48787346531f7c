package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lockbench/results"
	"lockbench/results/pairs"
)

func parse(t testing.TB, text string) *Rules {
	t.Helper()
	rs, err := ParseRules("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

const fivePercent = "rules: [{name: speed, metric: throughput_ops_s, max-regression: 5%}]"

func cellOf(lock string) Cell {
	return Cell{Name: lock + "/workload=moderate/workers=2", Lock: lock, Workload: "moderate", Workers: 2, Control: lock == "null"}
}

// half is a repetition of a paired session.
func half(c Cell, side string, n int, rate float64) *results.Sample {
	ns := 35.0
	return &results.Sample{Cell: c.Name, Lock: c.Lock, Workload: c.Workload, Workers: c.Workers, Control: c.Control, Side: side, Rep: n,
		Outcome: results.OutcomeOK, ThroughputOps: rate, CoherenceNS: &ns, CoherenceBeforeNS: &ns, CoherenceAfterNS: &ns,
		Fairness: results.Fairness{}}
}

// live runs a gate as a session would; change is that of the new side. edit may
// spoil a sample, or drop it by false.
func live(t testing.TB, rules *Rules, cells []Cell, budget int, change func(Cell) float64, edit func(*results.Sample) bool) (*Gate, map[string]int) {
	t.Helper()
	g, err := New(rules, cells, budget)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var b pairs.Builder
	ran := map[string]int{}
	for n := range 2 * budget {
		for _, c := range cells {
			if !g.Next(c.Name) {
				continue
			}
			ran[c.Lock]++
			for _, side := range []string{results.SideOld, results.SideNew} {
				rate := 1e6 * math.Exp(0.01*r.NormFloat64())
				if side == results.SideNew {
					rate *= change(c)
				}
				if s := half(c, side, n, rate); edit == nil || edit(s) {
					b.Add(s)
				}
			}
			g.Update(b.Cell(c.Name))
		}
	}
	return g, ran
}

func TestGate(t *testing.T) {
	mcs, null := cellOf("mcs"), cellOf("null")
	skipped := mcs
	skipped.Skipped = "no generated loops"
	outcome := func(side, o string, n int) func(*results.Sample) bool {
		return func(s *results.Sample) bool {
			if s.Side == side && s.Rep == n && s.Lock == "mcs" {
				s.Outcome = o
			}
			return true
		}
	}
	for _, tc := range []struct {
		name   string
		rules  string
		cells  []Cell
		budget int
		change float64
		edit   func(*results.Sample) bool
		want   Verdict
		test   Verdict // of the only test
		pairs  int     // of mcs that were run
		reason string
	}{
		{"no change", fivePercent, []Cell{mcs, null}, 64, 1, nil, Pass, Pass, 16, "within"},
		{"slower", fivePercent, []Cell{mcs, null}, 64, 0.8, nil, Fail, Fail, 16, "beyond"},
		{"about the threshold", fivePercent, []Cell{mcs}, 64, 0.95, nil, Inconclusive, Inconclusive, 64, "the threshold is inside the interval"},
		{"a limit", "rules: [{metric: throughput_ops_s, limit: 2M/s}]", []Cell{mcs}, 64, 1, nil, Fail, Fail, 16, "beyond"},
		{"budget too small", fivePercent, []Cell{mcs}, 7, 0.5, nil, Inconclusive, Inconclusive, 1, "7 pairs can prove nothing at this level; it takes 8"},
		{"violation of the new side", fivePercent, []Cell{mcs}, 64, 1, outcome("new", "violation", 3), Violation, Inconclusive, 4, "violation in 1 of 4 repetitions of the new side"},
		{"hang of the new side", fivePercent, []Cell{mcs}, 64, 1, outcome("new", "hang", 0), Violation, Inconclusive, 1, "hang in 1 of 1"},
		{"violation of the old side", fivePercent, []Cell{mcs}, 64, 1, outcome("old", "violation", 3), Inconclusive, Inconclusive, 4, "of the old side"},
		{"error of the new side", fivePercent, []Cell{mcs}, 64, 1, outcome("new", "error", 3), Inconclusive, Inconclusive, 4, "error in 1 of 4"},
		{"error although slower", fivePercent, []Cell{mcs}, 64, 0.5, outcome("new", "error", 3), Inconclusive, Inconclusive, 4, "error in 1 of 4"},
		{"skipped", fivePercent, []Cell{skipped, null}, 64, 1, nil, Inconclusive, Inconclusive, 0, "no samples: the cell is skipped: no generated loops"},
		{"no figures", "rules: [{metric: handoff_p50_ns, max-regression: 5%}]", []Cell{mcs}, 16, 1, nil, Inconclusive, Inconclusive, 16, "no samples: 16 of 16 pairs do not have handoff_p50_ns"},
		{"coherence drops all", fivePercent, []Cell{mcs}, 16, 1, func(s *results.Sample) bool {
			ns := 35.0
			if s.Side == "new" {
				ns = 200
			}
			s.CoherenceBeforeNS, s.CoherenceAfterNS = &ns, &ns
			return true
		}, Inconclusive, Inconclusive, 16, "no samples: no pair was kept (dropped: coherence 16)"},
		{"half of the pairs dropped: a last look", fivePercent, []Cell{mcs}, 32, 0.8, func(s *results.Sample) bool {
			ns := 35.0
			if s.Side == "new" && s.Rep%3 > 0 {
				ns = 200
			}
			s.CoherenceBeforeNS, s.CoherenceAfterNS = &ns, &ns
			return true
		}, Fail, Fail, 32, "beyond"},
		{"a half is missing", fivePercent, []Cell{mcs}, 16, 1, func(s *results.Sample) bool { return s.Side == "old" },
			Inconclusive, Inconclusive, 16, "no samples: no pair was kept (dropped: alone 16)"},
	} {
		g, ran := live(t, parse(t, tc.rules), tc.cells, tc.budget, func(Cell) float64 { return tc.change }, tc.edit)
		res := g.Result()
		if len(res.Tests) != 1 {
			t.Fatalf("%s: %d tests, want 1", tc.name, len(res.Tests))
		}
		got := res.Tests[0]
		if res.Verdict != tc.want || got.Verdict != tc.test || ran["mcs"] != tc.pairs || !strings.Contains(got.Reason, tc.reason) {
			t.Errorf("%s: got %s, test %s, %d pairs, %q; want %s, %s, %d, %q", tc.name, res.Verdict, got.Verdict, ran["mcs"], got.Reason,
				tc.want, tc.test, tc.pairs, tc.reason)
		}
		if n := ran["null"]; len(tc.cells) > 1 && n != safetyPairs {
			t.Errorf("%s: null ran %d pairs, want %d: no rule is about it", tc.name, n, safetyPairs)
		}
		if _, err := json.Marshal(res); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestNoSamples sees that a gate before its first pair has no verdict, and says
// what is missing.
func TestNoSamples(t *testing.T) {
	g, err := New(parse(t, fivePercent), []Cell{cellOf("mcs")}, 64)
	if err != nil {
		t.Fatal(err)
	}
	res := g.Result()
	if res.Verdict != Inconclusive || res.Tests[0].Reason != "no samples" || !g.Next(cellOf("mcs").Name) || g.Next("other") {
		t.Errorf("got %s, %q, next %v", res.Verdict, res.Tests[0].Reason, g.Next(cellOf("mcs").Name))
	}
}

func TestInterrupted(t *testing.T) {
	g, err := New(parse(t, fivePercent), []Cell{cellOf("mcs")}, 64)
	if err != nil {
		t.Fatal(err)
	}
	var b pairs.Builder
	for n := range 15 {
		b.Add(half(cellOf("mcs"), "old", n, 1e6))
		b.Add(half(cellOf("mcs"), "new", n, 0.5e6))
	}
	g.Update(b.Cell(cellOf("mcs").Name))
	g.Interrupt()
	res := g.Result()
	if got := res.Tests[0]; res.Verdict != Inconclusive || !strings.Contains(got.Reason, "interrupted, undecided after 15 pairs; the next look would have been at 16") {
		t.Errorf("got %s, %q: whoever stops a session must not choose the look", res.Verdict, got.Reason)
	}
}

func TestNewErrors(t *testing.T) {
	cells := []Cell{cellOf("mcs"), cellOf("mutex"), cellOf("null")}
	for _, tc := range []struct {
		name, rules string
		cells       []Cell
		budget      int
		want, hint  string
	}{
		{"lock", "rules: [{lock: msc, metric: jain, limit: 0.5}]", cells, 64, `rules.yaml:1:9: rule "msc: jain at least 0.5" matches no cell`, "did you mean lock mcs? there are: mcs, mutex, null"},
		{"workload", "rules: [{workload: high, metric: jain, limit: 0.5}]", cells, 64, "matches no cell", "no workload is high; there are: moderate"},
		{"workers", "rules: [{workers: 8, metric: jain, limit: 0.5}]", cells, 64, "matches no cell", "there are: 2"},
		{"controls by name only", "rules: [{lock: nul*, metric: jain, limit: 0.5}]", cells, 64, "matches no cell", "lock"},
		{"not together", "rules: [{lock: mcs, workload: high, metric: jain, limit: 0.5}]",
			append([]Cell{{Name: "x", Lock: "x", Workload: "high", Workers: 2}}, cells...), 64, "matches no cell", "not together"},
		{"no cells", fivePercent, nil, 64, "matches no cell", "there are: "},
		{"budget 0", fivePercent, cells, 0, "a budget of 0 pairs: want 1 to 4096", "16, 32, 64"},
		{"budget", fivePercent, cells, MaxBudget + 1, "a budget of 4097 pairs", "16, 32, 64"},
		{"two of a name", fivePercent, append(cells, cells[0]), 64, "two cells are named mcs/", "once"},
	} {
		_, err := New(parse(t, tc.rules), tc.cells, tc.budget)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(e.Hint(), tc.hint) {
			t.Errorf("%s: got %v, %+v, want %q, hint %q", tc.name, err, e, tc.want, tc.hint)
		}
	}
	if _, err := New(&Rules{Alpha: 0.01}, cells, 64); err == nil {
		t.Error("a gate without rules: no error")
	}
}

// TestUpdateOften sees that a verdict does not depend on how often a gate is
// told of new pairs.
func TestUpdateOften(t *testing.T) {
	rules := parse(t, fivePercent)
	for i, change := range []float64{1, 0.97, 0.955, 0.95, 0.94, 0.8} {
		g, ran := live(t, rules, []Cell{cellOf("mcs")}, 64, func(Cell) float64 { return change }, nil)
		want := g.Result()
		once, err := New(rules, []Cell{cellOf("mcs")}, 64)
		if err != nil {
			t.Fatal(err)
		}
		once.Update(g.at[cellOf("mcs").Name].pairs)
		a, b := asJSON(t, want), asJSON(t, once.Result())
		if a != b {
			t.Errorf("case %d, change %g, %d pairs: at once\n%s\npair by pair\n%s", i, change, ran["mcs"], b, a)
		}
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// recorded is a session as its file would be read.
func recorded(t testing.TB, reps int, samples []*results.Sample, paired bool, extra ...results.Record) *results.Report {
	t.Helper()
	b := results.NewBuilder()
	run := &results.Run{RunID: fmt.Sprint("r", reps), Reps: reps}
	if paired {
		run.Programs = []results.SideProgram{{Side: "old", File: "a", Version: "v1"}, {Side: "new", File: "b", Version: "v2"}}
	}
	recs := []results.Record{{Type: results.TypeRun, Run: run}}
	for _, s := range samples {
		recs = append(recs, results.Record{Type: results.TypeSample, Sample: s})
	}
	for _, r := range append(recs, extra...) {
		if err := b.Add("s.jsonl", r); err != nil {
			t.Fatal(err)
		}
	}
	return b.Report()
}

func TestReplay(t *testing.T) {
	session := func(n int, change float64) []*results.Sample {
		var out []*results.Sample
		for i := range n {
			out = append(out, half(cellOf("mcs"), "old", i, 1e6+float64(i)), half(cellOf("mcs"), "new", i, change*1e6))
		}
		return out
	}
	interrupted := results.Record{Type: results.TypeEvent, Event: &results.Event{Kind: results.EventInterrupted}}
	another := results.Record{Type: results.TypeRun, Run: &results.Run{RunID: "other"}}
	for _, tc := range []struct {
		name   string
		rep    *results.Report
		want   Verdict
		reason string // or the error
	}{
		{"pass", recorded(t, 32, session(32, 1), true), Pass, "within"},
		{"fail", recorded(t, 32, session(32, 0.9), true), Fail, "beyond"},
		{"a gate that stopped at its first look", recorded(t, 64, session(16, 0.9), true), Fail, "beyond"},
		{"stopped before a look, not by the budget", recorded(t, 64, session(15, 0.9), true), Inconclusive, "undecided after 15 pairs of a budget of 64"},
		{"interrupted", recorded(t, 64, session(15, 0.9), true, interrupted), Inconclusive, "interrupted"},
		{"one pair", recorded(t, 1, session(1, 0.9), true), Inconclusive, "1 pair can prove nothing"},
		{"budget unknown", recorded(t, 0, session(16, 0.9), true), Fail, "beyond"},
		{"not paired", recorded(t, 32, session(32, 1), false), "", "not of a paired session"},
		{"empty", recorded(t, 32, nil, true), "", "no repetitions"},
		{"two runs", recorded(t, 32, session(32, 1), true, another), "", "2 runs, where a gate wants one"},
	} {
		res, err := Replay(parse(t, fivePercent), tc.rep)
		if tc.want == "" {
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tc.reason) || e.Hint() == "" || !strings.HasPrefix(err.Error(), "s.jsonl: ") {
				t.Errorf("%s: got %v, want an error with %q", tc.name, err, tc.reason)
			}
			continue
		}
		if err != nil || res.Verdict != tc.want || !strings.Contains(res.Tests[0].Reason, tc.reason) {
			t.Errorf("%s: got %+v, %v, want %s, %q", tc.name, res, err, tc.want, tc.reason)
		}
		if err == nil && (len(res.Old.Programs) != 1 || res.New.Programs[0] != "b v2") {
			t.Errorf("%s: sides %+v, %+v", tc.name, res.Old, res.New)
		}
	}
}
