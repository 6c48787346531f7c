package main

import (
	"fmt"
	"strings"

	"lockbench/results/gate"
)

// How the gates of a row were made.
const (
	byBlocks = "moving blocks, which overlap"
	byCoins  = "order within pairs drawn anew"
	byTurns  = "one after the other"
)

// verdicts is the tables of gates over recordings.
func (st *study) verdicts(metric string) string {
	var b strings.Builder
	if rows := st.equalRows(metric); len(rows) > 0 {
		b.WriteString("Without a slowdown, whole gates:\n\n")
		b.WriteString(table([]string{"new against old", "gates", "false alarms (at most 1 %)", "inconclusive", "pairs: median, p90", "minutes"}, rows))
	}
	if rows := st.slowRows(metric); len(rows) > 0 {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("With every lock slower, tests of single cells:\n\n")
		b.WriteString(table([]string{"planted", "gates", "found", "at least", "passed", "inconclusive", "pairs a lock: median, p90", "minutes a gate"}, rows))
	}
	return b.String()
}

func (st *study) equalRows(metric string) (rows [][]string) {
	row := func(title, gates string, t *tally) {
		if t == nil {
			return
		}
		rows = append(rows, []string{title, gates, t.alarms().text(), t.of(gate.Inconclusive).text(), twoOf(t.pairs, "%.0f", 1), minutesOf(t.seconds)})
	}
	for _, p := range st.parts {
		if p.name == partContended || p.slowdown > 0 {
			continue
		}
		row(p.title, byCoins, p.drawn[metric])
		row(p.title, byTurns, p.apart[metric])
		row(p.title, byBlocks, p.moving[metric])
		if t := p.one[metric]; t != nil {
			row(fmt.Sprintf("one such build a side, budget %d", t.budget), fmt.Sprintf("one for each of %d combinations, which share builds", t.gates), t)
		}
	}
	return rows
}

func (st *study) slowRows(metric string) (rows [][]string) {
	for _, p := range st.parts {
		if p.slowdown == 0 {
			continue
		}
		row := func(gates string, t *tally, minutes string) {
			rows = append(rows, []string{p.title, gates, t.cellsOf(gate.Fail).text(), fmt.Sprintf("%.0f %%", 100*p.target), t.cellsOf(gate.Pass).text(),
				t.cellsOf(gate.Inconclusive).text(), twoOf(t.cellPairs(), "%.0f", 1), minutes})
		}
		row(byTurns, p.cells[metric], "")
		row(byBlocks, p.moving[metric], minutesOf(p.moving[metric].seconds))
	}
	return rows
}

// twoOf is the median and the upper decile.
func twoOf(values []float64, format string, unit float64) string {
	return fmt.Sprintf(format+", "+format, quantile(values, 0.5)/unit, quantile(values, 0.9)/unit)
}

func minutesOf(seconds []float64) string { return twoOf(seconds, "%.2f", 60) }

// liveTable is the gates that were run.
func (st *study) liveTable() string {
	if len(st.live) == 0 {
		return ""
	}
	var rows [][]string
	for _, s := range st.o.sessions() {
		t := st.liveTally(s)
		if t.gates == 0 {
			continue
		}
		rows = append(rows, []string{s.title, t.alarms().text(), t.of(gate.Inconclusive).text(), t.cellsOf(gate.Fail).text(), t.cellsOf(gate.Pass).text(),
			t.cellsOf(gate.Inconclusive).text(),
			fmt.Sprintf("%.0f, %.0f", quantile(t.pairs, 0.5), quantile(t.pairs, 1)), minutes(quantile(t.seconds, 0.5)) + ", " + minutes(quantile(t.seconds, 1))})
	}
	alarms, passes := st.liveCounts()
	return fmt.Sprintf("False alarms, gates that fail without a slowdown: %s. False passes, locks that pass with one: %s. Tests of one gate share its rounds.\n\n", alarms.text(), passes.text()) +
		table([]string{"new against old", "gates failed", "inconclusive", "locks failed", "passed", "inconclusive", "pairs: median, most", "minutes"}, rows)
}
