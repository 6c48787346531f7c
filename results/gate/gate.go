package gate

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"lockbench/results"
	"lockbench/results/pairs"
)

// MaxBudget bounds the pairs a cell. The signed-rank bounds look at all pairs
// of values, so that their cost grows with the square.
const MaxBudget = 4096

// safetyPairs is how many pairs a cell gets that no rule is about: enough for
// the always-on rule to have looked at it.
const safetyPairs = 1

// A Gate decides about a paired session, while it is measured or afterwards.
// It is for one goroutine.
type Gate struct {
	rules       *Rules
	plan        Plan
	cells       []*cell
	at          map[string]*cell
	interrupted bool
}

type cell struct {
	Cell
	tests []*test
	pairs *pairs.Cell // nil = nothing measured yet
	found []Finding
}

type test struct {
	rule     *Rule
	seen     int // values of the last decision, -1 = none
	decision Decision
	// Pairs without the metric: neither half has it, or one half alone lacks
	// it; and those whose value is infinite.
	neither, lackOld, lackNew, infinite int
}

// New plans a gate. cells are all cells of the session; budget is the largest
// number of pairs a cell, from 1 to MaxBudget. An error is an *Error: a rule
// that matches no cell, two cells of one name, a budget out of range.
func New(rules *Rules, cells []Cell, budget int) (*Gate, error) {
	if budget < 1 || budget > MaxBudget {
		return nil, &Error{Err: fmt.Errorf("a budget of %d pairs: want 1 to %d", budget, MaxBudget),
			Tip: fmt.Sprintf("looks are at %d, %d, %d ... pairs", firstLook, 2*firstLook, 4*firstLook)}
	}
	g := &Gate{rules: rules, at: map[string]*cell{}}
	for _, c := range cells {
		if g.at[c.Name] != nil {
			return nil, &Error{Err: fmt.Errorf("two cells are named %s", c.Name), Tip: "measure each cell once"}
		}
		k := &cell{Cell: c}
		g.cells, g.at[c.Name] = append(g.cells, k), k
	}
	tests := 0
	for i := range rules.List {
		r := &rules.List[i]
		matched := false
		for _, k := range g.cells {
			if !r.Matches(k.Cell) {
				continue
			}
			matched = true
			k.tests = append(k.tests, &test{rule: r, seen: -1})
			if k.Skipped == "" {
				tests++
			}
		}
		if !matched {
			return nil, rules.noCell(r, cells)
		}
	}
	if tests == 0 && len(rules.List) == 0 {
		return nil, &Error{File: rules.File, Err: errors.New("no rules"), Tip: "a gate without rules would pass anything"}
	}
	g.plan = NewPlan(rules.Alpha, tests, budget)
	return g, nil
}

// Plan is the looks of each test.
func (g *Gate) Plan() Plan { return g.plan }

// Next reports whether the named cell needs another pair. It is false for good
// when all its tests are decided, the budget is used up, or a repetition ended
// badly, after which the cell's figures say nothing. A cell that no rule is about
// gets one pair for the always-on rule. An unknown cell needs none.
func (g *Gate) Next(name string) bool {
	k := g.at[name]
	if k == nil || k.Skipped != "" || len(k.found) > 0 {
		return false
	}
	measured := k.measured()
	if measured == 0 {
		return true
	}
	if measured >= g.plan.Budget {
		return false
	}
	if len(k.tests) == 0 {
		return measured < safetyPairs
	}
	for _, t := range k.tests {
		if t.seen < 0 || t.decision.Open {
			return true
		}
	}
	return false
}

// Update takes what was measured of a cell so far. It keeps c. A cell that New was not
// given, and nil, are passed over.
func (g *Gate) Update(c *pairs.Cell) {
	if c == nil || g.at[c.Name] == nil {
		return
	}
	k := g.at[c.Name]
	k.pairs = c
	k.found = nil
	for _, side := range []string{results.SideOld, results.SideNew} {
		k.found = append(k.found, findings(k.Name, side, c.Outcomes[side])...)
	}
	for _, t := range k.tests {
		t.update(g.plan, c, k.measured() >= g.plan.Budget)
	}
}

// Interrupt says that the session was stopped by hand, perhaps by somebody who
// saw the figures: looks that were not reached are not made up for.
func (g *Gate) Interrupt() { g.interrupted = true }

func (k *cell) measured() int {
	if k.pairs == nil {
		return 0
	}
	return k.pairs.Measured()
}

// update decides, if there is anything new to decide by.
func (t *test) update(p Plan, c *pairs.Cell, done bool) {
	var xs []float64
	var lacks []lack
	t.neither, t.lackOld, t.lackNew, t.infinite = 0, 0, 0, 0
	for _, pair := range c.Pairs {
		x, l, ok := t.rule.figure(pair)
		switch {
		case !ok:
			t.neither++
			continue
		case l == lacksOld && t.rule.relative():
			t.lackOld++
		case math.IsNaN(x):
			t.lackNew++
		case math.IsInf(x, 0):
			t.infinite++
		}
		xs, lacks = append(xs, x), append(lacks, l)
	}
	if t.seen >= 0 && !done && !t.decision.Open {
		return // decided, which stands
	}
	if next := p.next(t.seen); t.seen >= 0 && !done && (next == 0 || len(xs) < next) {
		return // between two looks
	}
	t.seen = len(xs)
	t.decision = p.decide(t.rule, xs, lacks, done)
}

// figure is the value of a pair that the rule decides by, unknown if a half
// lacks it, and which half that is. false = the pair says nothing, because
// neither has it; to a limit, whose pairs are repetitions of the new side, that
// is unknown, too.
func (r *Rule) figure(p pairs.Pair) (float64, lack, bool) {
	_, oldHas := r.Metric.Of(p.Old)
	figure, newHas := r.Metric.Of(p.New)
	l := lacksNone
	switch {
	case newHas && !oldHas:
		l = lacksOld
	case oldHas && !newHas:
		l = lacksNew
	}
	switch {
	case !r.relative() && newHas:
		return figure, l, true
	case !r.relative():
		return unknown, l, true
	case l != lacksNone:
		return unknown, l, true
	}
	x, ok := p.LogRatio(r.Metric)
	return x, l, ok
}

// missing is how many kept pairs have no value.
func (t *test) missing() int { return t.neither + t.lackOld + t.lackNew }

// Result is the verdict on what was measured so far: tests that are not decided
// are inconclusive. Old, New and Notes are the caller's to add to.
func (g *Gate) Result() *Result {
	res := &Result{Kind: KindPairs, Rules: results.Printable(g.rules.File), Plan: g.plan}
	for _, k := range g.cells {
		res.Safety = append(res.Safety, k.found...)
		if k.pairs != nil {
			level := vetoAlpha / float64(max(1, g.plan.Tests))
			res.Safety = append(res.Safety, idlePairs(k.pairs, level)...)
			if !g.rules.decided(k.Cell) {
				res.Safety = append(res.Safety, missedPairs(k.pairs, level)...)
			}
			if n := k.pairs.Outcomes[results.SideNew]; len(n) > 0 {
				res.SafetyCells++
				for _, reps := range n {
					res.SafetyReps += reps
				}
			}
		}
	}
	for i := range g.rules.List {
		for _, k := range g.cells {
			for _, t := range k.tests {
				if t.rule == &g.rules.List[i] {
					res.Tests = append(res.Tests, g.result(k, t))
				}
			}
		}
	}
	res.settle()
	return res
}

func (g *Gate) result(k *cell, t *test) Test {
	out := newTest(t.rule, k.Cell)
	if k.Skipped != "" {
		out.inconclusive("no samples: the cell is skipped: " + k.Skipped)
		return out
	}
	if k.measured() == 0 {
		out.inconclusive("no samples")
		if k.pairs != nil && k.pairs.Skipped != "" {
			out.inconclusive("no samples: " + k.pairs.Skipped)
		}
		out.spoil(k.found)
		return out
	}
	c := k.pairs
	out.Pairs, out.Measured, out.Missing = len(c.Pairs)-t.missing(), c.Measured(), t.missing()
	out.MissingOld, out.MissingNew, out.Infinite = t.lackOld, t.lackNew, t.infinite
	looked := len(c.Pairs) - t.neither // pairs that looks count
	for reason, n := range c.Dropped {
		if n > 0 {
			if out.Dropped == nil {
				out.Dropped = map[string]int{}
			}
			out.Dropped[reason] = n
		}
	}
	out.take(t.decision)
	switch {
	case c.Skipped != "":
		out.inconclusive("a repetition was skipped: " + c.Skipped)
	case len(c.Pairs) == 0:
		out.inconclusive("no samples: no pair was kept " + droppedText(out.Dropped))
	case 2*t.missing() >= len(c.Pairs):
		out.inconclusive(fmt.Sprintf("no samples: %d of %d pairs do not have %s", t.missing(), len(c.Pairs), t.rule.Metric.Name))
	case t.decision.Open && g.interrupted:
		out.Reason = fmt.Sprintf("the session was interrupted, undecided after %d pairs; the next look would have been at %d", looked, g.plan.next(looked))
	case t.decision.Open:
		out.Reason = fmt.Sprintf("undecided after %d pairs of a budget of %d; the next look would be at %d", looked, g.plan.Budget, g.plan.next(looked))
	}
	out.lacking("pair")
	out.spoil(k.found)
	return out
}

func droppedText(dropped map[string]int) string {
	var parts []string
	for _, reason := range []string{pairs.DroppedCoherence, pairs.DroppedOutcome, pairs.DroppedAlone} {
		if n := dropped[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", reason, n))
		}
	}
	return "(dropped: " + strings.Join(parts, ", ") + ")"
}
