package main

import (
	"errors"
	"fmt"

	"lockbench/internal/figure"
	"lockbench/results/gate"
)

// liveFigure counts the live gates with a false verdict. Their share could not
// be bounded by 1 % with some 30 gates: even without any, the bound is 12 %.
const liveFigure = "gate_live_wrong"

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
		percent := func(f figure.Figure, of func(*tally) share, by map[string]*tally) figure.Figure {
			f.Unit, f.Limit = "pct", 100*f.Limit
			t := by[metric]
			if t == nil {
				return f.Failed(st.why(s.name))
			}
			v := of(t)
			lo, hi := v.bounds()
			return f.Measured(100*v.value(), 100*lo, 100*hi, fmt.Sprintf("%.0f %% bounds (Clopper-Pearson)", 100*confidence), v.n)
		}
		if s.slowdown > 0 {
			out = append(out, percent(figure.Figure{Name: foundFigure(*p), Op: figure.AtLeast, Limit: s.target},
				func(t *tally) share { return t.cellsOf(gate.Fail) }, p.whole))
			continue
		}
		out = append(out, percent(figure.Figure{Name: alarmFigure(*p, false), Op: figure.AtMost, Limit: alarmTarget}, (*tally).alarms, p.whole))
		if len(s.old)*len(s.new) > 1 {
			out = append(out, percent(figure.Figure{Name: alarmFigure(*p, true), Op: figure.AtMost, Limit: alarmTarget}, (*tally).alarms, p.single))
		}
	}
	if st.o.wants(partLive) && st.o.live > 0 {
		out = append(out, st.liveCount())
	}
	return out
}

func (st *study) why(part string) error {
	if err := st.failed[part]; err != nil {
		return err
	}
	return errors.New("not measured")
}

func (st *study) liveCount() figure.Figure {
	f := figure.Figure{Name: liveFigure, Unit: "gates", Op: figure.AtMost, Limit: 0}
	if st.failed[partLive] != nil || len(st.live) == 0 {
		return f.Failed(st.why(partLive))
	}
	wrong := 0
	for _, s := range st.o.sessions() {
		for _, g := range st.live {
			if g.Session == s.name && g.wrong(s) {
				wrong++
			}
		}
	}
	return f.Measured(float64(wrong), float64(wrong), float64(wrong), "counted", len(st.live))
}
