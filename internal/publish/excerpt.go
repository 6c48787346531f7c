package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lockbench/results"
	"lockbench/results/charts"
)

// The excerpt is cut out of the full table, so that it has the same figures, and
// text from the records the same escapes.

// A grid is one section of a table in Markdown: cells as they stand in it.
type grid struct {
	title string
	head  []string
	align []string
	rows  [][]string
}

const heading = "### "

// grids are the sections of a table, in the order of the report.
func grids(table []byte) ([]grid, error) {
	var out []grid
	for line := range strings.Lines(string(table)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#"+heading) {
			break // figures of the cells above
		}
		if title, ok := strings.CutPrefix(line, heading); ok {
			out = append(out, grid{title: title})
			continue
		}
		if len(out) == 0 {
			continue
		}
		g := &out[len(out)-1]
		row, ok := cutRow(line)
		switch {
		case !ok:
		case g.head == nil:
			g.head = row
		case g.align == nil:
			g.align = row
		case len(row) == len(g.head): // a table by phase has other columns
			g.rows = append(g.rows, row)
		}
	}
	for _, g := range out {
		if len(g.rows) == 0 {
			return nil, fmt.Errorf("section %q of the table has no rows", g.title)
		}
	}
	return out, nil
}

// cutRow cuts a line of a table into cells; a pipe behind a backslash is text.
func cutRow(line string) ([]string, bool) {
	if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") || len(line) < 2 {
		return nil, false
	}
	var out []string
	var cell strings.Builder
	escaped := false
	for _, r := range line[1:] {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case r == '|':
			out = append(out, strings.TrimSpace(cell.String()))
			cell.Reset()
			continue
		}
		cell.WriteRune(r)
	}
	return out, true
}

// Columns of the excerpt: speed, the interval it is known to, fairness beside it,
// what waiting costs, and the doubts. Those that must be there are marked.
var columns = []struct {
	head string
	must bool
}{
	{"lock", true}, {"throughput", true}, {"95 % interval", false}, {"jain", true}, {"max/min", false},
	{"cpu/op", false}, {"acquire p99", false}, {"marks", false},
}

// Locks of the excerpt: of each kind one, and what queue locks do when they wait
// in other ways. If none of them was measured, the first rows stand for all.
var chosen = []string{
	"null", "mutex", "chan", "semaphore", "futex", "tas", "ttas-backoff", "ticket", "ticket-park",
	"mcs", "mcs-park", "clh", "hemlock", "rwmutex", "rw-phase-fair",
}

const maxRows = 12

// cut leaves the chosen rows and columns of g; locks are the names of its rows.
func (g grid) cut(locks []string) (grid, error) {
	var keep []int
	for _, c := range columns {
		i := slices.Index(g.head, c.head)
		if i >= 0 {
			keep = append(keep, i)
		} else if c.must {
			return g, fmt.Errorf("section %q of the table has no column %q", g.title, c.head)
		}
	}
	if len(locks) != len(g.rows) {
		return g, fmt.Errorf("section %q of the table has %d rows for %d cells", g.title, len(g.rows), len(locks))
	}
	pick := func(row []string) []string {
		var out []string
		for _, i := range keep {
			out = append(out, row[i])
		}
		return out
	}
	out := grid{title: g.title, head: pick(g.head), align: pick(g.align)}
	known := slices.ContainsFunc(locks, func(l string) bool { return l != "null" && slices.Contains(chosen, l) })
	for i, row := range g.rows {
		if known && slices.Contains(chosen, locks[i]) || !known && len(out.rows) < maxRows {
			out.rows = append(out.rows, pick(row))
		}
	}
	return out, nil
}

// String is the grid as Markdown, without its title.
func (g grid) String() string {
	width := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], 4, utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if strings.HasPrefix(g.align[i], ":") {
				cell += pad
			} else {
				cell = pad + cell
			}
			fmt.Fprintf(&b, "| %s ", cell)
		}
		b.WriteString("|\n")
	}
	line(g.head)
	var rule []string
	for i, a := range g.align {
		dashes := strings.Repeat("-", width[i]-1)
		if strings.HasPrefix(a, ":") {
			rule = append(rule, ":"+dashes)
		} else {
			rule = append(rule, dashes+":")
		}
	}
	line(rule)
	for _, row := range g.rows {
		line(row)
	}
	return b.String()
}

// The workloads of the excerpt, if they were measured.
const (
	usualWorkload   = "moderate"
	crowdedWorkload = "oversubscribed"
)

// shown are the sections of the excerpt: of one workload as many workers as
// cores, and more workers than cores if that was measured.
func shown(r *results.RunReport) []int {
	has := func(name string) bool {
		return slices.ContainsFunc(r.Sections, func(s *results.Section) bool { return s.Workload == name })
	}
	usual := usualWorkload
	if !has(usual) {
		usual = r.Sections[0].Workload
	}
	crowded := crowdedWorkload
	if !has(crowded) {
		crowded = usual
	}
	full, most := -1, -1
	for i, s := range r.Sections {
		special := len(s.Setting()) > 0 // such as locks that bind threads
		if s.Workload == usual && (full < 0 || !special && s.Workers <= s.Cores) {
			full = i
		}
		if s.Workload == crowded && (most < 0 || !special && s.Workers > r.Sections[most].Workers) {
			most = i
		}
	}
	if most == full {
		return []int{full}
	}
	return []int{full, most}
}

// excerpt returns the tables and the charts to show.
func (m *measurement) excerpt() ([]grid, []*charts.Chart, error) {
	all, err := grids(m.files[tableName])
	if err != nil {
		return nil, nil, err
	}
	if len(all) != len(m.run.Sections) {
		return nil, nil, fmt.Errorf("the table has %d sections, the report %d", len(all), len(m.run.Sections))
	}
	var out []grid
	var pictures []*charts.Chart
	for n, i := range shown(m.run) {
		s := m.run.Sections[i]
		var locks []string
		if s.Control != nil {
			locks = append(locks, s.Control.Lock) // borrowed from another section
		}
		for _, c := range s.Cells {
			locks = append(locks, c.Lock)
		}
		g, err := all[i].cut(locks)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, g)
		if n == 0 {
			pictures = pick(m.charts, s)
		}
	}
	if len(out) == 0 {
		return nil, nil, errors.New("the table has no section to show")
	}
	return out, pictures, nil
}

// pick finds the chart of throughput of the section's workload, and that of
// fairness of the section.
func pick(all []*charts.Chart, s *results.Section) []*charts.Chart {
	var out []*charts.Chart
	for _, kind := range []string{"throughput", "fairness"} {
		for _, c := range all {
			if strings.HasPrefix(c.Name, kind+"-") && c.Workload == s.Workload && (c.Workers == 0 || c.Workers == s.Workers) {
				out = append(out, c)
				break
			}
		}
	}
	return out
}
