package expect

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Markdown writes what the table says of these subjects, which it must be complete for: a section for each
// fault, in the order of the faults given, then the sources and the names in formulas. A row stands for all locks
// of which the same is said; topologies are named where they make a difference.
func (t *Table) Markdown(w io.Writer, subjects []Subject, faults []string) error {
	var b strings.Builder
	for _, f := range faults {
		if rows := t.rowsOf(subjects, f); len(rows) > 0 {
			fmt.Fprintf(&b, "### %s\n\n", f)
			writeRows(&b, rows)
			b.WriteByte('\n')
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

// said is what is said of a lock on one topology under one fault, by policy.
type said struct {
	policies, verdicts []string
	bound              string // of all policies, each once
	why                string
}

// row is the locks, each with topologies, of which the same is said.
type row struct {
	said
	who   []Subject // one for each lock; Topologies are those that the row is about
	whole []bool    // of who: these are all of its topologies
}

func (a said) same(b said) bool {
	return slices.Equal(a.policies, b.policies) && slices.Equal(a.verdicts, b.verdicts) && a.bound == b.bound && a.why == b.why
}

// rowsOf groups the subjects of a fault; those that are skipped come last.
func (t *Table) rowsOf(subjects []Subject, fault string) []*row {
	var rows []*row
	for _, s := range subjects {
		if !slices.Contains(s.Faults, fault) {
			continue
		}
		for _, top := range s.Topologies {
			what := t.say(s, top, fault)
			i := slices.IndexFunc(rows, func(r *row) bool { return r.same(what) })
			if i < 0 {
				i = len(rows)
				rows = append(rows, &row{said: what})
			}
			rows[i].add(s, top)
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return rankOf(a) - rankOf(b) })
	return rows
}

func rankOf(r *row) int {
	if slices.Contains(r.verdicts, "skipped") {
		return 1
	}
	return 0
}

func (r *row) add(s Subject, top string) {
	n := len(r.who)
	if n == 0 || r.who[n-1].Lock != s.Lock {
		r.who = append(r.who, Subject{Lock: s.Lock, Policies: s.Policies})
		r.whole = append(r.whole, false)
		n++
	}
	last := &r.who[n-1]
	last.Topologies = append(last.Topologies, top)
	r.whole[n-1] = len(last.Topologies) == len(s.Topologies)
}

// say collects what is said of a lock on a topology.
func (t *Table) say(s Subject, top, fault string) said {
	out := said{policies: s.Policies}
	type reason struct{ of, text string }
	var whys, bounds []reason
	note := func(to []reason, policy, text string) []reason {
		if i := slices.IndexFunc(to, func(r reason) bool { return r.text == text }); i >= 0 {
			to[i].of += ", " + policy
			return to
		}
		return append(to, reason{policy, text})
	}
	for _, p := range s.Policies {
		c := Cell{s.Lock, top, fault, p}
		v, _ := t.decisive(c)
		if v < 0 {
			out.verdicts = append(out.verdicts, "?")
			continue
		}
		e, _ := t.Lookup(s.Lock, top, fault, p)
		out.verdicts = append(out.verdicts, e.Verdict)
		why := e.Why
		if len(t.rules[v].sources) > 0 {
			why += " (" + strings.Join(t.rules[v].sources, ", ") + ")"
		}
		if e.Note != "" {
			why += " **Seen: " + e.Seen + ".** " + e.Note
		}
		whys = note(whys, p, why)
		if e.Bound != nil {
			bounds = note(bounds, p, "`"+e.Bound.String()+"`")
		}
	}
	join := func(rs []reason) string {
		var parts []string
		for _, r := range rs {
			if len(rs) > 1 {
				r.text = r.of + ": " + r.text
			}
			parts = append(parts, r.text)
		}
		return strings.Join(parts, " ")
	}
	out.why, out.bound = join(whys), join(bounds)
	return out
}

// columns are policies that have a column of their own.
var columns = []string{"careful", "careless", "guarded"}

func writeRows(b *strings.Builder, rows []*row) {
	plain := !slices.ContainsFunc(rows, func(r *row) bool {
		return slices.ContainsFunc(r.policies, func(p string) bool { return slices.Contains(columns, p) })
	})
	heads := columns
	if plain {
		heads = rows[0].policies
	}
	fmt.Fprintf(b, "| lock | %s | next grant within | why |\n|---|%s---|---|\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, r := range rows {
		fmt.Fprintf(b, "| %s |", r.label(plain && len(rows) > 1 && r == most(rows)))
		for _, h := range heads {
			mark := "-"
			if i := slices.Index(r.policies, h); i >= 0 {
				mark = r.verdicts[i]
			}
			fmt.Fprintf(b, " %s |", mark)
		}
		bound := r.bound
		if bound == "" {
			bound = "-"
		}
		fmt.Fprintf(b, " %s | %s |\n", bound, strings.ReplaceAll(r.why, "|", `\|`))
	}
}

// most is the row with most locks.
func most(rows []*row) *row {
	return slices.MaxFunc(rows, func(a, b *row) int { return len(a.who) - len(b.who) })
}

// label names the row's locks, together where they are on the same topologies.
func (r *row) label(others bool) string {
	if others {
		return "all others"
	}
	var where, names []string
	for i, s := range r.who {
		on := ""
		if !r.whole[i] {
			on = " on " + strings.Join(s.Topologies, ", ")
		}
		j := slices.Index(where, on)
		if j < 0 {
			j = len(where)
			where, names = append(where, on), append(names, "")
		}
		if names[j] != "" {
			names[j] += ", "
		}
		names[j] += s.Lock
	}
	for i := range names {
		names[i] += where[i]
	}
	return strings.Join(names, "; ")
}
