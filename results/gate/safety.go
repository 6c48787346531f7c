package gate

import (
	"fmt"

	"lockbench/results"
)

// The always-on rule: on the new side no repetition may break exclusion or
// hang. Where something else went wrong, or the old side is broken, the cell
// has no verdict. Nor has one whose new side did nothing at all in more
// repetitions than the old, see idle, or got no lock in time more often, see missed.

// findings are what is wrong with a cell, given the outcomes of a side's
// repetitions.
func findings(cell, side string, outcomes map[string]int) []Finding {
	of := 0
	for outcome, n := range outcomes {
		if outcome != results.OutcomeSkipped {
			of += n
		}
	}
	var out []Finding
	for _, outcome := range []string{results.OutcomeViolation, results.OutcomeHang, results.OutcomeError} {
		n := outcomes[outcome]
		if n == 0 {
			continue
		}
		f := Finding{Cell: cell, Side: side, Outcome: outcome, Reps: n, Of: of, Verdict: Inconclusive}
		if side == results.SideNew && outcome != results.OutcomeError {
			f.Verdict = Violation
		}
		out = append(out, f)
	}
	return out
}

// String is "violation in 3 of 16 repetitions of the new side".
func (f Finding) String() string {
	switch f.Outcome {
	case outcomeMissed:
		return fmt.Sprintf("a larger share of operations than on the old side got no lock in time in %d of %d repetitions of the new side, a smaller one in %d: times and rates are of the others", f.Reps, f.Of, f.Old)
	case outcomeIdle:
		return fmt.Sprintf("no operation in %d of %d repetitions of the new side, but only in %d of the old", f.Reps, f.Of, f.Old)
	}
	return fmt.Sprintf("%s in %d of %d repetitions of the %s side", f.Outcome, f.Reps, f.Of, f.Side)
}

// spoil takes a test's verdict away if its cell has a finding: the figures of
// a lock that does not work say nothing. Those of one that stood still are
// figures.
func (t *Test) spoil(fs []Finding) {
	for _, f := range fs {
		if f.Cell == t.Cell.Name && f.Outcome != outcomeIdle && f.Outcome != outcomeMissed {
			t.inconclusive(f.String())
			return
		}
	}
}
