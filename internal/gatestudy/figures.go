package main

import (
	"errors"
	"fmt"

	"lockbench/internal/figure"
	"lockbench/results/gate"
)

// The figures of live gates are counts of false verdicts: gates that fail without
// a slowdown, and cells that pass with one. Their shares could not be bounded
// by 1 % with some 30 gates: even of 15 without any, the bound is 22 %.
const (
	liveAlarmsFigure = "gate_live_false_alarms"
	livePassesFigure = "gate_live_false_passes"
)

func alarmFigure(p part, single bool) string {
	if single {
		return "gate_false_alarms_one_layout"
	}
	return "gate_false_alarms_" + p.name
}

func foundFigure(p part) string { return "gate_found_" + p.name }

// figures are those with a target, as far as they were asked for.
func (st *study) figures() []figure.Figure {
	var out []figure.Figure
	for _, s := range st.o.wanted() {
		if s.name == partContended {
			continue
		}
		p := st.byName(s.name)
		if p == nil {
			p = &part{session: s}
		}
		percent := func(f figure.Figure, of func(*tally) share, by map[string]*tally, trials string) figure.Figure {
			f.Unit, f.Limit = "pct", 100*f.Limit
			t := by[metric]
			if t == nil {
				return f.Failed(st.why(s.name))
			}
			v := of(t)
			lo, hi := v.bounds()
			return f.Measured(100*v.value(), 100*lo, 100*hi, fmt.Sprintf("%.0f %% bounds (Clopper-Pearson) over %s,", 100*confidence, trials), v.n)
		}
		if s.slowdown > 0 {
			out = append(out, percent(figure.Figure{Name: foundFigure(*p), Op: figure.AtLeast, Limit: s.target},
				func(t *tally) share { return t.cellsOf(gate.Fail) }, p.cells, "tests of single cells, one after the other"))
			continue
		}
		alarms := func(single bool) figure.Figure {
			return figure.Figure{Name: alarmFigure(*p, single), Op: figure.AtMost, Limit: alarmTarget}
		}
		if len(s.old)*len(s.new) > 1 {
			out = append(out, percent(alarms(false), (*tally).alarms, p.apart, "gates one after the other"),
				percent(alarms(true), (*tally).alarms, p.one, "gates that share builds"))
			continue
		}
		out = append(out, percent(alarms(false), (*tally).alarms, p.drawn, "gates with the order within pairs drawn anew"))
	}
	if st.o.wants(partLive) && st.o.live > 0 {
		alarms, passes := st.liveCounts()
		out = append(out, st.liveFigure(liveAlarmsFigure, "gates", alarms), st.liveFigure(livePassesFigure, "cells", passes))
	}
	return out
}

func (st *study) why(part string) error {
	if err := st.failed[part]; err != nil {
		return err
	}
	return errors.New("not measured")
}

// liveCounts are the gates without a slowdown that failed, and the cells with
// one that passed.
func (st *study) liveCounts() (alarms, passes share) {
	for _, s := range st.o.sessions() {
		t := st.liveTally(s)
		if s.slowdown == 0 {
			alarms.k, alarms.n = alarms.k+t.alarms().k, alarms.n+t.gates
			continue
		}
		p := t.cellsOf(gate.Pass)
		passes.k, passes.n = passes.k+p.k, passes.n+p.n
	}
	return alarms, passes
}

// liveTally is what the live gates of a session came to.
func (st *study) liveTally(s session) *tally {
	t := &tally{}
	for _, g := range st.live {
		if g.Session == s.name {
			t.add(g.Result, func(gate.Test) float64 { return 0 })
			t.seconds[len(t.seconds)-1] = g.Seconds
		}
	}
	return t
}

func (st *study) liveFigure(name, unit string, wrong share) figure.Figure {
	f := figure.Figure{Name: name, Unit: unit, Op: figure.AtMost, Limit: 0}
	if st.failed[partLive] != nil || wrong.n == 0 {
		return f.Failed(st.why(partLive))
	}
	v := float64(wrong.k)
	return f.Measured(v, v, v, "counted", wrong.n)
}
