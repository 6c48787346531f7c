package expect

import (
	"fmt"
	"slices"
)

// Subject is a lock, with where it can run and what can be done to it: its cells are all combinations.
type Subject struct {
	Lock       string
	Topologies []string // [""] for one that needs no server
	Faults     []string
	Policies   []string
}

// Cells returns all cells of some locks, in their order: fault by fault, topology by topology.
func Cells(subjects []Subject) []Cell {
	var out []Cell
	for _, s := range subjects {
		for _, f := range s.Faults {
			for _, t := range s.Topologies {
				for _, p := range s.Policies {
					out = append(out, Cell{s.Lock, t, f, p})
				}
			}
		}
	}
	return out
}

// Complete returns what is wrong with the table for these locks: a cell without a verdict, an entry that
// decides nothing, because it matches no cell or others below it match all of its cells, a name that matches nothing,
// and a finding that says what was expected anyhow. Each error begins with the line, but for the first kind.
func (t *Table) Complete(subjects []Subject) []error {
	var errs []error
	decides := make([]bool, len(t.rules))
	differs := make([]bool, len(t.findings))
	cells := Cells(subjects)
	for _, c := range cells {
		v, b := t.decisive(c)
		if v < 0 {
			errs = append(errs, fmt.Errorf("no expectation of %s on %s under %s, policy %s", c.Lock, c.Topology, c.Fault, c.Policy))
			continue
		}
		decides[v] = true
		if b >= 0 {
			decides[b] = true
		}
		for i, f := range t.findings {
			if f.match(c) && f.seen != t.rules[v].verdict {
				differs[i] = true
			}
		}
	}
	for i, r := range t.rules {
		if !decides[i] {
			errs = append(errs, fmt.Errorf("line %d: the entry decides no cell", r.line))
		}
		errs = append(errs, r.idle(cells)...)
	}
	for i, f := range t.findings {
		if !differs[i] {
			errs = append(errs, fmt.Errorf("line %d: the finding differs from no expectation", f.line))
		}
		errs = append(errs, f.idle(cells)...)
	}
	said := map[string]bool{} // entries of one block share its faults
	return slices.DeleteFunc(errs, func(err error) bool {
		was := said[err.Error()]
		said[err.Error()] = true
		return was
	})
}

// idle returns an error for each name of the scope without which it would match the same cells.
func (s scope) idle(cells []Cell) []error {
	var errs []error
	for _, part := range []struct {
		what string
		in   []pattern
		of   func(Cell) string
		set  func(*scope, pattern)
	}{
		{"fault", s.faults, func(c Cell) string { return c.Fault }, func(s *scope, p pattern) { s.faults = []pattern{p} }},
		{"lock", s.locks, func(c Cell) string { return c.Lock }, func(s *scope, p pattern) { s.locks = []pattern{p} }},
		{"topology", s.topologies, func(c Cell) string { return c.Topology }, func(s *scope, p pattern) { s.topologies = []pattern{p} }},
		{"policy", s.policies, func(c Cell) string { return c.Policy }, func(s *scope, p pattern) { s.policies = []pattern{p} }},
	} {
		for _, p := range part.in {
			alone := s
			part.set(&alone, p)
			if !slices.ContainsFunc(cells, alone.match) {
				errs = append(errs, fmt.Errorf("line %d: %s %q matches nothing there", p.line, part.what, p.text))
			}
			for _, m := range p.members {
				if !slices.ContainsFunc(cells, func(c Cell) bool { return c.Lock == m }) {
					errs = append(errs, fmt.Errorf("line %d: group %q: there is no lock %q", p.line, p.text, m))
				}
			}
		}
	}
	return errs
}
