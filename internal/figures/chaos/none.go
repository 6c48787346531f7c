package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"lockbench/internal/figure"
	"lockbench/results"
)

// none runs rounds without a fault: whatever is found in them is a false alarm, or a lock that is broken.
func none(ctx context.Context, b *bench, s size, targets []figure.Figure) (figure.Report, error) {
	o, err := b.chaos(ctx, "--lock", "distributed", "--fault", "none", "--rounds", strconv.Itoa(s.rounds), "--seed", b.seedOf(0))
	if err != nil {
		return figure.Report{}, err
	}
	return noneFigures(o.chaos, targets)
}

// noneFigures decides. A cell that came to no verdict proves nothing, so the figure is then short.
func noneFigures(r *results.ChaosReport, targets []figure.Figure) (figure.Report, error) {
	var rep figure.Report
	if err := controls(r); err != nil {
		return rep, err
	}
	locks := map[string]bool{}
	rounds, bad := 0, 0
	var open []cell
	for _, v := range r.Verdicts {
		rounds, bad = rounds+v.Probative, bad+v.Bad
		switch v.Verdict {
		case results.VerdictSafe:
			locks[v.Lock] = true
		case results.VerdictUnknown, results.VerdictSkipped:
			open = append(open, cellOf(v))
			rep.Remark("none: %s is %s", cellOf(v), why(v))
		default:
			rep.Remark("none: %s is %s", cellOf(v), why(v))
		}
	}
	f := targets[0].Measured(float64(bad), float64(bad), float64(bad), "counted,", rounds)
	switch {
	case rounds == 0:
		f = f.Failed(fmt.Errorf("no round counted"))
	case bad == 0 && len(open) > 0:
		f = f.Failed(fmt.Errorf("no bad round in %d, but no verdict of %s", rounds, few(open)))
	}
	rep.Figures = []figure.Figure{f}
	if rounds > 0 {
		rep.Notes = append(rep.Notes, figure.Note("chaos-none-rounds", "rounds").Worst([]float64{float64(rounds)}))
		rep.Remark("none: %d rounds, %d bad; %d locks have safe cells", rounds, bad, len(locks))
		if bad == 0 {
			rep.Remark("none: %d good rounds show, at 95 %%, that at most %.2g %% are bad", rounds, 100*(1-least(rounds)))
		}
	}
	return rep, nil
}

// least is the lower 95 % bound of the share of successes when all of n were: 0.05^(1/n).
func least(n int) float64 { return math.Pow(0.05, 1/float64(n)) }
