package gate

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/near"
	"lockbench/results"
	"lockbench/results/num"
)

// DefaultAlpha is the probability of any false verdict of a whole gate that a
// rules file without alpha asks for.
const DefaultAlpha = 0.01

// Rules are what a gate holds a build to.
type Rules struct {
	File  string  // as the user named it, for messages
	Alpha float64 // of the whole gate, above 0 and below 0.5
	List  []Rule
	// Chaos are demands on the verdicts of faults. Rules have these or List, never both: they are about different files.
	Chaos []ChaosRule
}

// A Rule is about one metric of the cells that it matches. It has exactly one of
// MaxRegression and Limit.
type Rule struct {
	Name string // as given, or made of the other fields; unique
	// Lock, Workload and Workers are patterns with *, ? and [...]; a cell that
	// one of each matches is meant. Empty = all. Controls are meant only where Lock has
	// exactly their name.
	Lock, Workload, Workers []string
	Metric                  results.Metric // with a direction
	// MaxRegression is the change in the bad direction that is allowed, as a
	// share: 0.05 of a metric where lower is better is new/old up to 1.05, and of
	// one where higher is better, down to 0.95 (5 % lower, not 1/1.05).
	// 0 = the rule has a Limit.
	MaxRegression float64
	// Limit bounds the metric on the new side, in its unit: at most so much
	// where lower is better, at least where higher is.
	Limit        float64
	Line, Column int // of the rule in File, 0 = unknown
}

// A Cell is what rules match. Name is unique in a session.
type Cell struct {
	Name     string `json:"cell"`
	Lock     string `json:"lock"`
	Workload string `json:"workload"`
	Workers  int    `json:"workers"`
	Control  bool   `json:"control,omitempty"`
	// Skipped is why the cell cannot be measured, "" = it is. It takes no share of
	// alpha, and rules about it are inconclusive: a build that loses a
	// capability must not pass for it.
	Skipped string `json:"skipped,omitempty"`
}

// Matches reports whether the rule is about the cell.
func (r *Rule) Matches(c Cell) bool {
	if c.Control {
		if !slices.Contains(r.Lock, c.Lock) {
			return false
		}
	} else if !matches(r.Lock, c.Lock) {
		return false
	}
	return matches(r.Workload, c.Workload) && matches(r.Workers, strconv.Itoa(c.Workers))
}

func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return p == name || err == nil && ok // bad patterns are refused when rules are read
	})
}

// relative reports whether the rule compares the sides.
func (r *Rule) relative() bool { return r.MaxRegression > 0 }

// bound is what the interval is held against: a log ratio, or the limit.
func (r *Rule) bound() float64 {
	switch {
	case !r.relative():
		return r.Limit
	case r.Metric.Better == results.Higher:
		return math.Log1p(-r.MaxRegression)
	}
	return math.Log1p(r.MaxRegression)
}

// Threshold is the bound in words: "at most 5 % higher", "at least 2000 ops/s".
func (r *Rule) Threshold() string {
	higher := r.Metric.Better == results.Higher
	switch {
	case r.relative() && higher:
		return fmt.Sprintf("at most %s %% lower", short(100*r.MaxRegression))
	case r.relative():
		return fmt.Sprintf("at most %s %% higher", short(100*r.MaxRegression))
	case higher:
		return "at least " + r.quantity(r.Limit)
	}
	return "at most " + r.quantity(r.Limit)
}

func (r *Rule) quantity(v float64) string { return Quantity(v, r.Metric.Unit) }

// Quantity formats a figure from 0 to +Inf in the unit of a metric.
func Quantity(v float64, unit string) string {
	switch unit {
	case "ns":
		return num.Span(v)
	case "ops/s":
		return num.Rate(v)
	}
	return strings.TrimSpace(num.Whole(v) + " " + unit)
}

// short keeps what the user wrote, 2.5 or 0.01.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// An Error is what is wrong with rules: in themselves, or for what was
// measured.
type Error struct {
	File         string
	Line, Column int // 0 = unknown
	Err          error
	Tip          string // what the user can do
}

// Error is "file:line:column: what".
func (e *Error) Error() string {
	at := results.Printable(e.File)
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", at, e.Line, e.Column)
	}
	if at == "" {
		return e.Err.Error()
	}
	return at + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what the user can do about it.
func (e *Error) Hint() string { return e.Tip }

// noCell is the error about a rule that matches none of the cells.
func (rs *Rules) noCell(r *Rule, cells []Cell) error {
	e := &Error{File: rs.File, Line: r.Line, Column: r.Column, Err: fmt.Errorf("rule %q matches no cell that was measured", r.Name)}
	for _, f := range []struct {
		what     string
		patterns []string
		of       func(Cell) string
	}{
		{"lock", r.Lock, func(c Cell) string { return c.Lock }},
		{"workload", r.Workload, func(c Cell) string { return c.Workload }},
		{"workers", r.Workers, func(c Cell) string { return strconv.Itoa(c.Workers) }},
	} {
		var names []string
		hit := false
		for _, c := range cells {
			name := f.of(c)
			hit = hit || matches(f.patterns, name) && (f.what != "lock" || !c.Control || slices.Contains(f.patterns, name))
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if hit {
			continue
		}
		slices.Sort(names)
		var close []string
		for _, p := range f.patterns {
			for _, n := range near.Names(p, names) {
				if !slices.Contains(close, n) {
					close = append(close, n)
				}
			}
		}
		more := ""
		if len(names) > maxNames {
			names, more = names[:maxNames], ", ..."
		}
		e.Tip = fmt.Sprintf("no %s is %s; there are: %s", f.what, strings.Join(f.patterns, " or "), strings.Join(names, ", ")+more)
		if len(close) > 0 {
			e.Tip = fmt.Sprintf("did you mean %s %s? there are: %s", f.what, strings.Join(close, ", "), strings.Join(names, ", ")+more)
		}
		return e
	}
	e.Tip = "each of its lock, workload and workers was measured, but not together; controls such as null are matched by their name alone"
	return e
}

// maxNames bounds the names in a hint.
const maxNames = 12
