package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lockbench/results"
)

// maxChaos is the width of a matrix: a usual terminal, and a page of a repository.
const maxChaos = 100

// A chaosPart is the matrix of as many locks as fit beside each other, with what their servers are.
type chaosPart struct {
	*results.ChaosMatrix
	servers []string // "redis 7.4.2"
	several bool     // kinds of servers: the heads of columns say which
	heads   func(results.ChaosColumn) []string
}

// chaosParts cuts a matrix into parts of at most that width. Locks of the same servers stay together if they can.
func chaosParts(c *results.ChaosReport, width int) []chaosPart {
	m := c.Matrix()
	room := width - rowHeadWidth(m)
	networks := severalNetworks(m)
	heads := func(col results.ChaosColumn) []string { return append(breakName(col.Lock), serversLine(col, networks)) }
	var groups [][]results.ChaosColumn // of the same servers and policies, each narrow enough
	for i, col := range m.Columns {
		last := len(groups) - 1
		fresh := i == 0 || serversOf(col) != serversOf(m.Columns[i-1]) || m.Family(col) != m.Family(m.Columns[i-1])
		if fresh || columnsWidth(m, append(slices.Clone(groups[last]), col), heads) > room {
			groups = append(groups, nil)
			last++
		}
		groups[last] = append(groups[last], col)
	}
	var parts [][]results.ChaosColumn
	for _, g := range groups {
		last := len(parts) - 1
		if last >= 0 && m.Family(g[0]) == m.Family(parts[last][0]) && columnsWidth(m, slices.Concat(parts[last], g), heads) <= room {
			parts[last] = append(parts[last], g...)
		} else {
			parts = append(parts, g)
		}
	}
	var out []chaosPart
	for _, cols := range parts {
		p := chaosPart{ChaosMatrix: m.Part(cols), heads: heads}
		for _, col := range cols {
			if s := serverName(c, col, networks); !slices.Contains(p.servers, s) {
				p.servers = append(p.servers, s)
			}
		}
		p.several = slices.ContainsFunc(cols, func(col results.ChaosColumn) bool { return serversOf(col) != serversOf(cols[0]) })
		out = append(out, p)
	}
	return out
}

// severalNetworks reports whether the ways to the servers differ.
func severalNetworks(m *results.ChaosMatrix) bool {
	seen := map[string]bool{}
	for _, col := range m.Columns {
		if !col.Local() {
			seen[col.Network] = true
		}
	}
	return len(seen) > 1
}

func serversOf(c results.ChaosColumn) results.ChaosColumn {
	c.Lock = ""
	return c
}

// serverName is "redis 7.4.2", in a report of several networks "redis 7.4.2, network bridge", or what in-process locks have.
func serverName(c *results.ChaosReport, col results.ChaosColumn, networks bool) string {
	if col.Local() {
		return "locks within a process"
	}
	name := col.Topology
	for _, v := range c.Verdicts {
		if v.Topology == col.Topology && v.Network == col.Network && v.Version != "" {
			name += " " + v.Version
			break
		}
	}
	if networks && col.Network != "" {
		name += ", network " + col.Network
	}
	return name
}

// gap is the white space between columns.
const gap = 2

func rowHeadWidth(m *results.ChaosMatrix) int {
	fault, policy := len("fault"), len("policy")
	for _, r := range m.Rows {
		fault, policy = max(fault, utf8.RuneCountInString(faultName(r))), max(policy, utf8.RuneCountInString(r.Policy))
	}
	return fault + policy + 2*gap
}

func columnsWidth(m *results.ChaosMatrix, cols []results.ChaosColumn, heads func(results.ChaosColumn) []string) int {
	sum := 0
	for _, col := range cols {
		width := 0
		for _, line := range heads(col) {
			width = max(width, utf8.RuneCountInString(line))
		}
		for _, r := range m.Rows {
			width = max(width, utf8.RuneCountInString(chaosCell(m.At(r, col))))
		}
		sum += width + gap
	}
	return sum - gap
}

// serversLine is "(redis)", "(redis host)" in a report of several networks, "" of an in-process lock.
func serversLine(col results.ChaosColumn, networks bool) string {
	text := col.Topology
	if networks && col.Network != "" {
		text += " " + col.Network
	}
	if col.Local() {
		return ""
	}
	return "(" + text + ")"
}

// maxHead is how long a line of a column's head may be, if its name has dashes to break it at.
const maxHead = 11

// breakName breaks a lock's name into lines: "etcd-concurrency" is "etcd-", "concurrency".
func breakName(name string) []string {
	lines := []string{""}
	for part := range strings.SplitAfterSeq(name, "-") {
		last := &lines[len(lines)-1]
		if *last != "" && utf8.RuneCountInString(*last+part) > maxHead {
			lines = append(lines, part)
		} else {
			*last += part
		}
	}
	return lines
}

func faultName(r results.ChaosRow) string {
	if r.Nth > 1 {
		return fmt.Sprintf("%s (%d)", r.Fault, r.Nth)
	}
	return r.Fault
}

// chaosSheet is a part as a table. head joins the lines of a lock's name and its servers.
func chaosSheet(p chaosPart, head func(lines []string) string) sheet {
	g := sheet{name: strings.Join(p.servers, ", "), cols: []column{{head: "fault", left: true}, {head: "policy", left: true}}}
	for _, col := range p.Columns {
		lines := p.heads(col) // the last are the servers
		if !p.several || col.Local() {
			lines = lines[:len(lines)-1]
		}
		g.cols = append(g.cols, column{head: head(lines), left: true})
	}
	last := ""
	for _, r := range p.Rows {
		name := faultName(r)
		row := []string{name, r.Policy}
		if name == last {
			row[0] = "" // the policy stands below the other one
		}
		last = name
		for _, col := range p.Columns {
			row = append(row, chaosCell(p.At(r, col)))
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// bottomHeads puts the heads of a plain table on its last line.
func bottomHeads(g sheet) sheet {
	most := 0
	for _, c := range g.cols {
		most = max(most, strings.Count(c.head, "\n"))
	}
	for i := range g.cols {
		c := &g.cols[i]
		c.head = strings.Repeat("\n", most-strings.Count(c.head, "\n")) + c.head
	}
	return g
}

// chaosTable writes the chaos of a run for a terminal of 100 columns; with detail, a wider table of all figures.
func chaosTable(b *bytes.Buffer, c *results.ChaosReport, detail bool) error {
	line := func(text string) { fmt.Fprintln(b, hanging(text, "  ")) }
	line("controls: " + chaosControls(c))
	fmt.Fprintf(b, "\n%s\n", hanging(chaosSummary(c), "  "))
	for _, p := range chaosParts(c, maxChaos) {
		fmt.Fprintf(b, "\n%s\n", hanging("on "+strings.Join(p.servers, "; "), "  "))
		g := chaosSheet(p, func(lines []string) string { return strings.Join(lines, "\n") })
		if err := grid(b, bottomHeads(g), plainGrid()); err != nil {
			return err
		}
	}
	if detail {
		fmt.Fprintf(b, "\nFigures\n")
		if err := grid(b, bottomHeads(chaosDetail(c)), plainGrid()); err != nil {
			return err
		}
	}
	chaosWords(b, "Marks", chaosEntries(c))
	if detail {
		chaosWords(b, "Figures", chaosDetailEntries(c))
	}
	chaosWords(b, "Locks", chaosPeers(c))
	for _, l := range chaosLists(c) {
		fmt.Fprintf(b, "\n%s:\n", l.title)
		for _, item := range l.items {
			fmt.Fprintln(b, hanging("  "+item.head, "    "))
			for _, e := range item.lines {
				fmt.Fprintln(b, hanging(fmt.Sprintf("    %-7s %s", e.word, e.text), strings.Repeat(" ", 12)))
			}
		}
	}
	if detail {
		for _, t := range chaosTimelines(c) {
			fmt.Fprintf(b, "\n%s:\n", t.head)
			for line := range strings.SplitSeq(strings.TrimRight(t.text, "\n"), "\n") {
				fmt.Fprintln(b, strings.TrimRight("    "+line, " "))
			}
		}
	}
	if text := chaosBound(c); text != "" {
		fmt.Fprintf(b, "\n%s\n", hanging(text, ""))
	}
	if alarms := chaosAlarms(c); len(alarms) > 0 {
		fmt.Fprintln(b)
		for _, a := range alarms {
			line("!!! " + a)
		}
	}
	return nil
}

// hanging breaks a line that is too long; what follows is set in.
func hanging(text, indent string) string {
	words := strings.SplitAfter(text, " ")
	first := 0 // words of the first line, which has the whole width
	for n := 0; first < len(words); first++ {
		n += utf8.RuneCountInString(words[first])
		if first > 0 && n > maxChaos {
			break
		}
	}
	out := strings.TrimRight(strings.Join(words[:first], ""), " ")
	if first < len(words) {
		out += "\n" + fill(words[first:], maxChaos-len(indent))
	}
	return strings.ReplaceAll(out, "\n", "\n"+indent)
}

func chaosWords(b *bytes.Buffer, head string, entries []entry) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", head)
	for _, e := range entries {
		fmt.Fprintln(b, hanging(fmt.Sprintf("  %-17s %s", e.word, e.text), strings.Repeat(" ", 20)))
	}
}
