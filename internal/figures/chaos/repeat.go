package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/figure"
	"lockbench/results"
)

// repeat runs the cells of some locks that theory takes for dangerous again and again, with the same seed: whoever
// is told of a danger must find it again.
func repeat(ctx context.Context, b *bench, s size, targets []figure.Figure) (figure.Report, error) {
	var rep figure.Report
	for _, t := range targets {
		got, err := b.repeat(ctx, s, t)
		if ctx.Err() != nil {
			return rep, ctx.Err()
		}
		if err != nil {
			got = figure.Report{Figures: []figure.Figure{t.Failed(err)}}
		}
		rep.Add(got)
	}
	rep.Remark("repeat: %d of %d repetitions show, at 95 %%, that at least %.0f %% of them give the verdict", s.repeat, s.repeat, 100*least(s.repeat))
	return rep, nil
}

// repeat measures one lock's figure.
func (b *bench) repeat(ctx context.Context, s size, t figure.Figure) (figure.Report, error) {
	name := strings.TrimPrefix(t.Name, repeatPrefix)
	args := []string{"--lock", name, "--rounds", strconv.Itoa(s.rounds), "--seed", b.seedOf(0)}
	p, err := b.plan(ctx, args...)
	if err != nil {
		return figure.Report{}, err
	}
	cells, faults := dangerous(p)
	if len(cells) == 0 {
		return figure.Report{}, errors.New("theory expects no cell to be unsafe")
	}
	var runs []*results.ChaosReport
	for i := range s.repeat {
		b.say("repeat: %s, repetition %d of %d, %d cells", name, i+1, s.repeat, len(cells))
		o, err := b.chaos(ctx, append(args, "--fault", strings.Join(faults, ","))...)
		if err != nil {
			return figure.Report{}, fmt.Errorf("repetition %d: %w", i+1, err)
		}
		runs = append(runs, o.chaos)
	}
	return repeatFigure(runs, cells, t), nil
}

// dangerous are the cells of a plan that are expected to be unsafe, or so without a fence, and their faults. A holder
// that is cut off and careful stops by itself: when, is a race with its own timer.
func dangerous(p plan) (cells []cell, faults []string) {
	for _, c := range p.Cells {
		if c.Skip != "" || c.Expected != results.VerdictUnsafe && c.Expected != results.VerdictFence ||
			c.Fault == "holder-cutoff" && c.Policy != "careless" {
			continue
		}
		cells = append(cells, c.cell)
		if !slices.Contains(faults, c.Fault) {
			faults = append(faults, c.Fault)
		}
	}
	return cells, faults
}

// repeatFigure decides: the share of the cells that had the expected verdict each time, in percent. A run whose
// controls failed has no verdicts.
func repeatFigure(runs []*results.ChaosReport, cells []cell, t figure.Figure) figure.Report {
	var rep figure.Report
	name := strings.TrimPrefix(t.Name, repeatPrefix)
	hits := map[cell]int{}
	last := map[cell]string{} // what else came out, the last time that something did
	for i, r := range runs {
		if err := controls(r); err != nil {
			rep.Remark("repeat: %s, repetition %d: %v", name, i+1, err)
			continue
		}
		seen := map[cell]bool{}
		for _, v := range r.Verdicts {
			c := cellOf(v)
			seen[c] = true
			if v.Judged() && (v.Agrees || v.Known) {
				hits[c]++
			} else {
				last[c] = why(v)
			}
		}
		for _, c := range cells {
			if !seen[c] {
				last[c] = "no verdict"
			}
		}
	}
	always := 0
	for _, c := range cells {
		if hits[c] == len(runs) {
			always++
			continue
		}
		rep.Remark("repeat: %s: as expected in %d of %d; else %s", c, hits[c], len(runs), last[c])
	}
	rep.Remark("repeat: %s: %d of %d cells as expected in %d of %d repetitions", name, always, len(cells), len(runs), len(runs))
	pct := 100 * float64(always) / float64(len(cells))
	rep.Figures = []figure.Figure{t.Measured(pct, pct, pct, fmt.Sprintf("of %d cells,", len(cells)), len(runs))}
	return rep
}
