package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/results"
	"lockbench/results/num"
)

// remoteColumns are those of a section of distributed locks. An operation takes some
// 100 microseconds and ends at a server: what counts is how often it goes there and back,
// how long each part takes, and whether it got the lock at all.
func remoteColumns(s *results.Section) []column {
	type metrics = results.Metrics
	spread := spreadColumns()
	extra := extraColumns(s, remoteExtras)
	cols := append(speedColumns(), spread[0], spread[2]) // n and CV; room for the MAD is better used
	if len(extra) == 0 {                                 // else there is no room for what is the inverse of the throughput
		cols = append(cols, est("time\n/op", func(m *metrics) *results.Estimate { return m.WallNS }, medianSpan))
	}
	cols = append(cols,
		est("acquire\np50", func(m *metrics) *results.Estimate { return m.AcquireP50 }, medianSpan),
		est("acquire\np99", func(m *metrics) *results.Estimate { return m.AcquireP99 }, medianSpan),
		column{head: "acquire\nmax", cell: func(c *results.CellSummary) string { return optionalSpan(c.Metrics.AcquireMax) },
			of: func(m *metrics) *float64 { return m.AcquireMax }},
		est("release\np50", func(m *metrics) *results.Estimate { return m.ReleaseP50 }, medianSpan),
		est("handoff\np50", func(m *metrics) *results.Estimate { return m.HandoffP50 }, medianSpan),
		column{head: "\ntrips", cell: func(c *results.CellSummary) string { return trips(&c.Metrics) },
			of: func(m *metrics) *float64 { return medianOf(m.RoundTrips) }},
		est("com-\nmands", func(m *metrics) *results.Estimate { return m.Commands }, medianWhole),
		higher(est("\njain", func(m *metrics) *results.Estimate { return m.Jain }, index)),
	)
	cols = append(cols, extra...)
	cols = append(cols,
		est("server\ncpu/op", func(m *metrics) *results.Estimate { return m.ServerCPU }, medianSpan),
		est("cpu\n/op", func(m *metrics) *results.Estimate { return m.CPUNS }, medianSpan),
	)
	return append(append(cols, extraColumns(s, extras)...), marksColumn(s))
}

const headTimeouts = "time-\nouts"

// remoteExtras are shown where they say something. Deadlocks are a figure of transfers
// alone, where none is a result, too.
var remoteExtras = []extra{
	{headTimeouts, func(m *results.Metrics) *results.Estimate { return m.Timeouts }, false, percent},
	{"dead-\nlocks", func(m *results.Metrics) *results.Estimate { return m.Deadlocks }, true, medianWhole},
	{"lost\nleases", func(m *results.Metrics) *results.Estimate { return m.LostLeases }, false, medianWhole},
}

// trips is the round trips of an acquisition and, behind a stroke, of a handoff.
func trips(m *results.Metrics) string {
	if m.RoundTrips == nil && (m.HandoffTrips == nil || m.HandoffTrips.Median == 0) {
		return num.Absent // a control goes nowhere
	}
	return medianWhole(m.RoundTrips) + "/" + medianWhole(m.HandoffTrips)
}

// written reports whether a row is judged by what was written.
func written(c *results.CellSummary) bool {
	n := c.RemoteCounts
	return n != nil && n.Acknowledged+n.UnknownWrite > 0 || c.Remote != nil && (c.Remote.Kind == "guarded" || c.Remote.Kind == "optimistic")
}

// maxServerFact is where a fact of a server is cut.
const maxServerFact = 80

// A server is one topology that a section ran on.
type server struct{ name, text string }

// servers says on what a section ran, by topology.
func servers(s *results.Section) []server {
	var out []server
	for _, c := range s.Cells {
		r := c.Remote
		if r == nil || c.Control {
			continue
		}
		x := server{name: r.Topology}
		parts := []string{strings.TrimSpace(r.Service + " " + r.ServerVersion)}
		for _, f := range []struct{ lead, text string }{{"persistence: ", r.Persistence}, {"network: ", r.Network}, {"image ", r.Image}} {
			if f.text != "" {
				parts = append(parts, f.lead+cut(f.text, maxServerFact))
			}
		}
		if x.text = strings.Join(parts, "; "); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b server) int { return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.text, b.text)) })
	return out
}

// options says how the locks of a section were asked for, once for all that were
// asked alike.
func options(s *results.Section) []string {
	var out []string
	for _, c := range s.Cells {
		if c.Remote == nil {
			continue
		}
		if text := optionText(c.Remote); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

func optionText(r *results.RemoteSettings) string {
	span := func(ns int64) string { return time.Duration(ns).String() }
	yes := func(is bool, text string) string {
		if is {
			return text
		}
		return "not " + text
	}
	parts := []string{
		"ttl " + span(r.TTLNS) + ", " + yes(r.Renew, "renewed"), yes(r.Fence, "fenced"),
		fmt.Sprintf("back-off of those that poll %s to %s, jitter %s", span(r.WaitMinNS), span(r.WaitMaxNS), num.Whole(r.WaitJitter)),
	}
	after := map[string]string{"fail": "then the operation fails", "retry": "then it is tried again", "fallback": "then the section runs without the lock"}[r.OnTimeout]
	if after == "" {
		after = "then " + r.OnTimeout
	}
	parts = append(parts, "acquire time-out "+span(r.AcquireTimeoutNS)+", "+after)
	if r.Keys != "" {
		parts = append(parts, "keys: "+r.Keys)
	}
	if r.Order != "" {
		parts = append(parts, "two keys an operation, "+r.Order)
	}
	if r.Depth > 1 {
		parts = append(parts, "taken "+strconv.Itoa(r.Depth)+" times in itself")
	}
	return strings.Join(parts, "; ")
}

// serverLines are the lines between title and table: what it ran on, and with which
// options. What the section before said is not said again.
func serverLines(s *results.Section, before []string) (lines, said []string) {
	for _, x := range servers(s) {
		said = append(said, "on "+x.name+": "+x.text)
	}
	for _, o := range options(s) {
		said = append(said, "options: "+o)
	}
	if len(said) > 0 && slices.Equal(said, before) {
		return []string{"servers and options as above"}, said
	}
	return said, said
}

// serverFacts are the servers and options of all sections of a run, each once.
func serverFacts(r *results.RunReport) []entry {
	var out []entry
	add := func(word, text string) {
		if e := (entry{word, text}); !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	for _, s := range r.Sections {
		for _, x := range servers(s) {
			add("on "+x.name, x.text)
		}
	}
	for _, s := range r.Sections {
		for _, o := range options(s) {
			add("options", o)
		}
	}
	return out
}
