package gate

import (
	"encoding/json"
	"math"

	"lockbench/results"
	"lockbench/results/stat"
)

// Kinds of gates.
const (
	KindPairs = "pairs" // a paired session
	KindFiles = "files" // two files
)

// A Result is the verdict of a gate with everything that it rests on. In JSON
// it is a record of type "verdict".
type Result struct {
	Type    string  `json:"type"` // results.TypeVerdict
	Schema  int     `json:"schema"`
	Verdict Verdict `json:"verdict"` // the worst of Safety and Tests; no samples is inconclusive
	Kind    string  `json:"kind"`
	Rules   string  `json:"rules"` // file
	Old     Side    `json:"old"`
	New     Side    `json:"new"`
	Plan    Plan    `json:"plan"`
	// Safety is the always-on rule, a finding for each cell and side where
	// something is wrong.
	Safety []Finding `json:"safety"`
	// SafetyCells and SafetyReps are how many cells and repetitions of the new
	// side it looked at.
	SafetyCells int      `json:"safety_cells"`
	SafetyReps  int      `json:"safety_reps"`
	Tests       []Test   `json:"tests"`
	Notes       []string `json:"notes,omitempty"` // doubts, and differences that are allowed
}

// A Side is where one side's figures are from.
type Side struct {
	Files    []string `json:"files,omitempty"`
	RunIDs   []string `json:"run_ids,omitempty"`
	Programs []string `json:"programs,omitempty"`
}

// A Finding is repetitions that did not end well, or did nothing.
type Finding struct {
	Cell    string  `json:"cell"`
	Side    string  `json:"side"`
	Outcome string  `json:"outcome"` // violation, hang, error, "no operation", "no lock in time"
	Reps    int     `json:"reps"`
	Of      int     `json:"of_reps"`
	Old     int     `json:"old_reps,omitempty"` // for comparison: of the old side without an operation; or that got the lock more often
	Verdict Verdict `json:"verdict"`
}

// A Test is one rule on one cell.
type Test struct {
	Rule      string  `json:"rule"`
	Line      int     `json:"rule_line,omitempty"`
	Cell      Cell    `json:"cell"`
	Metric    string  `json:"metric"`
	Unit      string  `json:"unit,omitempty"`
	Better    string  `json:"better"`
	Threshold string  `json:"threshold"` // in words
	Verdict   Verdict `json:"verdict"`
	Reason    string  `json:"reason"`

	// MaxRegressionPct or Limit is set.
	MaxRegressionPct *float64 `json:"max_regression_pct,omitempty"`
	Limit            *float64 `json:"limit,omitempty"`

	// Ratio is new/old, of a relative rule; Value the figure on the new side, of
	// a limit. Absent before the first look.
	Ratio *Interval `json:"ratio,omitempty"`
	Value *Interval `json:"value,omitempty"`
	Look  *Look     `json:"look,omitempty"` // that Ratio or Value is from
	// Two files: Drift is the ratio that the machine alone may have made, of
	// which only the bounds are known, and Corrected is Ratio without it, which
	// the verdict rests on.
	Drift     *Interval `json:"drift,omitempty"`
	Corrected *Interval `json:"corrected,omitempty"`

	Pairs    int            `json:"pairs,omitempty"`          // with the metric
	Measured int            `json:"pairs_measured,omitempty"` // dropped ones included
	Dropped  map[string]int `json:"pairs_dropped,omitempty"`  // reason -> pairs
	Missing  int            `json:"missing,omitempty"`        // pairs, or repetitions of either side, without the metric
	// MissingOld and MissingNew are of Missing: pairs in which that side alone lacks
	// it (a limit: in which the new side does), or repetitions of that side.
	// Their figures are unknown, and bound the interval as the worst that they may be.
	MissingOld int `json:"missing_old,omitempty"`
	MissingNew int `json:"missing_new,omitempty"`
	// Infinite is how many pairs have an infinite ratio or figure; of two files,
	// repetitions with nothing on one side. They are ranks.
	Infinite int `json:"infinite,omitempty"`
	OldReps  int `json:"old_reps,omitempty"` // two files: repetitions with the metric
	NewReps  int `json:"new_reps,omitempty"`

	// Needed is about how many pairs (two files: repetitions a side) would
	// decide, had the estimate stayed as it is; Never says that no number would.
	Needed int  `json:"needed,omitempty"`
	Never  bool `json:"never,omitempty"`
}

// An Interval is an estimate with bounds. A bound that is infinite, or not known,
// is null in JSON.
type Interval struct {
	Estimate, Lo, Hi float64
	N                int
	OK               bool // false: too few figures for bounds
}

// MarshalJSON writes what is infinite as null.
func (i Interval) MarshalJSON() ([]byte, error) {
	real := func(v float64) *float64 {
		if math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Estimate *float64 `json:"estimate"`
		Lo       *float64 `json:"lo"`
		Hi       *float64 `json:"hi"`
		N        int      `json:"n"`
	}{real(i.Estimate), real(i.Lo), real(i.Hi), i.N})
}

// newTest is the part of a Test that the rule and the cell set.
func newTest(r *Rule, c Cell) Test {
	t := Test{
		Rule: r.Name, Line: r.Line, Cell: c, Metric: r.Metric.Name, Unit: r.Metric.Unit,
		Better: r.Metric.Better.String(), Threshold: r.Threshold(), Verdict: Inconclusive,
	}
	if r.relative() {
		pct := 100 * r.MaxRegression
		t.MaxRegressionPct = &pct
	} else {
		limit := r.Limit
		t.Limit = &limit
	}
	return t
}

// take fills in what a decision says.
func (t *Test) take(d Decision) {
	t.Verdict, t.Reason, t.Needed, t.Never = d.Verdict, d.Reason, d.Needed, d.Never
	if d.Interval.N == 0 {
		return
	}
	look := d.Look
	t.Look = &look
	i := &Interval{Estimate: d.Interval.Center, Lo: d.Interval.Lo, Hi: d.Interval.Hi, N: d.Interval.N, OK: d.Interval.OK}
	if t.Limit != nil {
		t.Value = i
		return
	}
	t.Ratio = ratio(d.Interval)
}

// ratio is an interval of logarithms as one of ratios.
func ratio(i stat.Interval) *Interval {
	return &Interval{Estimate: math.Exp(i.Center), Lo: math.Exp(i.Lo), Hi: math.Exp(i.Hi), N: i.N, OK: i.OK}
}

// inconclusive takes the verdict away, with a reason.
func (t *Test) inconclusive(reason string) {
	t.Verdict, t.Reason, t.Needed, t.Never = Inconclusive, reason, 0, false
}

// settle sets the verdict of the whole.
func (r *Result) settle() {
	r.Type, r.Schema = results.TypeVerdict, results.SchemaMajor
	r.Verdict = Pass
	for _, f := range r.Safety {
		r.Verdict = Worst(r.Verdict, f.Verdict)
	}
	for _, t := range r.Tests {
		r.Verdict = Worst(r.Verdict, t.Verdict)
	}
	if len(r.Tests) == 0 || r.SafetyReps == 0 {
		r.Verdict = Worst(r.Verdict, Inconclusive) // no samples is never a pass
	}
	if r.Safety == nil {
		r.Safety = []Finding{}
	}
}

// Count is how many tests came to a verdict.
func (r *Result) Count(v Verdict) int {
	n := 0
	for _, t := range r.Tests {
		if t.Verdict == v {
			n++
		}
	}
	return n
}
