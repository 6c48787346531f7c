package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"lockbench/internal/figure"
	"lockbench/results"
)

// agree compares a whole run with theory.
func agree(ctx context.Context, b *bench, s size, targets []figure.Figure) (figure.Report, error) {
	argv := []string{"--lock", "all", "--fault", "all", "--seed", b.seedOf(0)}
	if s.rounds > 0 {
		argv = append(argv, "--rounds", strconv.Itoa(s.rounds))
	}
	p, err := b.plan(ctx, argv...)
	if err != nil {
		return figure.Report{}, err
	}
	if len(b.files) > 0 {
		runs, err := b.read(b.files...)
		if err != nil {
			return figure.Report{}, err
		}
		return agreeFigures(runs, p, targets)
	}
	o, err := b.chaos(ctx, argv...)
	if err != nil {
		return figure.Report{}, err
	}
	rep, err := agreeFigures([]*results.ChaosReport{o.chaos}, p, targets)
	rep.Notes = append(rep.Notes, figure.Note("chaos-agree-time", "s").Worst([]float64{o.wall.Seconds()}))
	return rep, err
}

// agreement is how the cells of runs stand to theory.
type agreement struct {
	run, agreeing, known, unexpected, skipped int // unexpected: theory has no word on it, and it is not unsafe
	differing, unknown                        []*results.ChaosVerdict
}

func (a *agreement) count(v *results.ChaosVerdict) {
	if v.Verdict == results.VerdictSkipped {
		a.skipped++
		return
	}
	a.run++
	switch {
	case !v.Judged():
		a.unknown = append(a.unknown, v)
	case v.Agrees:
		a.agreeing++
	case v.Known:
		a.known++
	case v.WorseBy() != 0:
		a.differing = append(a.differing, v)
	default:
		a.unexpected++
	}
}

// agreeFigures decides. A cell that is in several runs counts in each of them. The figure is of a whole run: each cell
// that the plan does not skip must have been run.
func agreeFigures(runs []*results.ChaosReport, whole plan, targets []figure.Figure) (figure.Report, error) {
	var rep figure.Report
	var a agreement
	for _, r := range runs {
		if err := controls(r); err != nil {
			return rep, fmt.Errorf("run %s: %w", r.Run.RunID, err)
		}
		for _, v := range r.Verdicts {
			a.count(v)
		}
	}
	if a.run == 0 {
		return rep, errors.New("no cell was run")
	}
	wrong := float64(len(a.differing) + len(a.unknown))
	rep.Figures = []figure.Figure{targets[0].Measured(wrong, wrong, wrong, "counted,", a.run)}
	none := lost(whole, runs...)
	if len(none) > 0 {
		rep.Figures[0] = targets[0].Failed(fmt.Errorf("no whole run: %d cells could not be run or have no record: %s", len(none), few(none)))
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"run", a.run}, {"agreeing", a.agreeing}, {"known", a.known}, {"differing", len(a.differing)}, {"unknown", len(a.unknown)}, {"without-theory", a.unexpected}, {"skipped", a.skipped}, {"missing", len(none)}} {
		rep.Notes = append(rep.Notes, figure.Note("chaos-agree-"+n.name, "cells").Worst([]float64{float64(n.n)}))
	}
	for _, v := range a.differing {
		expected := v.Expected
		if expected == "" {
			expected = "nothing"
		}
		rep.Remark("agree: %s, expected %s, is %s", cellOf(v), expected, why(v))
	}
	for _, v := range a.unknown {
		rep.Remark("agree: %s is %s", cellOf(v), why(v))
	}
	return rep, nil
}
