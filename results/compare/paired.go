package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/pairs"
	"lockbench/results/stat"
)

// Paired compares the halves of a paired session (lockbench ab). The error is
// an *Error.
func Paired(run *results.RunReport, o Options) (*Comparison, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	all := pairs.Of(run)
	if len(run.Run.Programs) == 0 {
		return nil, refuse("two sides: lockbench compare OLD NEW", "run %s is no paired session: it has one side only", run.Run.RunID)
	}
	named := func(c *pairs.Cell) Named { return Named{c.Name, c.Lock, c.Workload, c.Workers} }
	cells, err := filter(o.Filters, all, named)
	if err != nil {
		return nil, err
	}
	first := map[string]int{}
	section := func(c *pairs.Cell) string { return sectionOf(c.Name, c.Lock) }
	for _, c := range all {
		if _, ok := first[section(c)]; !ok {
			first[section(c)] = len(first)
		}
	}
	slices.SortStableFunc(cells, func(x, y *pairs.Cell) int {
		return cmp.Or(cmp.Compare(workloadRank(run, x), workloadRank(run, y)), cmp.Compare(x.Workers, y.Workers),
			strings.Compare(section(x), section(y)), boolOrder(x.Control, y.Control), strings.Compare(x.Name, y.Name))
	})
	c := &Comparison{Paired: true, Alpha: o.Alpha, Metrics: names(o.Metrics), Warnings: slices.Clone(run.Warnings)}
	c.Old, c.New = pairedSide(run, results.SideOld), pairedSide(run, results.SideNew)
	c.Notes = append(programDifferences(run), pairedServers(run)...)
	if sameProgram(run) {
		c.Warnings = append(c.Warnings, "one program is on both sides: a difference that shows is a false one")
	}
	for _, x := range cells {
		c.pairedAlarms(run, x)
		if why := unfit(x); why != "" {
			c.OneSided = append(c.OneSided, OneSided{Cell: x.Name, Reason: why})
			continue
		}
		c.Dropped = append(c.Dropped, Dropped{Cell: x.Name, Kept: len(x.Pairs), Reason: maps.Clone(x.Dropped)})
		for _, m := range o.Metrics {
			if r := pairedRow(x, m, o.Alpha); r != nil {
				c.Rows = append(c.Rows, r)
				c.Programs = append(c.Programs, combinations(run, x, m, o.Alpha)...)
			}
		}
	}
	return c, c.finish()
}

func workloadRank(run *results.RunReport, c *pairs.Cell) int {
	if i := slices.Index(run.Run.Workloads, c.Workload); i >= 0 {
		return i
	}
	return len(run.Run.Workloads)
}

func pairedSide(run *results.RunReport, side string) SideInfo {
	i := SideInfo{Label: side, Files: run.Files, RunIDs: []string{run.Run.RunID}, Host: run.Host.String()}
	for n, p := range run.Run.Programs {
		if p.Side == side {
			i.Programs = append(i.Programs, strings.TrimSpace(programName(run, n)+" "+results.Printable(p.Version)))
		}
	}
	return i
}

// programName is the program's file, with its number where another has the
// same name, or where there is none.
func programName(run *results.RunReport, n int) string {
	if n < 0 || n >= len(run.Run.Programs) {
		return fmt.Sprintf("program %d", n)
	}
	file := results.Printable(run.Run.Programs[n].File)
	same := 0
	for _, p := range run.Run.Programs {
		if results.Printable(p.File) == file {
			same++
		}
	}
	if file == "" || same > 1 {
		return strings.TrimSpace(fmt.Sprintf("%s #%d", file, n+1))
	}
	return file
}

// programDifferences names what differs between the first programs of the
// sides; everything else they share.
func programDifferences(run *results.RunReport) []Difference {
	var of [2]*results.SideProgram
	for i := range run.Run.Programs {
		p := &run.Run.Programs[i]
		at := 0
		if p.Side == results.SideNew {
			at = 1
		}
		if of[at] == nil {
			of[at] = p
		}
	}
	if of[0] == nil || of[1] == nil {
		return nil
	}
	var out []Difference
	add := func(what, a, b string) {
		if a != b {
			out = append(out, Difference{what, known(a), known(b)})
		}
	}
	add("program version", of[0].Version, of[1].Version)
	return out
}

// pairedServers names what differs between the servers of the two sides, and in the
// libraries that their programs link.
func pairedServers(run *results.RunReport) []Difference {
	var of [2][]*results.Sample
	for _, s := range run.Samples {
		at := 0
		if s.Side == results.SideNew {
			at = 1
		}
		of[at] = append(of[at], s)
	}
	return serverDifferences(of[0], of[1])
}

// sameProgram reports whether one file is on both sides.
func sameProgram(run *results.RunReport) bool {
	for _, p := range run.Run.Programs {
		for _, q := range run.Run.Programs {
			if p.SHA256 != "" && p.SHA256 == q.SHA256 && p.Side != q.Side {
				return true
			}
		}
	}
	return false
}

// unfit is why a cell's pairs are no comparison, "" = they are.
func unfit(x *pairs.Cell) string {
	if x.Skipped != "" && x.Measured() == 0 {
		return "skipped: " + x.Skipped
	}
	for _, side := range []string{results.SideOld, results.SideNew} {
		if x.Outcomes[side][results.OutcomeViolation] > 0 {
			return "violation in " + side + ": its speed means nothing"
		}
	}
	for _, p := range x.Pairs {
		if p.Old.Dispatch != p.New.Dispatch || p.Old.Threads != p.New.Threads {
			return fmt.Sprintf("measured otherwise: dispatch %s and %s, threads %s and %s", p.Old.Dispatch, p.New.Dispatch, p.Old.Threads, p.New.Threads)
		}
		if p.Old.Remote != nil && p.New.Remote != nil {
			if what := remoteDiffer(p.Old.Remote.Settings(), p.New.Remote.Settings()); what != "" {
				return "measured otherwise: " + what
			}
		}
	}
	return ""
}

// pairedAlarms counts the outcomes of both sides that must not be overlooked.
func (c *Comparison) pairedAlarms(run *results.RunReport, x *pairs.Cell) {
	for _, side := range []string{results.SideOld, results.SideNew} {
		n := 0
		for _, k := range x.Outcomes[side] {
			n += k
		}
		for _, outcome := range []string{results.OutcomeViolation, results.OutcomeHang, results.OutcomeError} {
			k := x.Outcomes[side][outcome]
			if k == 0 {
				continue
			}
			a := Alarm{Side: side, Cell: x.Name, Outcome: outcome, K: k, N: n}
			for _, s := range run.Samples {
				if s.Cell == x.Name && s.Side == side && s.Outcome == outcome {
					a.Reason = s.Reason
					break
				}
			}
			c.Alarms = append(c.Alarms, a)
		}
	}
}

// pairedRow is nil where no kept pair has the metric, and the cell does not
// lack pairs altogether.
func pairedRow(x *pairs.Cell, m results.Metric, alpha float64) *Row {
	r := &Row{Cell: x.Name, Lock: x.Lock, Workload: x.Workload, Workers: x.Workers, Control: x.Control, Metric: m}
	var old, new []*results.Sample
	for _, p := range x.Pairs {
		old, new = append(old, p.Old), append(new, p.New)
	}
	a, b := values(old, m), values(new, m)
	if len(a) == 0 && len(b) == 0 && len(x.Pairs) > 0 {
		return nil
	}
	r.Old, r.New = valueOf(a), valueOf(b)
	if note := missedNote(old, new); note != "" {
		r.Notes = append(r.Notes, note)
	}
	d := x.LogRatios(m)
	r.Pairs, r.MinP = len(d), minSignedRankP(len(d))
	if len(d) == 0 {
		r.Verdict = TooFew
		if len(x.Pairs) > 0 {
			r.Verdict = Absent
		}
		return r
	}
	r.Ratio = ratio(stat.SignedRank(d, alpha))
	if len(d) > 1 {
		p := stat.SignedRankP(d)
		r.P = &p
	}
	return r
}

// minSignedRankP is the smallest probability that n pairs can give: all on one
// side.
func minSignedRankP(n int) float64 { return min(1, math.Ldexp(2, -n)) }

// combinations are those of the programs, if a side has several. They show how
// far builds of one side are apart, and are not part of the decision.
func combinations(run *results.RunReport, x *pairs.Cell, m results.Metric, alpha float64) []Combination {
	by := map[[2]int][]float64{}
	for _, p := range x.Pairs {
		if d, ok := p.LogRatio(m); ok {
			k := [2]int{p.Old.Program, p.New.Program}
			by[k] = append(by[k], d)
		}
	}
	if len(by) < 2 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(by), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	var out []Combination
	for _, k := range keys {
		out = append(out, Combination{Cell: x.Name, Metric: m.Name, Old: programName(run, k[0]), New: programName(run, k[1]),
			Ratio: ratio(stat.SignedRank(by[k], alpha))})
	}
	return out
}
