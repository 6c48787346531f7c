package compare

import (
	"fmt"
	"slices"

	"lockbench/results"
	"lockbench/results/stat"
)

// finish corrects the probabilities and gives every row its verdict.
func (c *Comparison) finish() error {
	if len(c.Rows) == 0 && len(c.OneSided) == 0 && len(c.Alarms) == 0 {
		return refuse("metrics of these cells: lockbench report FILE --format csv", "no repetition has %s", list(c.Metrics))
	}
	for _, name := range c.Metrics {
		if len(c.Rows) > 0 && !slices.ContainsFunc(c.Rows, func(r *Row) bool { return r.Metric.Name == name }) {
			c.Warnings = append(c.Warnings, "no repetition has "+name)
		}
	}
	family := func(control bool) []*Row {
		var out []*Row
		for _, r := range c.Rows {
			if r.Control == control && r.P != nil {
				out = append(out, r)
			}
		}
		return out
	}
	for _, control := range []bool{false, true} {
		correct(family(control))
	}
	tests := family(false)
	c.Tests = len(tests)
	for _, r := range c.Rows {
		if r.Verdict == "" {
			r.Verdict = r.verdict(c.Alpha)
		}
		if r.Verdict == TooFew && !r.Control {
			c.TooFew++
		}
		if r.Verdict == ControlDiffer {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s, which does nothing, differs in %s: so did the machine or the harness between the sides, and part of every other difference may be theirs", r.Cell, r.Metric.Name))
		}
	}
	if c.TooFew > 0 {
		c.NeedReps = c.needReps()
	}
	return nil
}

// correct is Holm's method over rows. The smallest probabilities that their
// repetitions could give are corrected like the real ones: since a smaller
// probability anywhere makes no corrected one larger, that is the best that a row
// could come to.
func correct(rows []*Row) {
	p, least := make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		p[i], least[i] = *r.P, r.MinP
	}
	for i, adj := range stat.Holm(p) {
		rows[i].AdjP = &adj
	}
	for i, adj := range stat.Holm(least) {
		rows[i].min = adj
	}
}

// needReps is how many repetitions (pairs) would let every row pass, if all had
// as many; no more than maxNeed are looked for.
func (c *Comparison) needReps() int {
	const maxNeed = 1000
	tests := 0 // those that cannot be tested with what there is count, too
	for _, r := range c.Rows {
		if !r.Control && r.Verdict != Absent {
			tests++
		}
	}
	for n := 2; n <= maxNeed; n++ {
		p := stat.MinMannWhitneyP(n, n)
		if c.Paired {
			p = minSignedRankP(n)
		}
		if p*float64(tests) <= c.Alpha {
			return n
		}
	}
	return 0
}

func (r *Row) verdict(alpha float64) Verdict {
	shown := r.AdjP != nil && *r.AdjP <= alpha
	// A corrected probability is no smaller than the row's own, and that is at
	// most alpha only if the row's interval leaves out 1: so a row that passes has a
	// direction. The interval gives it, and there is no verdict without.
	up, down := r.Ratio.OK && r.Ratio.Lo > 1, r.Ratio.OK && r.Ratio.Hi < 1
	shown = shown && (up || down)
	switch {
	case r.Control && shown:
		return ControlDiffer
	case r.P == nil || r.min > alpha:
		return TooFew
	case r.Control:
		return ControlAlike
	case !shown:
		return NotShown
	}
	speed := r.Metric.Unit == "ops/s" || r.Metric.Unit == "ns"
	switch good := up == (r.Metric.Better == results.Higher); {
	case r.Metric.Better == results.Neither && up:
		return IsHigher
	case r.Metric.Better == results.Neither:
		return IsLower
	case speed && good:
		return Faster
	case speed:
		return Slower
	case good:
		return IsBetter
	}
	return IsWorse
}
