package render

import (
	"fmt"
	"slices"

	"lockbench/results"
)

// phasesTitle heads the table of a load that changes.
const phasesTitle = "throughput by phase"

// maxPhases is how many phases stand side by side.
const maxPhases = 10

// phaseGrids are the throughputs of each phase, lock by lock; none for a load
// that does not change. Many phases take several tables.
func phaseGrids(s *results.Section) []sheet {
	var rows []*results.CellSummary
	for _, c := range s.Cells {
		if c.Ranked() && len(c.Phases) > 0 {
			rows = append(rows, c)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	n := len(rows[0].Phases)
	rows = slices.DeleteFunc(rows, func(c *results.CellSummary) bool { return len(c.Phases) != n })
	var out []sheet
	for from := 0; from < n; from += maxPhases {
		g := sheet{name: s.Workload, cols: []column{{head: "lock", left: true, cell: (*results.CellSummary).RowName}}}
		for k := from; k < min(n, from+maxPhases); k++ {
			head := fmt.Sprintf("phase %d\n%s", k+1, count(rows[0].Phases[k].Workers, "worker"))
			g.cols = append(g.cols, column{head: head, cell: func(c *results.CellSummary) string { return rate(c.Phases[k].Throughput) }})
		}
		for _, c := range rows {
			g.rows = append(g.rows, row(g.cols, c))
		}
		out = append(out, g)
	}
	return out
}
