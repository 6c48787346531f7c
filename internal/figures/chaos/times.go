package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"lockbench/internal/exitcode"
	"lockbench/internal/figure"
)

// timed measures how long a run with the flags takes, and how far the plan's estimate is off.
func timed(args ...string) func(context.Context, *bench, size, []figure.Figure) (figure.Report, error) {
	return func(ctx context.Context, b *bench, s size, targets []figure.Figure) (figure.Report, error) {
		argv := args
		if s.rounds > 0 {
			argv = append([]string{"--rounds", strconv.Itoa(s.rounds)}, args...)
		}
		p, err := b.plan(ctx, argv...)
		if err != nil {
			return figure.Report{}, err
		}
		o, err := b.chaos(ctx, argv...)
		if err != nil {
			return figure.Report{}, err
		}
		rep := timeFigures(o, p, targets)
		if s.rounds > 0 {
			rep.Remark("%s: with %d rounds a cell, which is not the run that the figure is about", targets[0].Name, s.rounds)
		}
		return rep, nil
	}
}

// timeFigures decides. A run that does not end well has no time that is promised, but the estimate was of it, too. One
// in which servers did not come up has none at all.
func timeFigures(o outcome, p plan, targets []figure.Figure) figure.Report {
	var rep figure.Report
	estimate, none := time.Duration(p.EstimateNS), lost(p, o.chaos)
	for _, t := range targets {
		switch {
		case len(none) > 0:
			rep.Figures = append(rep.Figures, t.Failed(fmt.Errorf("after %.0f s %d cells could not be run: %s", o.wall.Seconds(), len(none), few(none))))
		case t.Unit == "ratio":
			rep.Figures = append(rep.Figures, t.Worst([]float64{off(estimate, o.wall)}))
			rep.Notes = append(rep.Notes, figure.Note(t.Name+"-over-measured", "ratio").Worst([]float64{estimate.Seconds() / o.wall.Seconds()}))
		case o.code != exitcode.OK:
			rep.Figures = append(rep.Figures, t.Failed(fmt.Errorf("exit code %d after %.0f s: %s", o.code, o.wall.Seconds(), o.stderr)))
		default:
			rep.Figures = append(rep.Figures, t.Worst([]float64{o.wall.Seconds()}))
		}
	}
	return rep
}

// off is by what factor the two are apart, whichever is longer: >= 1.
func off(a, b time.Duration) float64 {
	return max(a, b).Seconds() / min(a, b).Seconds()
}
