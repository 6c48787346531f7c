package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/engine"
	"lockbench/internal/exitcode"
	"lockbench/results/gate"
	"lockbench/results/pairs"
)

// gateBudget is how many pairs a cell a gate measures at most, by default:
// four looks.
const gateBudget = "128"

// A budget is how much a gate may measure: pairs a cell, or a time.
type budget struct {
	pairs int
	time  time.Duration
}

func parseBudget(text string) (budget, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > gate.MaxBudget {
			return budget{}, usageErr(fmt.Errorf("--budget: %d pairs: want 1 to %d", n, gate.MaxBudget), hintBudget)
		}
		return budget{pairs: n}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return budget{}, usageErr(fmt.Errorf("--budget: %q: want a number of pairs or a time", text), hintBudget)
	}
	return budget{time: d}, nil
}

const hintBudget = "pairs a cell such as 128, or a time such as 20m"

// inPairs is the budget as a number of pairs a cell. A time is converted before
// anything is measured, so that the looks are planned without a view of the
// figures.
func (b budget) inPairs(p *engine.Plan) (int, error) {
	if b.time == 0 {
		return b.pairs, nil
	}
	d, ok := p.EstimateRound()
	if !ok {
		return 0, usageErr(errors.New("--budget: with --ops nobody knows how long a pair takes"), "give the budget in pairs")
	}
	n := int(b.time / (2 * d))
	if n < 1 {
		return 0, usageErr(fmt.Errorf("--budget: %v is less than one pair of all cells, %v", b.time, (2*d).Round(time.Millisecond)), "measure fewer cells, or shorter")
	}
	return min(n, gate.MaxBudget), nil
}

// overtime is how much longer than a budget of time a gate may take: the
// estimate that it was converted by knows nothing of a slow machine.
const overtime = 1.25

// gateLive measures pairs until every rule is decided or the budget is used up.
// The verdict is that of the records: gate on the file of --out says the same.
// Interrupted before the first repetition, there is none.
func (a *app) gateLive(ctx context.Context, f *pairedFlags, o runOptions, out *gateOutput, b budget) (res *gate.Result, err error) {
	var g *gate.Gate
	rules := out.rules
	p, close, err := a.openPairing(ctx, f, o, out.names(), func(plan *engine.Plan) (err error) {
		if plan.Spec.Reps, err = b.inPairs(plan); err != nil {
			return err
		}
		g, err = newGate(rules, plan)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, close()) }()
	plan := p.session.Plan
	var halves pairs.Builder
	p.sink.also = halves.Add
	if err := p.session.Begin(plan.Spec.Reps, &p.sum); err != nil {
		return nil, &runtimeError{err}
	}
	deadline := time.Now().Add(time.Duration(float64(b.time) * overtime))
	for k := 0; k < plan.Spec.Reps && ctx.Err() == nil; k++ {
		active := undecided(plan.Cells, g)
		if len(active) == 0 || b.time > 0 && time.Now().After(deadline) {
			break
		}
		if err := p.session.Round(ctx, k, active, &p.sum); err != nil {
			return nil, &runtimeError{err}
		}
		for _, c := range active {
			g.Update(halves.Cell(c.Name))
		}
	}
	if err := p.session.End(ctx, &p.sum); err != nil {
		return nil, &runtimeError{err}
	}
	p.show.finish()
	if p.sum.Interrupted {
		a.code = exitcode.Interrupted
		fmt.Fprintf(a.env.Stderr, "lockbench: interrupted after %d of at most %d repetitions\n", p.sum.Done, p.sum.Total)
		if p.sum.Done == 0 {
			return nil, nil
		}
	}
	return gate.Replay(rules, p.sink.builder.Report())
}

// newGate refuses what could never be decided.
func newGate(rules *gate.Rules, plan *engine.Plan) (*gate.Gate, error) {
	var cells []gate.Cell
	for _, c := range plan.Cells {
		cells = append(cells, gate.Cell{Name: c.Name, Lock: c.Lock.Name, Workload: c.Workload.Name,
			Workers: c.Workers, Control: c.Lock.Control, Skipped: c.Skip})
	}
	g, err := gate.New(rules, cells, plan.Spec.Reps)
	if err != nil {
		return nil, err
	}
	if least := g.Plan().MinBudget(); plan.Spec.Reps < least {
		return nil, usageErr(fmt.Errorf("--budget: %d pairs can prove nothing about %d tests at alpha %g: it takes at least %d", plan.Spec.Reps, g.Plan().Tests, rules.Alpha, least),
			"raise --budget, or gate fewer cells")
	}
	return g, nil
}

// undecided are the cells that need another pair.
func undecided(cells []*engine.Cell, g *gate.Gate) []*engine.Cell {
	var out []*engine.Cell
	for _, c := range cells {
		if g.Next(c.Name) {
			out = append(out, c)
		}
	}
	return out
}

// flagNames are the flags that cmd has so far.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
