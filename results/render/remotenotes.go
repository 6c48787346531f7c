package render

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/results"
)

// A tally is a count of a distributed cell that marks name and notes give.
type tally struct {
	word string // the mark
	lead string // what the note says before the locks
	text func(n *results.RemoteCounts) string
}

// tallies are in the order of the notes. text is "" where there is nothing to say.
var tallies = []tally{
	{results.FlagTimeouts, "no lock in time", func(n *results.RemoteCounts) string {
		if n.NoLock() == 0 {
			return ""
		}
		text := fmt.Sprintf("%d of %d", n.NoLock(), n.Ops+n.NoLock())
		switch {
		case n.Timeouts == 0:
			text += ", all given up by the lock itself"
		case n.GaveUp > 0:
			text += fmt.Sprintf(", %d of them given up by the lock itself", n.GaveUp)
		}
		return text
	}},
	{results.FlagFallback, "sections run without the lock", plainCount(func(n *results.RemoteCounts) int64 { return n.Fallbacks })},
	{results.FlagLost, "leases lost before their release", plainCount(func(n *results.RemoteCounts) int64 { return n.LostLeases })},
	{results.FlagStale, "holders still inside after their lease when the next one came", plainCount(func(n *results.RemoteCounts) int64 { return n.StaleHolders })},
	{results.FlagUnknown, "requests whose outcome nobody knows", plainCount(func(n *results.RemoteCounts) int64 { return n.Unknown })},
	{results.FlagErrors, "operations that failed", plainCount(func(n *results.RemoteCounts) int64 { return n.Errors })},
	{results.FlagDeadlock, "deadlocks ended by the acquire time-out", plainCount(func(n *results.RemoteCounts) int64 { return n.DeadlockTimeout })},
	{results.FlagDeadlock, "deadlocks ended by a lease that ran out", plainCount(func(n *results.RemoteCounts) int64 { return n.DeadlockTTL })},
	{results.FlagDeadlock, "deadlocks found by the server", plainCount(func(n *results.RemoteCounts) int64 { return n.DeadlockServer })},
}

func plainCount(of func(*results.RemoteCounts) int64) func(*results.RemoteCounts) string {
	return func(n *results.RemoteCounts) string {
		if v := of(n); v > 0 {
			return fmt.Sprint(v)
		}
		return ""
	}
}

// countNotes are the counts behind the marks of a section, all repetitions together, a
// line a kind: "deadlocks found by the server: pg-row 12, pg-advisory 9".
func countNotes(s *results.Section) []string {
	var out []string
	for _, t := range tallies {
		var parts []string
		for _, c := range s.Cells {
			if c.RemoteCounts == nil || c.Outcome == results.OutcomeViolation {
				continue
			}
			if text := t.text(c.RemoteCounts); text != "" {
				parts = append(parts, c.RowName()+" "+text)
			}
		}
		if len(parts) > 0 {
			sep := ", "
			if t.word == results.FlagTimeouts {
				sep = "; "
			}
			out = append(out, t.lead+": "+strings.Join(parts, sep))
		}
	}
	return out
}

// countWords puts the counts of a cell to its marks, for where there is room:
// "deadlock (deadlocks found by the server: 12)".
func countWords(c *results.CellSummary, mark string) string {
	word, _, _ := strings.Cut(mark, " ")
	if c.RemoteCounts == nil {
		return mark
	}
	var parts []string
	for _, t := range tallies {
		if t.word != word {
			continue
		}
		if text := t.text(c.RemoteCounts); text != "" {
			parts = append(parts, t.lead+": "+text)
		}
	}
	if len(parts) == 0 {
		return mark
	}
	return mark + " (" + strings.Join(parts, "; ") + ")"
}

// lockNotes are what a reader must know of single locks of a report: the library that
// one comes from, and remarks. Locks of which the same is to be said share an entry.
func lockNotes(rep *results.Report) []entry {
	var texts []string
	locks := map[string][]string{}
	for _, r := range rep.Runs {
		for _, c := range r.Cells() {
			if c.Remote == nil || c.Control {
				continue
			}
			text := c.Remote.Note
			if c.Remote.Peer != "" {
				text = strings.TrimSuffix("the library "+c.Remote.Peer+": "+text, ": ")
			}
			if text == "" {
				continue
			}
			if locks[text] == nil {
				texts = append(texts, text)
			}
			if !slices.Contains(locks[text], c.Lock) {
				locks[text] = append(locks[text], c.Lock)
			}
		}
	}
	var out []entry
	for _, text := range texts {
		slices.Sort(locks[text])
		out = append(out, entry{strings.Join(locks[text], ", "), cut(text, maxAlarm)})
	}
	slices.SortStableFunc(out, func(a, b entry) int { return strings.Compare(a.word, b.word) })
	return out
}
