package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"lockbench/internal/figure"
	"lockbench/results"
)

// recoveryCell is of the harness's own lock server. It tells the moment of expiry to waiters at once, and the moment is
// known: the holder's deadline and the request's way to the server. What is later is the measurement's error.
var recoveryCell = cell{"control-ttl", "loopback", "holder-kill", "careful"}

// leastRecovery is of how many rounds a run's median and 99th percentile are.
const leastRecovery = 100

// recovery measures how exactly a recovery is measured.
func recovery(ctx context.Context, b *bench, s size, targets []figure.Figure) (figure.Report, error) {
	var runs []*results.ChaosReport
	for i := range s.repeat {
		b.say("recovery: run %d of %d, %d rounds", i+1, s.repeat, s.rounds)
		o, err := b.chaos(ctx, "--lock", recoveryCell.Lock, "--fault", recoveryCell.Fault, "--policy", recoveryCell.Policy,
			"--rounds", strconv.Itoa(s.rounds), "--seed", b.seedOf(i))
		if err != nil {
			return figure.Report{}, fmt.Errorf("run %d: %w", i+1, err)
		}
		runs = append(runs, o.chaos)
	}
	return recoveryFigures(runs, targets)
}

// recoveryFigures decides: the median of the runs' medians, which have an interval.
func recoveryFigures(runs []*results.ChaosReport, targets []figure.Figure) (figure.Report, error) {
	var rep figure.Report
	var medians, high []float64
	rounds := 0
	for i, r := range runs {
		t, err := pastDeadline(r)
		if err != nil {
			return rep, fmt.Errorf("run %d: %w", i+1, err)
		}
		rounds += t.Count
		// A grant before the deadline is as wrong as one after it.
		medians, high = append(medians, math.Abs(t.P50)), append(high, *t.P99)
	}
	for _, t := range targets {
		rep.Figures = append(rep.Figures, t.Median(medians))
	}
	rep.Notes = append(rep.Notes, figure.Note("chaos-recovery-error-p99", "ms").Worst(high))
	rep.Remark("recovery: %d rounds in %d runs, whose medians are %.3g ms", rounds, len(runs), medians)
	return rep, nil
}

// pastDeadline is the cell's distribution, of enough rounds.
func pastDeadline(r *results.ChaosReport) (*results.Timing, error) {
	if err := controls(r); err != nil {
		return nil, err
	}
	for _, v := range r.Verdicts {
		switch t := v.PastDeadline; {
		case cellOf(v) != recoveryCell:
			continue
		case v.Verdict != results.VerdictSafe:
			return nil, fmt.Errorf("%s is %s", recoveryCell, why(v))
		case t == nil || t.Count < leastRecovery || t.P99 == nil:
			n := 0
			if t != nil {
				n = t.Count
			}
			return nil, fmt.Errorf("%d rounds have a grant after the deadline, %d are wanted", n, leastRecovery)
		default:
			return t, nil
		}
	}
	return nil, fmt.Errorf("there is no verdict of %s", recoveryCell)
}
