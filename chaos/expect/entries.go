package expect

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"lockbench/internal/yamldoc"
	"lockbench/results"
)

// The keys of entries.
var (
	blockKeys   = []string{"faults", "cells"}
	cellKeys    = []string{"locks", "topologies", "policies", "verdict", "bound", "why", "source"}
	findingKeys = []string{"faults", "locks", "topologies", "policies", "seen", "note", "see"}
)

// patterns reads a list of them; locks may be groups.
func (l *loader) patterns(v ast.Node, what string) (out []pattern, err error) {
	err = l.each(v, what, func(v ast.Node) error {
		s, err := l.Scalar(v)
		if err != nil {
			return err
		}
		if !patternRE.MatchString(s) {
			return yamldoc.At(v, fmt.Errorf("%s: %q is no name", what, s), "small letters, digits and dashes, and perhaps * behind them; leave the key out for all")
		}
		p := pattern{text: s}
		p.line, _ = yamldoc.Place(v)
		if members, ok := l.groups[s]; ok && what == "locks" {
			p.members = members
			l.used[s] = true
		}
		out = append(out, p)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = yamldoc.At(v, fmt.Errorf("%s: an empty list", what), "leave the key out for all")
	}
	return out, err
}

// scope reads the keys that say what an entry is about.
func (l *loader) scope(values map[string]ast.Node, s scope) (scope, error) {
	for _, part := range []struct {
		key string
		to  *[]pattern
	}{{"faults", &s.faults}, {"locks", &s.locks}, {"topologies", &s.topologies}, {"policies", &s.policies}} {
		if v := values[part.key]; v != nil {
			var err error
			if *part.to, err = l.patterns(v, part.key); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// block reads the entries about some faults.
func (l *loader) block(item ast.Node) error {
	values := map[string]ast.Node{}
	if err := l.Mapping(item, "an entry of rules", "faults: [holder-kill]", blockKeys, collect(values)); err != nil {
		return err
	}
	if values["cells"] == nil {
		return yamldoc.At(item, errors.New("an entry of rules without cells"), "cells is a list of entries about these faults")
	}
	about, err := l.scope(values, scope{})
	if err != nil {
		return err
	}
	return l.each(values["cells"], "cells", func(v ast.Node) error { return l.cell(v, about) })
}

// cell reads one entry.
func (l *loader) cell(item ast.Node, about scope) error {
	values := map[string]ast.Node{}
	err := l.Mapping(item, "an entry of cells", "verdict: safe", cellKeys, collect(values))
	if err != nil {
		return err
	}
	r := rule{}
	r.line, _ = yamldoc.Place(item)
	if r.scope, err = l.scope(values, about); err != nil {
		return err
	}
	if v := values["verdict"]; v != nil {
		if r.verdict, err = l.oneOf(v, "verdict", verdicts); err != nil {
			return err
		}
	}
	if v := values["why"]; v != nil {
		if r.why, err = l.sentence(v, "why"); err != nil {
			return err
		}
	}
	if v := values["source"]; v != nil {
		if r.sources, err = l.cited(v); err != nil {
			return err
		}
	}
	if v := values["bound"]; v != nil {
		if err = l.bound(v, &r); err != nil {
			return err
		}
	}
	switch {
	case r.verdict == "" && !r.bounds:
		return yamldoc.At(item, errors.New("the entry has neither a verdict nor a bound"), "")
	case r.verdict == "" && (r.why != "" || r.sources != nil):
		return yamldoc.At(item, errors.New("a reason without a verdict"), "why and source belong to the verdict")
	case r.verdict != "" && r.why == "":
		return yamldoc.At(item, errors.New("a verdict without a reason"), "add why: one sentence")
	case r.verdict != "" && r.verdict != results.VerdictSkipped && r.sources == nil:
		return yamldoc.At(item, errors.New("a verdict without a source"), "add source: keys of sources")
	case r.verdict == results.VerdictSkipped && r.bounds:
		return yamldoc.At(item, errors.New("a bound of a cell that is skipped"), "delete it")
	}
	l.t.rules = append(l.t.rules, r)
	return nil
}

// cited reads keys of sources.
func (l *loader) cited(v ast.Node) (keys []string, err error) {
	err = l.each(v, "source", func(v ast.Node) error {
		key, err := l.Scalar(v)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(l.t.sources, func(s source) bool { return s.key == key }) {
			return yamldoc.At(v, fmt.Errorf("no source is named %q", key), "add it to sources")
		}
		l.used[" "+key] = true
		keys = append(keys, key)
		return nil
	})
	return keys, err
}

// noBound takes an earlier bound back.
const noBound = "none"

func (l *loader) bound(v ast.Node, r *rule) error {
	text, err := l.Scalar(v)
	if err != nil {
		return err
	}
	r.bounds = true
	if text == noBound {
		return nil
	}
	if r.bound, err = ParseFormula(text); err != nil {
		return yamldoc.At(v, err, "for instance T + 2 * poll")
	}
	return nil
}

// finding reads one of them.
func (l *loader) finding(item ast.Node) error {
	values := map[string]ast.Node{}
	err := l.Mapping(item, "an entry of findings", "seen: unsafe", findingKeys, collect(values))
	if err != nil {
		return err
	}
	for _, key := range []string{"faults", "locks", "seen", "note", "see"} {
		if values[key] == nil {
			return yamldoc.At(item, fmt.Errorf("a finding without %s", key), "")
		}
	}
	f := finding{}
	f.line, _ = yamldoc.Place(item)
	if f.scope, err = l.scope(values, scope{}); err != nil {
		return err
	}
	if f.seen, err = l.oneOf(values["seen"], "seen", verdicts); err != nil {
		return err
	}
	if f.note, err = l.sentence(values["note"], "note"); err != nil {
		return err
	}
	if f.see, err = l.text(values["see"], "see"); err != nil {
		return err
	}
	l.t.findings = append(l.t.findings, f)
	return nil
}
