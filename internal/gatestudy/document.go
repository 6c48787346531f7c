package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockbench/results"
	"lockbench/results/gate"
)

// The generated part of the document is between these.
const (
	beginMark = "<!-- gate-study: begin, written by make gate-study -->"
	endMark   = "<!-- gate-study: end -->"
)

// splice puts the text between the marks.
func splice(doc []byte, text string) ([]byte, error) {
	before, rest, ok := bytes.Cut(doc, []byte(beginMark+"\n"))
	_, after, ok2 := bytes.Cut(rest, []byte(endMark+"\n"))
	if !ok || !ok2 {
		return nil, fmt.Errorf("it wants the lines %q and %q, in this order", beginMark, endMark)
	}
	return fmt.Appendf(nil, "%s%s\n\n%s\n\n%s\n%s", before, beginMark, strings.TrimSpace(text), endMark, after), nil
}

// checkDocument finds out before hours of work whether the tables have a place.
func checkDocument(path string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := splice(doc, ""); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// writeDocument replaces the file in one step.
func writeDocument(path, text string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if doc, err = splice(doc, text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".gate-study-*")
	if err != nil {
		return err
	}
	_, err = f.Write(doc)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

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
	for _, name := range partNames() {
		if err := st.failed[name]; err != nil {
			fmt.Fprintf(&b, "- **not measured: %s: %s**\n", name, results.Printable(strings.Join(strings.Fields(err.Error()), " ")))
		}
	}
	return b.String()
}

func looksText(p gate.Plan) string {
	var parts []string
	for _, l := range p.Looks {
		parts = append(parts, fmt.Sprint(l.Pairs))
	}
	return strings.Join(parts, ", ") + " pairs"
}

// verdicts is the table of gates.
func (st *study) verdicts(metric string) string {
	var rows [][]string
	row := func(title, fails string, t *tally) {
		rows = append(rows, []string{title, fails, t.of(gate.Inconclusive).text(),
			fmt.Sprintf("%.0f, %.0f", quantile(t.pairs, 0.5), quantile(t.pairs, 0.9)),
			minutes(quantile(t.seconds, 0.5)) + ", " + minutes(quantile(t.seconds, 0.9)),
			fmt.Sprintf("%.0f", t.blocks)})
	}
	for _, p := range st.parts {
		switch {
		case p.name == partContended:
		case p.slowdown == 0:
			row(p.title, p.whole[metric].alarms().text(), p.whole[metric])
			if t := p.single[metric]; t != nil {
				row(fmt.Sprintf("one such build a side, budget %d", t.budget), t.alarms().text(), t)
			}
		}
	}
	var b strings.Builder
	if len(rows) > 0 {
		b.WriteString("Without a slowdown, whole gates:\n\n")
		b.WriteString(table([]string{"new against old", "false alarms (at most 1 %)", "inconclusive", "pairs: median, p90", "minutes", "disjoint blocks"}, rows))
	}
	rows = nil
	for _, p := range st.parts {
		if p.slowdown == 0 {
			continue
		}
		t := p.whole[metric]
		var pairs []float64
		for _, c := range t.cells {
			pairs = append(pairs, c.pairs...)
		}
		rows = append(rows, []string{p.title, t.cellsOf(gate.Fail).text(), fmt.Sprintf("%.0f %%", 100*p.target), t.cellsOf(gate.Pass).text(),
			t.alarms().text(), fmt.Sprintf("%.0f, %.0f", quantile(pairs, 0.5), quantile(pairs, 0.9)),
			minutes(quantile(t.seconds, 0.5)) + ", " + minutes(quantile(t.seconds, 0.9)), fmt.Sprintf("%.0f", t.blocks)})
	}
	if len(rows) > 0 {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("With every lock slower, lock by lock in each gate:\n\n")
		b.WriteString(table([]string{"planted", "found", "at least", "passed", "gates that fail", "pairs a lock: median, p90", "minutes a gate", "disjoint blocks"}, rows))
	}
	return b.String()
}

// liveTable is the gates that were run.
func (st *study) liveTable() string {
	if len(st.live) == 0 {
		return ""
	}
	var rows [][]string
	wrong := 0
	for _, s := range st.o.sessions() {
		var t tally
		var seconds []float64
		for _, g := range st.live {
			if g.Session == s.name {
				t.add(g.Result, func(gate.Test) float64 { return 0 })
				seconds = append(seconds, g.Seconds)
				if g.wrong(s) {
					wrong++
				}
			}
		}
		if t.gates == 0 {
			continue
		}
		rows = append(rows, []string{s.title, t.alarms().text(), t.of(gate.Inconclusive).text(), t.cellsOf(gate.Fail).text(), t.cellsOf(gate.Pass).text(),
			fmt.Sprintf("%.0f, %.0f", quantile(t.pairs, 0.5), quantile(t.pairs, 1)), minutes(quantile(seconds, 0.5)) + ", " + minutes(quantile(seconds, 1))})
	}
	return fmt.Sprintf("Wrong: %s (failed without a slowdown, or passed with one).\n\n", share{wrong, len(st.live)}.text()) +
		table([]string{"new against old", "failed", "inconclusive", "locks failed", "locks passed", "pairs: median, most", "minutes"}, rows)
}

// wrong reports whether the verdict is false. Inconclusive is not.
func (g *liveGate) wrong(s session) bool {
	if s.slowdown > 0 {
		return g.Result.Verdict == gate.Pass
	}
	return g.Result.Verdict == gate.Fail || g.Result.Verdict == gate.Violation
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
	return "Gates over the same blocks of the same program's recording that fail, at the study's threshold, and where any slowdown would count:\n\n" +
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
