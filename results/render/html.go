package render

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/charts"
	"lockbench/results/page"
)

// HTML writes one file with tables that sort and filter, and charts; see package
// page. Latencies by percentile need a Report built with results.KeepHistograms.
func HTML(w io.Writer, rep *results.Report) error {
	p := &page.Page{Title: "lockbench report", Warnings: rep.Warnings}
	for i, r := range rep.Runs {
		run, err := htmlRun(r)
		if err != nil {
			return err
		}
		if r.Chaos != nil {
			run.Chaos = htmlChaos(r.Chaos, i)
			run.Alarms = append(run.Alarms, chaosAlarms(r.Chaos)...)
		}
		p.Runs = append(p.Runs, run)
	}
	if len(rep.Runs) == 0 {
		p.Subtitle = "There are no runs in it."
	}
	if hasCells(rep) {
		p.Columns, p.Marks, p.Locks = entries(glossary(rep)), entries(legend(rep)), entries(lockNotes(rep))
	}
	return p.Write(w, charts.CSS("svg.chart"))
}

func entries(in []entry) []page.Entry {
	var out []page.Entry
	for _, e := range in {
		out = append(out, page.Entry{Word: e.word, Text: e.text})
	}
	return out
}

func htmlRun(r *results.RunReport) (page.Run, error) {
	run := page.Run{Name: runName(r), Warnings: r.Warnings, Doubts: r.Run.Doubts}
	fact := func(name, text string) {
		if text != "" {
			run.Facts = append(run.Facts, page.Fact{Name: name, Text: text})
		}
	}
	fact("host", r.Host.String())
	fact("started", r.Run.Started)
	fact("labels", labelsOf(r))
	for _, s := range r.Sections {
		for _, a := range alarms(s) {
			run.Alarms = append(run.Alarms, sectionName(s)+": "+a)
		}
		for _, g := range phaseGrids(s) {
			run.Phases = append(run.Phases, htmlPhases(s, g))
		}
	}
	if len(r.Sections) == 0 && r.Chaos != nil {
		return run, nil
	}
	if len(r.Sections) == 0 {
		run.NoCharts = "There is nothing to draw."
		return run, nil
	}
	fact("how", closing(r))
	for _, f := range serverFacts(r) {
		fact(f.word, f.text)
	}
	run.Table = htmlTable(r)
	all, err := charts.Of(r)
	if err != nil {
		return run, err
	}
	if len(all) == 0 {
		run.NoCharts = "There is nothing to draw: no cell has figures."
	}
	for _, c := range all {
		last := len(run.Groups) - 1
		if last < 0 || run.Groups[last].Title != c.Workload {
			run.Groups, last = append(run.Groups, page.Group{Title: c.Workload}), last+1
		}
		run.Groups[last].Charts = append(run.Groups[last].Charts, page.Chart{
			Title: c.Title, Caption: c.Caption, Workload: c.Workload, Workers: c.Workers, Wide: c.Wide,
			SVG: template.HTML(c.Inline()), // package charts escapes what it draws
		})
	}
	return run, nil
}

// sectionName is a section in a few words, without what its rows say.
func sectionName(s *results.Section) string {
	return strings.Join(append([]string{s.Workload, count(s.Workers, "worker")}, s.Setting()...), ", ")
}

func htmlPhases(s *results.Section, g sheet) page.Phases {
	p := page.Phases{Title: phasesTitle + ": " + sectionName(s), Rows: g.rows}
	for _, c := range g.cols {
		p.Heads = append(p.Heads, strings.ReplaceAll(c.head, "\n", ": "))
	}
	return p
}

// htmlTable is all cells of a run in one table, so that they sort together. The
// columns are those that any section has.
func htmlTable(r *results.RunReport) *page.Table {
	cols := htmlColumns(r)
	settings := slices.ContainsFunc(r.Sections, func(s *results.Section) bool { return len(s.Setting()) > 0 })
	t := &page.Table{Columns: []page.Column{
		{Head: "lock", Text: true}, {Head: "workload", Text: true, Where: true}, {Head: "workers", Where: true}, {Head: "cores", Where: true},
	}}
	if settings {
		t.Columns = append(t.Columns, page.Column{Head: "setting", Text: true, Where: true})
	}
	for _, c := range cols {
		t.Columns = append(t.Columns, page.Column{Head: oneLine(c.head), HighFirst: c.high})
	}
	for _, s := range r.Sections {
		if !slices.Contains(t.Workloads, s.Workload) {
			t.Workloads = append(t.Workloads, s.Workload)
		}
		if !slices.Contains(t.Workers, s.Workers) {
			t.Workers = append(t.Workers, s.Workers)
		}
		for i, c := range s.Cells {
			row := htmlRow(s, c, cols, settings)
			row.First = i == 0
			t.Rows = append(t.Rows, row)
		}
	}
	slices.Sort(t.Workers)
	return t
}

// htmlColumns are the columns of figures, fairness next to throughput.
func htmlColumns(r *results.RunReport) []column {
	var all []column
	for _, s := range r.Sections {
		for _, c := range columns(s) {
			if c.of != nil && !slices.ContainsFunc(all, func(o column) bool { return o.head == c.head }) {
				all = append(all, c)
			}
		}
	}
	// Fairness stands behind the interval of the speed that it qualifies.
	fairness := []string{"\njain", "max/\nmin"}
	var out, rest []column
	for i, c := range all {
		if i < 2 || slices.Contains(fairness, c.head) {
			out = append(out, c)
		} else {
			rest = append(rest, c)
		}
	}
	return append(out, rest...)
}

func htmlRow(s *results.Section, c *results.CellSummary, cols []column, settings bool) page.Row {
	number := func(n int) page.Cell {
		v := float64(n)
		return page.Cell{Text: fmt.Sprint(n), Number: &v}
	}
	row := page.Row{Lock: c.RowName(), Workload: c.Workload, Workers: c.Workers}
	row.Cells = []page.Cell{{Text: c.RowName()}, {Text: c.Workload}, number(c.Workers), number(c.Cores)}
	if settings {
		row.Cells = append(row.Cells, page.Cell{Text: strings.Join(s.Setting(), ", ")})
	}
	shown := withoutWrong(c)
	for _, col := range cols {
		row.Cells = append(row.Cells, page.Cell{Text: col.cell(shown), Number: col.of(&shown.Metrics)})
	}
	for i, m := range marksOf(s, c, nil) {
		row.Marks = append(row.Marks, page.Mark{Text: countWords(c, m), Loud: i == 0 && failed(c)})
	}
	switch {
	case failed(c):
		row.Kind = "failed"
	case c.Control:
		row.Kind = "control"
	case c.Outcome == results.OutcomeSkipped && c.OKReps == 0:
		row.Kind = "skipped"
	}
	return row
}

// failed reports whether a repetition was a violation, a hang or an error.
func failed(c *results.CellSummary) bool {
	return c.Outcome != results.OutcomeOK && c.Outcome != results.OutcomeSkipped
}
