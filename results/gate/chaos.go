package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/near"
	"lockbench/results"
	"lockbench/results/num"
)

// KindChaos is the kind of a gate on the verdicts of faults.
const KindChaos = "chaos"

// A ChaosResult is the verdict of a gate on chaos. In JSON it is a record of type "verdict".
type ChaosResult struct {
	Type    string   `json:"type"` // results.TypeVerdict
	Schema  int      `json:"schema"`
	Verdict Verdict  `json:"verdict"` // the worst of Always and Tests; no demand that was tested is inconclusive
	Kind    string   `json:"kind"`    // KindChaos
	Rules   string   `json:"rules"`   // file
	Files   []string `json:"files"`
	RunID   string   `json:"run_id"`
	// Cells and Controls are how many the always-on rule looked at, skipped cells left out.
	Cells    int `json:"cells"`
	Controls int `json:"controls"`
	// Always are the findings of the always-on rule.
	Always []ChaosFinding `json:"always"`
	Tests  []ChaosTest    `json:"tests"`
	Notes  []string       `json:"notes,omitempty"`
}

// A ChaosFinding is what the always-on rule objects to.
type ChaosFinding struct {
	Cell    string  `json:"cell,omitempty"` // "" = the run as a whole
	Text    string  `json:"text"`
	Verdict Verdict `json:"verdict"`
}

// String is the finding in a line.
func (f ChaosFinding) String() string {
	if f.Cell == "" {
		return f.Text
	}
	return f.Cell + ": " + f.Text
}

// A ChaosTest is one demand on one cell. Without a cell that it matches, there is one test, which is inconclusive.
type ChaosTest struct {
	Rule     string  `json:"rule"`
	Line     int     `json:"rule_line,omitempty"`
	Cell     string  `json:"cell,omitempty"`
	Demand   string  `json:"demand"`
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"`
	Seen     string  `json:"seen,omitempty"` // the cell's verdict
	Expected string  `json:"expected,omitempty"`
	// Probative rounds of Rounds.
	Rounds    int `json:"rounds"`
	Probative int `json:"probative"`
	// What was measured, and what it is held against; absent without such a demand.
	RecoveryMaxMS      *float64 `json:"recovery_max_ms,omitempty"`
	RecoveryMaxLimitMS *float64 `json:"recovery_max_limit_ms,omitempty"`
	RecoveryP50MS      *float64 `json:"recovery_p50_ms,omitempty"`
	RecoveryP50LimitMS *float64 `json:"recovery_p50_limit_ms,omitempty"`
}

// Chaos holds the verdicts of one run against the demands. An error is an *Error.
//
// Always on: an unsafe cell that is worse than expected is a violation. If a control did not come out
// as it must, or none was run, the harness has not shown that it would have seen anything, and nothing is decided. What is
// unknown or skipped, or was not run at all, is inconclusive where it is demanded.
func Chaos(rules *Rules, rep *results.Report) (*ChaosResult, error) {
	run, err := only(rep)
	if err != nil {
		return nil, err
	}
	files := strings.Join(run.Files, ", ")
	switch {
	case len(rules.Chaos) == 0:
		return nil, &Error{File: rules.File, Err: errors.New("no demands on chaos"), Tip: hintRules}
	case run.Chaos == nil:
		return nil, &Error{File: files, Err: errors.New("the file has no verdicts of faults"), Tip: "demands under chaos: are about a file that lockbench chaos --out wrote"}
	}
	c := run.Chaos
	res := &ChaosResult{Type: results.TypeVerdict, Schema: results.SchemaMajor, Kind: KindChaos, Rules: rules.File, Files: run.Files, RunID: run.Run.RunID,
		Controls: len(c.Controls), Always: []ChaosFinding{}, Notes: append(slices.Clone(rep.Warnings), run.Warnings...)}
	for _, v := range c.Verdicts {
		if v.Verdict != results.VerdictSkipped {
			res.Cells++
		}
	}
	spoilt := res.always(c, run.Interrupted)
	for i := range rules.Chaos {
		res.test(&rules.Chaos[i], c, spoilt)
	}
	res.Verdict = Pass
	for _, f := range res.Always {
		res.Verdict = Worst(res.Verdict, f.Verdict)
	}
	for _, t := range res.Tests {
		res.Verdict = Worst(res.Verdict, t.Verdict)
	}
	return res, nil
}

// always is the always-on rule. It returns why no verdict of the run counts, "" if they do.
func (r *ChaosResult) always(c *results.ChaosReport, interrupted bool) (spoilt string) {
	find := func(cell, text string, v Verdict) { r.Always = append(r.Always, ChaosFinding{cell, text, v}) }
	for _, v := range c.FailedControls() {
		find(chaosCell(v), fmt.Sprintf("the control failed: it must be %s, and was %s", v.Expected, v.Verdict), Inconclusive)
		spoilt = "a control failed: no verdict of this run counts"
	}
	if len(c.Controls) == 0 && slices.ContainsFunc(c.Verdicts, func(v *results.ChaosVerdict) bool { return !v.Column().Local() && v.Judged() }) {
		spoilt = "no control was run: nothing shows that two inside would have been seen"
		find("", spoilt, Inconclusive)
	}
	if interrupted {
		find("", "the run was interrupted", Inconclusive)
	}
	for _, v := range c.Verdicts {
		switch by := v.WorseBy(); {
		case by > 0 && spoilt == "":
			find(chaosCell(v), fmt.Sprintf("worse than expected: %s, and %s was expected", chaosSeen(v), orElse(v.Expected, "nothing")), Violation)
		case by < 0:
			r.Notes = append(r.Notes, fmt.Sprintf("%s is better than expected: %s, and %s was expected", chaosCell(v), chaosSeen(v), v.Expected))
		}
	}
	return spoilt
}

// test holds all cells that a demand matches against it.
func (r *ChaosResult) test(rule *ChaosRule, c *results.ChaosReport, spoilt string) {
	var meant []*results.ChaosVerdict
	for _, v := range c.All() {
		if !rule.Matches(v) {
			continue
		}
		meant = append(meant, v)
		t := rule.judge(v)
		if spoilt != "" {
			t.Verdict, t.Reason = Inconclusive, spoilt
		}
		r.Tests = append(r.Tests, t)
	}
	missing := rule.missing(meant)
	if len(meant) == 0 {
		missing = []string{rule.nothing(c)}
	}
	for _, reason := range missing {
		r.Tests = append(r.Tests, ChaosTest{Rule: rule.Name, Line: rule.Line, Demand: rule.Demand(), Verdict: Inconclusive, Reason: reason})
	}
}

// missing is what a demand names and the cells that it means do not have: of two locks that are named one must not
// pass for both, and so each lock must have each fault.
func (r *ChaosRule) missing(meant []*results.ChaosVerdict) []string {
	any := func(ok func(v *results.ChaosVerdict) bool) bool { return slices.ContainsFunc(meant, ok) }
	anything := func(patterns []string) []string {
		if len(patterns) == 0 {
			return []string{"*"}
		}
		return patterns
	}
	var out []string
	for _, lock := range anything(r.Lock) {
		for _, fault := range anything(r.Fault) {
			if !any(func(v *results.ChaosVerdict) bool {
				return matches([]string{lock}, v.Lock) && matches([]string{fault}, v.Fault)
			}) {
				out = append(out, fmt.Sprintf("no cell of lock %s and fault %s is meant", lock, fault))
			}
		}
	}
	for _, policy := range r.Policy {
		if !any(func(v *results.ChaosVerdict) bool { return matches([]string{policy}, v.Policy) }) {
			out = append(out, fmt.Sprintf("no cell of policy %s is meant", policy))
		}
	}
	for _, topology := range r.Topology {
		if !any(func(v *results.ChaosVerdict) bool { return matches([]string{topology}, v.Topology) }) {
			out = append(out, fmt.Sprintf("no cell of topology %s is meant", topology))
		}
	}
	return out
}

// judge is the demand on a cell that it matches.
func (r *ChaosRule) judge(v *results.ChaosVerdict) ChaosTest {
	t := ChaosTest{Rule: r.Name, Line: r.Line, Cell: chaosCell(v), Demand: r.Demand(), Verdict: Pass, Seen: v.Verdict, Expected: v.Expected,
		Rounds: v.Rounds, Probative: v.Probative}
	var reasons []string
	say := func(verdict Verdict, format string, args ...any) {
		t.Verdict = Worst(t.Verdict, verdict)
		reasons = append(reasons, fmt.Sprintf(format, args...))
	}
	if !v.Judged() {
		say(Inconclusive, "%s: %s", v.Verdict, v.Reason)
		t.Reason = reasons[0]
		return t
	}
	switch {
	case len(r.Verdicts) == 0:
	case slices.Contains(r.Verdicts, v.Verdict):
		say(Pass, "%s", chaosSeen(v))
	default:
		say(Fail, "%s, demanded: %s", chaosSeen(v), strings.Join(r.Verdicts, " or "))
	}
	for _, x := range []struct {
		what              string
		limit             *TimeLimit
		of                func(t *results.Timing) float64
		measured, against **float64
	}{
		{"longest recovery", r.RecoveryMax, func(t *results.Timing) float64 { return t.Max }, &t.RecoveryMaxMS, &t.RecoveryMaxLimitMS},
		{"median recovery", r.RecoveryP50, func(t *results.Timing) float64 { return t.P50 }, &t.RecoveryP50MS, &t.RecoveryP50LimitMS},
	} {
		if x.limit == nil {
			continue
		}
		limit, ok := x.limit.in(v)
		switch {
		case v.Recovery == nil:
			say(Inconclusive, "no recovery was measured")
			continue
		case !ok:
			say(Inconclusive, "%s has no %s to be held against", v.Lock, x.limit.Of)
			continue
		}
		ms := x.of(v.Recovery)
		*x.measured, *x.against = &ms, &limit
		verdict, word := Pass, "within"
		if ms > limit {
			verdict, word = Fail, "beyond"
		}
		say(verdict, "%s %s, %s %s", x.what, millis(ms), word, x.limit.show(limit))
	}
	if r.MinRounds > 0 && v.Probative < r.MinRounds {
		say(Inconclusive, "%d rounds prove something, demanded: %d", v.Probative, r.MinRounds)
	} else if r.MinRounds > 0 {
		say(Pass, "%d rounds prove something", v.Probative)
	}
	t.Reason = strings.Join(reasons, "; ")
	return t
}

// show is "2.50 s", or "1.3 x TTL = 2.60 s".
func (l *TimeLimit) show(ms float64) string {
	if l.Of == "" {
		return millis(ms)
	}
	return l.Text + " = " + millis(ms)
}

// nothing is why a demand matches no cell, with what the run has instead.
func (r *ChaosRule) nothing(c *results.ChaosReport) string {
	const lead = "no cell of the run is meant"
	for _, f := range []struct {
		what     string
		patterns []string
		of       func(v *results.ChaosVerdict) string
	}{
		{"fault", r.Fault, func(v *results.ChaosVerdict) string { return v.Fault }},
		{"lock", r.Lock, func(v *results.ChaosVerdict) string { return v.Lock }},
		{"policy", r.Policy, func(v *results.ChaosVerdict) string { return v.Policy }},
		{"topology", r.Topology, func(v *results.ChaosVerdict) string { return v.Topology }},
	} {
		var names []string
		for _, v := range c.All() {
			if name := f.of(v); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if slices.ContainsFunc(names, func(name string) bool { return matches(f.patterns, name) }) || len(f.patterns) == 0 {
			continue
		}
		slices.Sort(names)
		text := fmt.Sprintf("%s: no %s is %s", lead, f.what, strings.Join(f.patterns, " or "))
		for _, p := range f.patterns {
			if close := near.Names(p, names); len(close) > 0 {
				return text + ", did you mean " + strings.Join(close, ", ") + "?"
			}
		}
		if len(names) > maxNames {
			names = append(names[:maxNames], "...")
		}
		return text + "; there are: " + strings.Join(names, ", ")
	}
	return lead + ": each of its fault, lock, policy and topology was run, but not together"
}

// Count is how many tests came to a verdict.
func (r *ChaosResult) Count(v Verdict) int {
	n := 0
	for _, t := range r.Tests {
		if t.Verdict == v {
			n++
		}
	}
	return n
}

// chaosCell names a cell: "etcd / holder-kill / careful on etcd-3".
func chaosCell(v *results.ChaosVerdict) string {
	name := v.Lock + " / " + v.Fault + " / " + v.Policy
	if v.Topology != "" {
		name += " on " + v.Topology
	}
	return name
}

// chaosSeen is the verdict with the rounds that it rests on.
func chaosSeen(v *results.ChaosVerdict) string {
	if v.Bad > 0 {
		return fmt.Sprintf("%s in %d of %s", v.Verdict, v.Bad, num.Count(v.Rounds, "round"))
	}
	return fmt.Sprintf("%s in %s", v.Verdict, num.Count(v.Probative, "round"))
}

func millis(ms float64) string {
	if ms < 0 {
		return "-" + num.Span(-ms*1e6)
	}
	return num.Span(ms * 1e6)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
