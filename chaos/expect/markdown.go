package expect

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockbench/results"
)

// Markdown writes what the table says of these subjects: a section for each fault, in the order of the faults
// given, then the sources and the names in formulas. Whatever has the same reason is one line; topologies and
// policies are named where they make a difference.
func (t *Table) Markdown(w io.Writer, subjects []Subject, faults []string) error {
	var b strings.Builder
	for _, f := range faults {
		var about []Subject
		for _, s := range subjects {
			if slices.Contains(s.Faults, f) {
				about = append(about, s)
			}
		}
		if len(about) > 0 {
			fmt.Fprintf(&b, "### %s\n\n", f)
			t.section(&b, about, f)
		}
	}
	b.WriteString("### Sources\n\n")
	for _, s := range t.sources {
		fmt.Fprintf(&b, "- `%s`: %s\n", s.key, s.text)
	}
	b.WriteString("\n### Names in the bounds\n\n| name | what it stands for |\n|---|---|\n")
	for _, v := range vars {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, v.Doc)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// section writes what is said under one fault.
func (t *Table) section(b *strings.Builder, about []Subject, fault string) {
	var verdicts, bounds, skipped sheet
	for _, s := range about {
		for _, top := range s.Topologies {
			for _, p := range s.Policies {
				e, ok := t.Lookup(s.Lock, top, fault, p)
				if !ok {
					continue
				}
				if e.Verdict == results.VerdictSkipped {
					skipped.add(e.Why, s, top, p)
					continue
				}
				v, _ := t.decisive(Cell{s.Lock, top, fault, p})
				why := e.Why + " (" + strings.Join(t.rules[v].sources, ", ") + ")"
				if e.Note != "" {
					why += " **Seen: " + e.Seen + ".** " + e.Note
				}
				verdicts.add(e.Verdict+" | "+strings.ReplaceAll(why, "|", `\|`), s, top, p)
				if e.Bound != nil {
					bounds.add("`"+e.Bound.String()+"`", s, top, p)
				}
			}
		}
	}
	if len(verdicts) > 0 {
		b.WriteString("| locks | policy | expected | why |\n|---|---|---|---|\n")
		for _, r := range verdicts.rows(false) {
			fmt.Fprintf(b, "| %s | %s | %s |\n", r.locks(about), strings.Join(r.policies, ", "), r.text)
		}
		b.WriteByte('\n')
	}
	list(b, "Next grant within", bounds, about)
	list(b, "Skipped", skipped, about)
}

// list writes a sheet as items, if there is something on it.
func list(b *strings.Builder, title string, s sheet, about []Subject) {
	if len(s) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n\n", title)
	for _, r := range s.rows(true) {
		which := ""
		if !r.all {
			which = " (" + strings.Join(r.policies, ", ") + ")"
		}
		fmt.Fprintf(b, "- %s%s: %s\n", r.locks(about), which, r.text)
	}
	b.WriteByte('\n')
}

// sheet is texts, each with what it is said of, in the order in which they came.
type sheet []*line

// line is one text.
type line struct {
	text string
	of   []place
}

// place is a lock on a topology.
type place struct {
	lock, topology string
	policies       []string // of which it is said
	all            bool     // these are all that the lock has
}

// add notes that a text is said of a cell. The cells of one lock on one topology come one after the other.
func (s *sheet) add(text string, of Subject, topology, policy string) {
	i := slices.IndexFunc(*s, func(l *line) bool { return l.text == text })
	if i < 0 {
		i = len(*s)
		*s = append(*s, &line{text: text})
	}
	l := (*s)[i]
	if n := len(l.of); n == 0 || l.of[n-1].lock != of.Lock || l.of[n-1].topology != topology {
		l.of = append(l.of, place{lock: of.Lock, topology: topology})
	}
	p := &l.of[len(l.of)-1]
	p.policies = append(p.policies, policy)
	p.all = len(p.policies) == len(of.Policies)
}

// row is a text with the places of which it is said for the same policies.
type row struct {
	text     string
	policies []string
	all      bool // of each place these are all
	of       []place
}

// rows splits each text by policies. together: locks of which it is said for all policies that they have share a row,
// whichever these are.
func (s sheet) rows(together bool) []*row {
	var out []*row
	for _, l := range s {
		first := len(out)
		for _, p := range l.of {
			i := slices.IndexFunc(out[first:], func(r *row) bool {
				return slices.Equal(r.policies, p.policies) || together && r.all && p.all
			})
			if i < 0 {
				out = append(out, &row{text: l.text, policies: p.policies, all: p.all})
				i = len(out) - 1 - first
			}
			r := out[first+i]
			r.of = append(r.of, p)
			r.all = r.all && p.all
			for _, policy := range p.policies {
				if !slices.Contains(r.policies, policy) {
					r.policies = append(slices.Clone(r.policies), policy)
				}
			}
		}
	}
	return out
}

// few is how many locks are named.
const few = 24

// locks names the row's locks, together where they are on the same topologies.
func (r *row) locks(about []Subject) string {
	var where, names []string
	count := 0
	for _, s := range about {
		var on []string
		for _, p := range r.of {
			if p.lock == s.Lock {
				on = append(on, p.topology)
			}
		}
		if len(on) == 0 {
			continue
		}
		count++
		suffix := ""
		if len(on) < len(s.Topologies) {
			suffix = " on " + strings.Join(on, ", ")
		}
		i := slices.Index(where, suffix)
		if i < 0 {
			where, names = append(where, suffix), append(names, s.Lock)
			continue
		}
		names[i] += ", " + s.Lock
	}
	switch {
	case count > few && count == len(about):
		return "all"
	case count > few:
		return "all others"
	}
	for i := range names {
		names[i] += where[i]
	}
	return strings.Join(names, "; ")
}
