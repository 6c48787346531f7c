package main

import (
	"fmt"
	"strings"
	"time"

	"lockbench/internal/docsplice"
	"lockbench/results"
	"lockbench/results/gate"
)

// marks are the lines between which the document's generated part stands.
var marks = docsplice.Marks{Begin: "<!-- gate-study: begin, written by make gate-study -->", End: "<!-- gate-study: end -->"}

// document is all tables, with what they mean.
func (st *study) document() string {
	var b strings.Builder
	section := func(title, body string) {
		if body != "" {
			fmt.Fprintf(&b, "### %s\n\n%s\n", title, strings.TrimRight(body, "\n")+"\n")
		}
	}
	section("What was measured", st.about())
	section("Verdicts of replayed gates", st.verdicts(metric))
	section("Live gates", st.liveTable())
	section("What layout alone does", st.layoutTable())
	section("Lock by lock", st.lockTable())
	section("Slowdowns, lock by lock", st.slowTable())
	section("Looking whenever one likes", st.looksTable())
	section("The same recordings by "+otherMetric, st.verdicts(otherMetric))
	section("With as many workers as cores", st.contendedTable())
	section("What is short, and what would meet it", st.remedies())
	return strings.TrimRight(b.String(), "\n")
}

func (st *study) about() string {
	var b strings.Builder
	if st.first == nil {
		return "Nothing could be recorded.\n"
	}
	o, run := st.o, st.first.run
	fmt.Fprintf(&b, "- %s; %s, %s, %s\n", st.first.host, run.Go.Version, run.Go.GOOS, run.Go.GOARCH)
	when := run.Started
	if t, err := time.Parse(time.RFC3339, when); err == nil {
		when = t.Format("2 January 2006")
	}
	fmt.Fprintf(&b, "- recorded on %s; %d locks, %s with a section of %s, %s of warm-up, %s of throughput; workers unless said otherwise: %d\n",
		when, len(o.locks), workload, section, o.warm, o.duration, o.workers)
	fmt.Fprintf(&b, "- rule: %s may grow by at most %s %%, on every lock; alpha %g for the whole gate, budget %d pairs; looks at %s\n",
		metric, pct(threshold), gate.DefaultAlpha, o.budget, looksText(gate.NewPlan(gate.DefaultAlpha, len(o.locks), o.budget)))
	samples, flagged := 0, 0
	for _, p := range st.parts {
		samples, flagged = samples+p.rec.samples, flagged+p.rec.flagged
	}
	if samples > 0 {
		fmt.Fprintf(&b, "- in %s %% of %d repetitions other programs or the hypervisor took processor time\n", pct(float64(flagged)/float64(samples)), samples)
	}
	if st.old {
		b.WriteString("- the programs were built from other sources than there are now; the gates that were replayed are those of now\n")
	}
	for _, p := range st.parts {
		if n := len(p.rec.bad); n > 0 {
			fmt.Fprintf(&b, "- **%s: %d of %d repetitions did not end well: %s**\n", p.title, n, p.rec.samples, some(p.rec.bad))
		}
	}
	if n := len(st.lost); n > 0 {
		fmt.Fprintf(&b, "- **%d of %d live gates have no verdict: %s**\n", n, n+len(st.live), some(st.lost))
	}
	for _, name := range partNames() {
		if err := st.failed[name]; err != nil {
			fmt.Fprintf(&b, "- **not measured: %s: %s**\n", name, oneLine(err.Error()))
		}
	}
	return b.String()
}

// some is the first lines of many.
func some(lines []string) string {
	const most = 5
	var out []string
	for _, l := range lines[:min(most, len(lines))] {
		out = append(out, oneLine(l))
	}
	if n := len(lines) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, "; ")
}

func oneLine(s string) string { return results.Printable(strings.Join(strings.Fields(s), " ")) }

func looksText(p gate.Plan) string {
	var parts []string
	for _, l := range p.Looks {
		parts = append(parts, fmt.Sprint(l.Pairs))
	}
	return strings.Join(parts, ", ") + " pairs"
}

// looksTable is the reason for the method.
func (st *study) looksTable() string {
	var rows [][]string
	for _, p := range st.parts {
		for _, l := range p.looks {
			rows = append(rows, []string{l.way, pct(l.allowed) + " %", l.alarms.text()})
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return "Gates over the same program's recording, the order within pairs drawn anew, that fail: at the study's threshold, and where any slowdown would count. All ways see the same pairs.\n\n" +
		table([]string{"way", "allowed", "false alarms"}, rows)
}

func (st *study) byName(name string) *part {
	for i := range st.parts {
		if st.parts[i].name == name {
			return &st.parts[i]
		}
	}
	return nil
}
