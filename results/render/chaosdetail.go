package render

import (
	"fmt"
	"slices"
	"strconv"

	"lockbench/results"
	"lockbench/results/num"
)

// A figure of a chaos cell.
type chaosFigure struct {
	head string // of a column, at most two lines
	word string // in the explanation, "" = the head says it
	text string
	left bool
	get  func(v *results.ChaosVerdict) string
	// always: the column is there even if no cell has anything in it.
	always bool
	// zero: and if there is nothing but 0 in it, too: a fence that let nothing through says so.
	zero bool
}

// chaosFigures are the columns of the detailed table.
func chaosFigures(names chaosNamer) []chaosFigure {
	type verdict = results.ChaosVerdict
	whole := func(get func(*verdict) int) func(*verdict) string {
		return func(v *verdict) string {
			if v.Verdict == results.VerdictSkipped {
				return num.Absent
			}
			return strconv.Itoa(get(v))
		}
	}
	optional := func(get func(*verdict) *int) func(*verdict) string {
		return func(v *verdict) string {
			if p := get(v); p != nil {
				return strconv.Itoa(*p)
			}
			return num.Absent
		}
	}
	timing := func(get func(*verdict) *results.Timing, of func(*results.Timing) float64) func(*verdict) string {
		return func(v *verdict) string {
			if t := get(v); t != nil {
				return millis(of(t))
			}
			return num.Absent
		}
	}
	overlap := func(get func(*verdict) float64) func(*verdict) string {
		return func(v *verdict) string {
			if ms := get(v); ms > 0 {
				return millis(ms)
			}
			return num.Absent
		}
	}
	p50 := func(t *results.Timing) float64 { return t.P50 }
	longest := func(t *results.Timing) float64 { return t.Max }
	recovery := func(v *verdict) *results.Timing { return v.Recovery }
	return []chaosFigure{
		{head: "lock", left: true, always: true, get: names.lock},
		{head: "fault", left: true, always: true, get: func(v *verdict) string { return v.Fault }},
		{head: "policy", left: true, always: true, get: func(v *verdict) string { return v.Policy }},
		{head: "verdict", left: true, always: true, get: chaosMark},
		{head: "rounds", word: "rounds", text: "those that prove something, by those that were run: the fault was felt, the next one got in, and the dangerous step was made", always: true,
			get: func(v *verdict) string {
				if v.Verdict == results.VerdictSkipped {
					return num.Absent
				}
				return fmt.Sprintf("%d/%d", v.Probative, v.Rounds)
			}},
		{head: "bad", word: "bad", text: "rounds in which two were inside, or a write was lost", always: true, get: whole(func(v *verdict) int { return v.Bad })},
		{head: "overlap\nmax", word: "overlap", text: "longest time that two held it by their own view; running: without the time that one of them was stopped",
			get: overlap(func(v *verdict) float64 { return v.OverlapMaxMS })},
		{head: "running\nmax", get: overlap(func(v *verdict) float64 { return v.OverlapRunningMaxMS })},
		{head: "double\ngrants", word: "double grants", text: "the next one was granted while the lease of the first was valid by its own view: the lock's fault",
			get: whole(func(v *verdict) int { return v.DoubleGrants })},
		{head: "stale\nholders", word: "stale holders", text: "the first one stayed after the end of its lease: the client's fault",
			get: whole(func(v *verdict) int { return v.StaleHolders })},
		{head: "late\nwrites", word: "late writes", text: "accepted from a holder that another one had followed, by a store without a fence and by one with it",
			get: whole(func(v *verdict) int { return v.StaleUnfenced })},
		{head: "late,\nfenced", zero: true, get: optional(func(v *verdict) *int { return v.StaleFenced })},
		{head: "wrongly\nrejected", word: "wrongly rejected", text: "writes of the rightful holder that the fence refused: a counter went backwards", zero: true,
			get: optional(func(v *verdict) *int { return v.CurrentRejected })},
		{head: "lost\nupdates", word: "lost updates", text: "acknowledged by the lock's own service, and not there", get: func(v *verdict) string {
			if v.LostUpdates == nil {
				return num.Absent
			}
			return strconv.FormatInt(*v.LostUpdates, 10)
		}},
		{head: "recovery\np50", word: "recovery", text: "from the fault to the next grant, beside the bound that theory gives", get: timing(recovery, p50)},
		{head: "recovery\nmax", get: timing(recovery, longest)},
		{head: "\nbound", get: func(v *verdict) string {
			switch {
			case v.BoundMS != nil:
				return millis(*v.BoundMS)
			case v.BoundText != "" && len(v.BoundText) <= maxBoundText:
				return v.BoundText // "never"
			}
			return num.Absent
		}},
		{head: "lag\np50", word: "lag", text: "from the end of the lease until its holder knew; below 0 = it gave up first", get: timing(func(v *verdict) *results.Timing { return v.DetectionLag }, p50)},
		{head: "past due\nmax", word: "past due", text: "longest time from the holder's own deadline to the next grant, of leases that ran out", get: timing(func(v *verdict) *results.Timing { return v.PastDeadline }, longest)},
		{head: "gap\nmax", word: "gap", text: "longest time in which nobody could get the lock", get: timing(func(v *verdict) *results.Timing { return v.Gap }, longest)},
		{head: "orphans", word: "orphans", text: "keys, nodes, leases and sessions that were left behind", get: whole(func(v *verdict) int { return v.Orphans })},
		{head: "linear-\nizable", word: "linearizable", text: "whether the history of grants and releases has an order that a single lock explains", get: func(v *verdict) string {
			if v.Linearizable == "" {
				return num.Absent
			}
			return v.Linearizable
		}},
	}
}

// maxBoundText is the longest bound in words that a column takes.
const maxBoundText = 8

// shownFigures are those in which some cell has anything.
func shownFigures(c *results.ChaosReport) []chaosFigure {
	all := chaosFigures(namesOf(c))
	return slices.DeleteFunc(all, func(f chaosFigure) bool {
		return !f.always && !slices.ContainsFunc(c.All(), func(v *results.ChaosVerdict) bool {
			text := f.get(v)
			return text != num.Absent && (f.zero || text != "0")
		})
	})
}

// chaosDetail is a row for each cell that was run, controls first.
func chaosDetail(c *results.ChaosReport) sheet {
	g := sheet{name: "figures"}
	figures := shownFigures(c)
	for _, f := range figures {
		g.cols = append(g.cols, column{head: f.head, left: f.left})
	}
	for _, v := range c.All() {
		if v.Verdict == results.VerdictSkipped {
			continue
		}
		var row []string
		for _, f := range figures {
			row = append(row, f.get(v))
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// chaosDetailEntries explain the columns of chaosDetail.
func chaosDetailEntries(c *results.ChaosReport) []entry {
	var out []entry
	for _, f := range shownFigures(c) {
		if f.word != "" {
			out = append(out, entry{f.word, f.text})
		}
	}
	return out
}
