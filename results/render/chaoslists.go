package render

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/results"
)

// A chaosList is what is to be said below a matrix of single cells.
type chaosList struct {
	title string
	items []chaosItem
}

// A chaosItem is a cell, or what several have in common, with lines about it.
type chaosItem struct {
	head  string
	lines []entry
}

// A chaosNamer names cells; of a lock that was run on several kinds of servers, with these.
type chaosNamer struct {
	columns  map[string]map[results.ChaosColumn]bool // by lock
	networks bool                                    // there are several
}

func namesOf(c *results.ChaosReport) chaosNamer {
	n := chaosNamer{map[string]map[results.ChaosColumn]bool{}, severalNetworks(c.Matrix())}
	for _, v := range c.All() {
		if n.columns[v.Lock] == nil {
			n.columns[v.Lock] = map[results.ChaosColumn]bool{}
		}
		n.columns[v.Lock][v.Column()] = true
	}
	return n
}

func (n chaosNamer) lock(v *results.ChaosVerdict) string {
	if len(n.columns[v.Lock]) < 2 {
		return v.Lock
	}
	text := v.Lock + " on " + v.Topology
	if n.networks {
		text += " " + v.Network
	}
	return text
}

func (n chaosNamer) cell(v *results.ChaosVerdict) string {
	return n.lock(v) + " / " + v.Fault + " / " + v.Policy
}

// chaosAlarms are what must be known before anything else.
func chaosAlarms(c *results.ChaosReport) []string {
	names := namesOf(c)
	var out []string
	for _, v := range c.FailedControls() {
		out = append(out, fmt.Sprintf("CONTROL FAILED: %s: expected %s, seen %s%s: NO VERDICT OF THIS RUN COUNTS",
			names.cell(v), orNothing(v.Expected), v.Verdict, reasonOf(v)))
	}
	for _, v := range c.Verdicts {
		if v.WorseBy() > 0 {
			out = append(out, fmt.Sprintf("WORSE THAN EXPECTED: %s: expected %s, seen %s", names.cell(v), orNothing(v.Expected), badly(v)))
		}
	}
	return out
}

func orNothing(expected string) string {
	if expected == "" {
		return "nothing, so not this"
	}
	return expected
}

// seen is the verdict with the rounds that it rests on.
func seen(v *results.ChaosVerdict) string {
	switch {
	case v.Bad > 0:
		return fmt.Sprintf("%s in %d of %s", v.Verdict, v.Bad, count(v.Rounds, "round"))
	case v.Judged():
		return fmt.Sprintf("%s in %s", v.Verdict, count(v.Probative, "round"))
	}
	return v.Verdict
}

// badly is the verdict with its reason, or the rounds that it rests on.
func badly(v *results.ChaosVerdict) string {
	if v.Reason == "" {
		return seen(v)
	}
	return v.Verdict + reasonOf(v)
}

func reasonOf(v *results.ChaosVerdict) string {
	if v.Reason == "" {
		return ""
	}
	return " (" + cut(v.Reason, maxAlarm) + ")"
}

// chaosLists are the lists below a matrix, in the order of what a reader should look at first.
func chaosLists(c *results.ChaosReport) []chaosList {
	var out []chaosList
	for _, l := range []chaosList{chaosDiffering(c), chaosLate(c), chaosLocal(c), chaosUnknown(c), chaosSkipped(c)} {
		if len(l.items) > 0 {
			l.title = fmt.Sprintf("%s (%d)", l.title, len(l.items))
			out = append(out, l)
		}
	}
	return out
}

func chaosDiffering(c *results.ChaosReport) chaosList {
	names := namesOf(c)
	l := chaosList{title: "Differs from theory"}
	for _, v := range c.Differing() {
		item := chaosItem{head: fmt.Sprintf("%s: expected %s, seen %s", names.cell(v), v.Expected, seen(v))}
		line := func(word, text string) {
			if text != "" {
				item.lines = append(item.lines, entry{word, text})
			}
		}
		line("seen", v.Reason)
		line("theory", v.Theory)
		note := v.Note
		if note == "" {
			note = "not explained yet"
		}
		line("why", note)
		line("file", v.Counterfile)
		l.items = append(l.items, item)
	}
	return l
}

func chaosLate(c *results.ChaosReport) chaosList {
	names := namesOf(c)
	l := chaosList{title: "Recovered later than theory allows, by more than a tenth and 0.1 s"}
	for _, v := range c.Late() {
		text := fmt.Sprintf("%s: longest %s, median %s, bound %s", names.cell(v), millis(v.Recovery.Max), millis(v.Recovery.P50), millis(*v.BoundMS))
		if v.BoundText != "" {
			text += " (" + v.BoundText + ")"
		}
		l.items = append(l.items, chaosItem{head: text})
	}
	return l
}

// chaosLocal says who waits for whom within a process: there is no other figure of it.
func chaosLocal(c *results.ChaosReport) chaosList {
	l := chaosList{title: "Within a process"}
	for _, v := range c.Verdicts {
		if v.Column().Local() && v.Judged() && v.Reason != "" {
			l.items = append(l.items, chaosItem{head: fmt.Sprintf("%s / %s: %s", v.Lock, v.Fault, cut(v.Reason, maxAlarm))})
		}
	}
	return l
}

func chaosUnknown(c *results.ChaosReport) chaosList {
	names := namesOf(c)
	l := chaosList{title: "Unknown"}
	for _, v := range c.With(results.VerdictUnknown) {
		l.items = append(l.items, chaosItem{head: fmt.Sprintf("%s: %s", names.cell(v), cut(v.Reason, maxAlarm))})
	}
	return l
}

// chaosSkipped groups by reason: "one server has no leader: leader-kill (redis, redsync)".
func chaosSkipped(c *results.ChaosReport) chaosList {
	names := namesOf(c)
	type group struct {
		reason string
		faults []string
		locks  map[string][]string
	}
	var groups []*group
	for _, v := range c.With(results.VerdictSkipped) {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.reason == v.Reason })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{reason: v.Reason, locks: map[string][]string{}})
		}
		g := groups[i]
		if g.locks[v.Fault] == nil {
			g.faults = append(g.faults, v.Fault)
		}
		if name := names.lock(v); !slices.Contains(g.locks[v.Fault], name) {
			g.locks[v.Fault] = append(g.locks[v.Fault], name)
		}
	}
	l := chaosList{title: "Skipped, by reason"}
	for _, g := range groups {
		// Faults that the same locks skip stand together.
		var parts []string
		for len(g.faults) > 0 {
			locks := g.locks[g.faults[0]]
			same := func(fault string) bool { return slices.Equal(g.locks[fault], locks) }
			var faults, rest []string
			for _, f := range g.faults {
				if same(f) {
					faults = append(faults, f)
				} else {
					rest = append(rest, f)
				}
			}
			parts = append(parts, strings.Join(faults, ", ")+" ("+strings.Join(locks, ", ")+")")
			g.faults = rest
		}
		l.items = append(l.items, chaosItem{head: cut(g.reason, maxAlarm) + ": " + strings.Join(parts, "; ")})
	}
	return l
}

// A chaosTimeline is what happened in one bad round, in lines of text.
type chaosTimeline struct {
	verdict    *results.ChaosVerdict
	head, text string
}

func chaosTimelines(c *results.ChaosReport) []chaosTimeline {
	names := namesOf(c)
	var out []chaosTimeline
	for _, v := range c.All() {
		if strings.TrimSpace(v.Counterexample) != "" {
			out = append(out, chaosTimeline{v, "A bad round of " + names.cell(v), v.Counterexample})
		}
	}
	return out
}

// chaosPeers are the libraries behind locks that are not the project's own.
func chaosPeers(c *results.ChaosReport) []entry {
	var out []entry
	for _, v := range c.Verdicts {
		e := entry{v.Lock, "the library " + v.Peer}
		if v.Peer != "" && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}
