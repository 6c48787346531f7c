package expect

import (
	"slices"
	"strings"

	"lockbench/results"
)

// Table is a file of expectations.
type Table struct {
	rules    []rule
	findings []finding
	sources  []source
}

// Expectation is what theory says about a cell.
type Expectation struct {
	Verdict string   // one of results.VerdictSafe, VerdictFence, VerdictUnsafe, VerdictSkipped
	Bound   *Formula // of the recovery; nil: theory gives none
	Why     string   // one sentence
	Source  string   // papers, documentation, issues; separated by "; "
	// Seen is the verdict that was found instead, and Note explains it; empty: none was.
	Seen, Note string
}

// verdicts are those that can be expected.
var verdicts = []string{results.VerdictSafe, results.VerdictFence, results.VerdictUnsafe, results.VerdictSkipped}

// source is a work that reasons are taken from.
type source struct{ key, text string }

// scope is the cells that an entry is about. An empty list matches everything.
type scope struct{ faults, locks, topologies, policies []pattern }

// rule is one entry: a verdict with its reason, a bound, or both.
type rule struct {
	scope
	line    int
	verdict string // empty: it has none
	why     string
	sources []string // keys
	bounds  bool     // it has a bound, or takes one back
	bound   *Formula // nil: it takes it back
}

// finding is a difference between theory and measurement, explained.
type finding struct {
	scope
	line            int
	seen, note, see string
}

// pattern is a name, or the beginning of names; a name of a group stands for its members.
type pattern struct {
	text    string
	members []string // of a group; nil: it is none
	line    int
}

func (p pattern) match(name string) bool {
	if p.members != nil {
		return slices.Contains(p.members, name)
	}
	if head, ok := strings.CutSuffix(p.text, "*"); ok {
		return strings.HasPrefix(name, head)
	}
	return p.text == name
}

func match(ps []pattern, name string) bool {
	return len(ps) == 0 || slices.ContainsFunc(ps, func(p pattern) bool { return p.match(name) })
}

// Cell is one lock under one fault and one policy.
type Cell struct{ Lock, Topology, Fault, Policy string }

func (s scope) match(c Cell) bool {
	return match(s.faults, c.Fault) && match(s.locks, c.Lock) && match(s.topologies, c.Topology) && match(s.policies, c.Policy)
}

// decisive returns the indices of the rules that decide a cell's verdict and its bound; -1: none does.
func (t *Table) decisive(c Cell) (verdict, bound int) {
	verdict, bound = -1, -1
	for i, r := range t.rules {
		if !r.match(c) {
			continue
		}
		if r.verdict != "" {
			verdict = i
		}
		if r.bounds {
			bound = i
		}
	}
	return verdict, bound
}

// Lookup returns what is expected of a cell; ok is false if the table says nothing.
func (t *Table) Lookup(lock, topology, fault, policy string) (e Expectation, ok bool) {
	c := Cell{lock, topology, fault, policy}
	v, b := t.decisive(c)
	if v < 0 {
		return Expectation{}, false
	}
	r := t.rules[v]
	e = Expectation{Verdict: r.verdict, Why: r.why, Source: t.cite(r.sources)}
	if b >= 0 && e.Verdict != results.VerdictSkipped {
		e.Bound = t.rules[b].bound
	}
	for _, f := range t.findings {
		if f.match(c) {
			e.Seen, e.Note = f.seen, f.note+" See "+f.see+"."
		}
	}
	return e, true
}

// cite returns the texts of sources.
func (t *Table) cite(keys []string) string {
	var texts []string
	for _, key := range keys {
		for _, s := range t.sources {
			if s.key == key {
				texts = append(texts, s.text)
			}
		}
	}
	return strings.Join(texts, "; ")
}

// Sees returns where the findings point, each place once, in the order of the file.
func (t *Table) Sees() []string {
	var out []string
	for _, f := range t.findings {
		if !slices.Contains(out, f.see) {
			out = append(out, f.see)
		}
	}
	return out
}
