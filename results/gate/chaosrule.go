package gate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"lockbench/internal/near"
	"lockbench/internal/yamldoc"
	"lockbench/results"
)

// A ChaosRule is a demand on the verdicts of the faults, locks and policies that it matches.
type ChaosRule struct {
	Name string // as given, or made of the other fields; unique
	// Patterns with *, ? and [...]; a cell that one of each matches is meant. Empty = all. Controls are
	// meant only where Lock has exactly their name.
	Fault, Lock, Policy, Topology []string
	// Verdicts are those that pass; empty = any that rounds have shown.
	Verdicts []string
	// RecoveryMax bounds the longest recovery, RecoveryP50 the median one; nil = no bound.
	RecoveryMax, RecoveryP50 *TimeLimit
	// MinRounds is how many rounds must have proved something; 0 = as many as the run wanted.
	MinRounds    int
	Line, Column int // in the file, 0 = unknown
}

// A TimeLimit is a time, or a multiple of what the lock has: its TTL as granted, or the bound of theory.
type TimeLimit struct {
	MS     float64 // used if Of is ""
	Factor float64
	Of     string // ofTTL, ofBound
	Text   string // as the user wrote it
}

// What a TimeLimit may be a multiple of.
const (
	ofTTL   = "TTL"
	ofBound = "bound"
)

// maxFactor bounds multiples: whoever allows more has mistaken a unit.
const maxFactor = 1000

// in is the limit for a cell, in ms; false if the cell does not have what it is a multiple of.
func (l *TimeLimit) in(v *results.ChaosVerdict) (float64, bool) {
	switch {
	case l.Of == "":
		return l.MS, true
	case l.Of == ofTTL:
		return l.Factor * v.TTLMS, v.TTLMS > 0
	case v.BoundMS == nil:
		return 0, false
	}
	return l.Factor * *v.BoundMS, true
}

// Matches reports whether the demand is about the cell.
func (r *ChaosRule) Matches(v *results.ChaosVerdict) bool {
	if v.Control && !slices.Contains(r.Lock, v.Lock) {
		return false
	}
	return matches(r.Fault, v.Fault) && matches(r.Lock, v.Lock) && matches(r.Policy, v.Policy) && matches(r.Topology, v.Topology)
}

// Demand is what is demanded, in words: "safe, recovery at most 1.3 x TTL".
func (r *ChaosRule) Demand() string {
	var parts []string
	if len(r.Verdicts) > 0 {
		parts = append(parts, strings.Join(r.Verdicts, " or "))
	}
	if r.RecoveryMax != nil {
		parts = append(parts, "longest recovery at most "+r.RecoveryMax.Text)
	}
	if r.RecoveryP50 != nil {
		parts = append(parts, "median recovery at most "+r.RecoveryP50.Text)
	}
	if r.MinRounds > 0 {
		parts = append(parts, fmt.Sprintf("at least %d rounds", r.MinRounds))
	}
	return strings.Join(parts, ", ")
}

func (r *ChaosRule) describe() string {
	var parts []string
	for _, f := range []struct {
		key      string
		patterns []string
	}{{"fault", r.Fault}, {"lock", r.Lock}, {"policy", r.Policy}, {"topology", r.Topology}} {
		if len(f.patterns) > 0 {
			parts = append(parts, f.key+"="+strings.Join(f.patterns, ","))
		}
	}
	if len(parts) == 0 {
		parts = []string{"*"}
	}
	return strings.Join(parts, "/") + ": " + r.Demand()
}

var chaosKeys = []string{"name", "fault", "lock", "policy", "topology", "verdict", "recovery_max", "recovery_p50", "min_rounds"}

// setChaos reads the list of demands.
func (rs *Rules) setChaos(n yamldoc.Nodes, v ast.Node, faults []string) error {
	if n.IsMapping(v) {
		return yamldoc.At(v, errors.New("chaos: want a list"), `begin each demand with "- "`)
	}
	items, err := n.List(v)
	if err != nil {
		return err
	}
	for _, item := range items {
		r, err := decodeChaosRule(n, item, faults)
		if err != nil {
			return err
		}
		for _, o := range rs.Chaos {
			if o.Name == r.Name {
				return yamldoc.At(item, fmt.Errorf("a second demand named %q", r.Name),
					fmt.Sprintf("the first is in line %d; give each demand a name of its own", o.Line))
			}
		}
		rs.Chaos = append(rs.Chaos, *r)
	}
	if len(items) == 0 {
		return yamldoc.At(v, errors.New("chaos: an empty list"), "a gate without demands would pass anything")
	}
	return nil
}

func decodeChaosRule(n yamldoc.Nodes, item ast.Node, faults []string) (*ChaosRule, error) {
	r := &ChaosRule{}
	r.Line, r.Column = yamldoc.Place(item)
	values := map[string]ast.Node{}
	err := n.Mapping(item, "a demand", "fault: holder-kill", chaosKeys, func(key string, v ast.Node) error { values[key] = v; return nil })
	if err != nil {
		return nil, err
	}
	for key, p := range map[string]*[]string{"fault": &r.Fault, "lock": &r.Lock, "policy": &r.Policy, "topology": &r.Topology} {
		if values[key] == nil {
			continue
		}
		if *p, err = patterns(n, key, values[key]); err != nil {
			return nil, err
		}
	}
	if err := knownFaults(r.Fault, faults); err != nil {
		return nil, yamldoc.At(values["fault"], err, "")
	}
	if v := values["verdict"]; v != nil {
		if err := r.setVerdicts(n, v); err != nil {
			return nil, err
		}
	}
	for key, p := range map[string]**TimeLimit{"recovery_max": &r.RecoveryMax, "recovery_p50": &r.RecoveryP50} {
		if v := values[key]; v != nil {
			if *p, err = timeLimit(n, key, v); err != nil {
				return nil, err
			}
		}
	}
	if v := values["min_rounds"]; v != nil {
		text, err := n.Scalar(v)
		if err != nil {
			return nil, err
		}
		if r.MinRounds, err = strconv.Atoi(text); err != nil || r.MinRounds < 1 {
			return nil, yamldoc.At(v, fmt.Errorf("min_rounds: %q: want a whole number of at least 1", text), "such as 10, which leave at most 26 % of bad rounds possible")
		}
	}
	if r.Demand() == "" {
		return nil, yamldoc.At(item, errors.New("a demand without verdict, recovery_max, recovery_p50 or min_rounds"), "for instance verdict: safe")
	}
	if v := values["name"]; v != nil {
		if r.Name, err = n.Scalar(v); err != nil {
			return nil, err
		}
		if r.Name = strings.TrimSpace(results.Printable(r.Name)); r.Name == "" {
			return nil, yamldoc.At(v, errors.New("name: it is empty"), "leave the key out for a name that says what the demand is about")
		}
		return r, nil
	}
	r.Name = results.Printable(r.describe())
	return r, nil
}

// knownFaults refuses a pattern that none of the known faults matches. Without known ones all are.
func knownFaults(patterns, faults []string) error {
	for _, p := range patterns {
		hit := slices.ContainsFunc(faults, func(f string) bool { ok, err := path.Match(p, f); return err == nil && ok })
		if !hit && len(faults) > 0 {
			return &near.UnknownError{What: "fault", Name: p, Near: near.Names(p, faults)}
		}
	}
	return nil
}

var demandable = []string{results.VerdictSafe, results.VerdictFence, results.VerdictUnsafe}

func (r *ChaosRule) setVerdicts(n yamldoc.Nodes, v ast.Node) error {
	items, err := n.List(v)
	if err != nil {
		return err
	}
	for _, item := range items {
		text, err := n.Scalar(item)
		if err != nil {
			return err
		}
		for word := range strings.SplitSeq(text, ",") {
			word = strings.TrimSpace(word)
			switch {
			case word == results.VerdictUnknown || word == results.VerdictSkipped:
				return yamldoc.At(item, fmt.Errorf("verdict: %s cannot be demanded", word), "no verdict is never a pass; leave the cell out of the gate instead")
			case !slices.Contains(demandable, word):
				hint := "verdicts: " + strings.Join(demandable, ", ")
				if close := near.Names(word, demandable); len(close) > 0 {
					hint = "did you mean " + close[0] + "? " + hint
				}
				return yamldoc.At(item, fmt.Errorf("verdict: %q is none", word), hint)
			case !slices.Contains(r.Verdicts, word):
				r.Verdicts = append(r.Verdicts, word)
			}
		}
	}
	if len(r.Verdicts) == 0 {
		return yamldoc.At(v, errors.New("verdict: an empty list"), "leave the key out if any verdict will do")
	}
	return nil
}

// timeLimit reads "2500 ms", "2.5s", "1.3 x TTL" or "1 x bound".
func timeLimit(n yamldoc.Nodes, key string, v ast.Node) (*TimeLimit, error) {
	text, err := n.Scalar(v)
	if err != nil {
		return nil, err
	}
	l := &TimeLimit{Text: strings.Join(strings.Fields(results.Printable(text)), " ")}
	number, unit := split(text)
	x, err := strconv.ParseFloat(number, 64)
	fail := func(want, hint string) (*TimeLimit, error) {
		return nil, yamldoc.At(v, fmt.Errorf("%s: %q: want %s", key, text, want), hint)
	}
	const want, hint = "a time or a multiple, such as 2500ms or 1.3 x TTL", "TTL is that of the lease as granted, bound is what theory gives: 1 x bound"
	if err != nil {
		return fail(want, hint)
	}
	if of, ok := strings.CutPrefix(strings.Replace(unit, "×", "x", 1), "x"); ok {
		switch of = strings.TrimSpace(of); {
		case strings.EqualFold(of, ofTTL):
			l.Of = ofTTL
		case strings.EqualFold(of, ofBound):
			l.Of = ofBound
		default:
			return fail(want, hint)
		}
		if l.Factor = x; !(x > 0 && x <= maxFactor) {
			return fail(fmt.Sprintf("a factor above 0 and at most %d", maxFactor), hint)
		}
		return l, nil
	}
	factor, known := units["ns"].factors[unit]
	switch ns := x * factor; {
	case !known:
		return fail(want, hint)
	case !(ns > 0 && ns <= maxLimitNS):
		return fail("more than 0 and at most an hour", "is the unit right?")
	default:
		l.MS = ns / 1e6
	}
	return l, nil
}
