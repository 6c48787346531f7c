package pairs

import (
	"math"
	"testing"

	"lockbench/results"
)

func sample(side string, rep int, rate, before, after float64) *results.Sample {
	return &results.Sample{Cell: "mutex/workload=w/workers=2", Lock: "mutex", Workload: "w", Workers: 2, Side: side, Rep: rep,
		Outcome: results.OutcomeOK, ThroughputOps: rate, CoherenceBeforeNS: &before, CoherenceAfterNS: &after}
}

func TestPairs(t *testing.T) {
	var b Builder
	b.Add(sample("new", 0, 110, 35, 36))
	b.Add(sample("old", 0, 100, 35, 34))
	b.Add(sample("old", 0, 999, 35, 34)) // read twice: not counted
	b.Add(sample("old", 1, 100, 35, 34))
	b.Add(sample("new", 1, 100, 195, 190)) // another mode
	b.Add(sample("old", 2, 100, 35, 35))
	b.Add(sample("new", 2, 50, 35, 190)) // changed within, which its own lock may have done: kept
	b.Add(sample("old", 3, 100, 35, 35)) // no other half
	bad := sample("old", 4, 0, 35, 35)
	bad.Outcome = results.OutcomeHang
	b.Add(bad)
	b.Add(sample("new", 4, 100, 35, 35))
	cells := b.Cells()
	if len(cells) != 1 {
		t.Fatalf("%d cells, want 1", len(cells))
	}
	c := cells[0]
	if len(c.Pairs) != 2 || c.Pairs[0].Old.ThroughputOps != 100 || c.Pairs[0].New.ThroughputOps != 110 || c.Pairs[1].Number != 2 {
		t.Errorf("pairs: got %+v, want 0 and 2", c.Pairs)
	}
	if c.Dropped[DroppedCoherence] != 1 || c.Dropped[DroppedAlone] != 1 || c.Dropped[DroppedOutcome] != 1 || c.Measured() != 5 {
		t.Errorf("dropped: got %v of %d, want coherence 1, alone 1, outcome 1 of 5", c.Dropped, c.Measured())
	}
	if c.Outcomes["old"]["hang"] != 1 || c.Outcomes["new"]["ok"] != 4 {
		t.Errorf("outcomes: got %v", c.Outcomes)
	}
	m, err := results.LookupMetric("throughput_ops_s")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.LogRatios(m); len(got) != 2 || math.Abs(got[0]-math.Log(1.1)) > 1e-12 || math.Abs(got[1]-math.Log(0.5)) > 1e-12 {
		t.Errorf("log ratios: got %v, want ln 1.1 and ln 0.5", got)
	}
}

func TestLogRatioOfNothing(t *testing.T) {
	m, err := results.LookupMetric("wall_ns_per_op")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ old, new, want float64 }{
		{0, 0, 0}, {0, 100, math.Inf(-1)}, {100, 0, math.Inf(1)}, {100, 50, math.Log(2)},
	} {
		p := Pair{Old: sample("old", 0, x.old, 1, 1), New: sample("new", 0, x.new, 1, 1)}
		if got, ok := p.LogRatio(m); !ok || math.Abs(got-x.want) > 1e-12 && got != x.want {
			t.Errorf("operations a second %g and %g: got %g, %v, want %g", x.old, x.new, got, ok, x.want)
		}
	}
}

func TestSameModeUnknown(t *testing.T) {
	known, unknown := sample("old", 0, 1, 35, 35), sample("new", 0, 1, 0, 0)
	unknown.CoherenceBeforeNS = nil
	if SameMode(known, unknown) || !SameMode(unknown, unknown) {
		t.Error("one half of unknown mode: want not alike; both: want alike")
	}
}
