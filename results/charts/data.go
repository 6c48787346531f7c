package charts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// An identity is how a lock looks in all charts of a run.
type identity struct {
	name    string
	family  string
	control bool
	hue     int
	shape   int
}

func (i identity) mark() string {
	if i.control {
		return "control-mark open"
	}
	return fmt.Sprintf("m%d halo", i.hue)
}

func (i identity) line() string {
	if i.control {
		return "control-line"
	}
	return fmt.Sprintf("line l%d", i.hue)
}

func (i identity) bar() string {
	if i.control {
		return "bar control-bar"
	}
	return fmt.Sprintf("bar l%d", i.hue)
}

// identify numbers the locks of a run by family and name, so that neighbours
// in a chart differ in hue and marker.
func identify(r *results.RunReport) map[string]identity {
	ids := map[string]identity{}
	for _, c := range r.Cells() {
		ids[c.RowName()] = identity{name: c.RowName(), family: c.Family, control: c.Control}
	}
	order := slices.SortedFunc(maps.Values(ids), func(a, b identity) int {
		return cmp.Or(strings.Compare(a.family, b.family), strings.Compare(a.name, b.name))
	})
	n := 0
	for _, i := range order {
		if !i.control {
			i.hue, i.shape = n%hues, n%shapes
			n++
		}
		ids[i.name] = i
	}
	return ids
}

// samplesOf finds the repetitions of each cell. RunReport.Samples has them in
// the order of the cells.
func samplesOf(r *results.RunReport) map[*results.CellSummary][]*results.Sample {
	out := map[*results.CellSummary][]*results.Sample{}
	rest := r.Samples
	for _, c := range r.Cells() {
		n := min(c.Reps, len(rest))
		out[c], rest = rest[:n], rest[n:]
	}
	return out
}

// A group is the sections that differ in the number of workers alone, by that
// number; of distributed locks perhaps in the number of clients, which the workers grow
// with.
type group struct {
	workload string
	setting  string // what is not the usual case: "pinned compact"
	each     int    // workers of each of the clients, where their number differs; else 0
	sections []*results.Section
}

// title is what a chart of the group is about; of one section it says the
// number of workers, too.
func (g *group) title(what string, s *results.Section) string {
	t := what + ": " + g.workload
	if s != nil {
		t += ", " + workers(s.Workers)
		if s.Cores > 0 {
			t += fmt.Sprintf(" on %s", num.Count(s.Cores, "core"))
		}
	}
	if set := g.settingOf(s); set != "" {
		t += ", " + set
	}
	return t
}

// settingOf is that of the group, or of one of its sections.
func (g *group) settingOf(s *results.Section) string {
	if s == nil || g.each == 0 {
		return g.setting
	}
	return setting(s)
}

func (g *group) name(what string, s *results.Section) string {
	t := what + "-" + g.workload
	if s != nil {
		t += fmt.Sprintf("-%dw", s.Workers)
	}
	return t + "-" + g.settingOf(s)
}

func workers(n int) string { return num.Count(n, "worker") }

// groups are in the order of the report. Sections with the same number of
// workers but another number of cores begin another group.
func groups(r *results.RunReport) []*group {
	var out []*group
	each := perClient(r)
	for _, s := range r.Sections {
		set, n := setting(s), each[s]
		if n > 0 {
			set = withoutClients(s)
		}
		i := slices.IndexFunc(out, func(g *group) bool {
			return g.workload == s.Workload && g.setting == set && g.each == n &&
				!slices.ContainsFunc(g.sections, func(o *results.Section) bool { return o.Workers == s.Workers })
		})
		if i < 0 {
			out, i = append(out, &group{workload: s.Workload, setting: set, each: n}), len(out)
		}
		out[i].sections = append(out[i].sections, s)
	}
	for _, g := range out {
		slices.SortStableFunc(g.sections, func(a, b *results.Section) int { return cmp.Compare(a.Workers, b.Workers) })
	}
	return out
}

// perClient finds the sections of distributed locks in which the number of clients
// grows and that of each client's workers stays: throughput is then drawn against all
// workers together. Where both vary, a group has one number of clients, like its title.
func perClient(r *results.RunReport) map[*results.Section]int {
	type place struct{ workload, setting string }
	clients, each := map[place]map[int]bool{}, map[place]map[int]bool{}
	at := func(s *results.Section) place { return place{s.Workload, withoutClients(s)} }
	for _, s := range r.Sections {
		if !s.Distributed() || s.Clients < 1 || s.Workers%s.Clients != 0 {
			continue
		}
		p := at(s)
		if clients[p] == nil {
			clients[p], each[p] = map[int]bool{}, map[int]bool{}
		}
		clients[p][s.Clients], each[p][s.Workers/s.Clients] = true, true
	}
	out := map[*results.Section]int{}
	for _, s := range r.Sections {
		if p := at(s); s.Distributed() && len(clients[p]) > 1 && len(each[p]) == 1 && s.Workers%s.Clients == 0 {
			out[s] = s.Workers / s.Clients
		}
	}
	return out
}

func withoutClients(s *results.Section) string {
	one := *s
	one.Clients = 1
	return setting(&one)
}

func setting(s *results.Section) string {
	parts := s.Setting()
	if s.OfferedOps > 0 {
		parts = append(parts, num.Rate(s.OfferedOps)+" offered")
	}
	return strings.Join(parts, ", ")
}

// absences says which cells are not drawn and why, and which are drawn from a
// part of their repetitions. drawn reports whether a cell with figures has those
// that the chart needs.
func absences(sections []*results.Section, drawn func(*results.CellSummary) bool, why string) []string {
	var not, part reasons
	for _, c := range cellsOf(sections) {
		name := c.RowName()
		if len(sections) > 1 {
			name += " with " + workers(c.Workers)
		}
		failed := fmt.Sprintf("%s in %d of %d", strings.ToUpper(c.Outcome), c.WorstOf, c.Reps)
		switch {
		case c.Outcome == results.OutcomeSkipped && c.OKReps == 0:
			not.add(name, "skipped: "+c.Reason)
		case !c.Ranked() && c.Outcome != results.OutcomeOK:
			not.add(name, failed)
		case !drawn(c):
			not.add(name, why)
		case c.Outcome != results.OutcomeOK && c.Outcome != results.OutcomeSkipped:
			part.add(name, failed)
		}
	}
	return append(not.sentence("Not drawn"), part.sentence("Drawn from the other repetitions")...)
}

// reasons are the names that each reason is about, in order of the first.
type reasons struct {
	order []string
	names map[string][]string
}

func (r *reasons) add(name, why string) {
	if r.names == nil {
		r.names = map[string][]string{}
	}
	why = strings.TrimSuffix(num.Cut(why, 80), ".")
	if r.names[why] == nil {
		r.order = append(r.order, why)
	}
	r.names[why] = append(r.names[why], name)
}

// sentence is empty without a name.
func (r *reasons) sentence(head string) []string {
	var parts []string
	for _, why := range r.order {
		parts = append(parts, fmt.Sprintf("%s (%s)", strings.Join(r.names[why], ", "), why))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{head + ": " + strings.Join(parts, "; ") + "."}
}

func cellsOf(sections []*results.Section) []*results.CellSummary {
	var out []*results.CellSummary
	for _, s := range sections {
		out = append(out, s.Cells...)
	}
	return out
}

// controls says what a control is, if one is drawn.
func controls(sections []*results.Section) []string {
	var names []string
	for _, c := range cellsOf(sections) {
		if c.Control && c.Ranked() && !slices.Contains(names, c.RowName()) {
			names = append(names, c.RowName())
		}
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return []string{names[0] + " is a control, not a lock: what the measurement itself costs."}
	}
	return []string{strings.Join(names, ", ") + " are controls, not locks: what the measurement itself costs."}
}
