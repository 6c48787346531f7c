package gate

import (
	"lockbench/results"
	"lockbench/results/pairs"
	"lockbench/results/stat"
)

// Operations of a distributed lock that got no lock in time are no acquisitions: their
// waits are in no latency, and what ran without the lock is in no throughput. So a build
// that gives up sooner may pass every rule about times. A cell whose new side misses a
// larger share of its operations, by more than chance, has no verdict, unless a rule about
// timeouts_pct decides.

// outcomeMissed is the finding of that.
const outcomeMissed = "no lock in time"

// missed is the share of a repetition's operations that got no lock in time, in percent;
// false of a lock that is not distributed.
func missed(s *results.Sample) (float64, bool) {
	if s.Remote == nil {
		return 0, false
	}
	n := float64(s.Remote.Timeouts) + float64(s.Remote.GaveUp)
	if n == 0 {
		return 0, true
	}
	return 100 * n / (n + float64(s.Ops)), true
}

// decided reports whether a rule is about the share that a cell misses.
func (rs *Rules) decided(c Cell) bool {
	for i := range rs.List {
		if r := &rs.List[i]; r.Metric.Name == "timeouts_pct" && r.Matches(c) {
			return true
		}
	}
	return false
}

func missedFinding(cell string, more, fewer, of int) []Finding {
	return []Finding{{Cell: cell, Side: results.SideNew, Outcome: outcomeMissed, Reps: more, Of: of, Old: fewer, Verdict: Inconclusive}}
}

// missedPairs is the finding about pairs: without a change the half that misses more is
// as likely the old one. nil = not beyond chance.
func missedPairs(c *pairs.Cell, level float64) []Finding {
	more, fewer := 0, 0
	for _, p := range c.Pairs {
		o, ok1 := missed(p.Old)
		n, ok2 := missed(p.New)
		switch {
		case !ok1 || !ok2:
		case n > o:
			more++
		case n < o:
			fewer++
		}
	}
	if more == 0 || atLeast(more, more+fewer, 0.5) > level {
		return nil
	}
	return missedFinding(c.Name, more, fewer, len(c.Pairs))
}

// missedFiles is the finding about two files, by the one-sided Mann-Whitney probability;
// how many repetitions miss more or less is by the median of the old side.
func missedFiles(c *fileCell, level float64) []Finding {
	shares := func(samples []*results.Sample) []float64 {
		var out []float64
		for _, s := range samples {
			if v, ok := missed(s); ok {
				out = append(out, v)
			}
		}
		return out
	}
	old, new := shares(c.old.ok), shares(c.new.ok)
	if len(old) == 0 || len(new) == 0 {
		return nil
	}
	middle, more, fewer := results.NewEstimate(old).Median, 0, 0
	for _, v := range new {
		switch {
		case v > middle:
			more++
		case v < middle:
			fewer++
		}
	}
	if more <= fewer || stat.MannWhitneyP(old, new)/2 > level {
		return nil
	}
	return missedFinding(c.Name, more, fewer, len(new))
}
