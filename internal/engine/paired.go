package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// Program is one of the programs of a paired session.
type Program struct {
	Side  string // results.SideOld, results.SideNew
	Index int    // in Run.Programs
	Path  string // absolute
}

// A Paired session compares two sides, each one or more builds of a program:
// of every pair, one repetition runs the old and one the new side, back to
// back, in random order, with the same seed and the same calibrated units. What
// drifts more slowly than a pair takes changes both halves alike; what changes
// between the halves hits either side as often.
type Paired struct {
	Runner   *Runner
	Plan     *Plan     // its cells; the steps are made here
	Old, New []Program // at least one each
}

// Begin writes the cells that cannot be measured. rounds is how many are
// planned, for the progress.
func (p *Paired) Begin(rounds int, sum *Summary) error {
	if sum.Outcomes == nil {
		sum.Outcomes = map[string]int{}
	}
	for _, c := range p.Plan.Cells {
		if c.Skip == "" {
			sum.Total += 2 * rounds
		}
	}
	for _, side := range []*Program{&p.Old[0], &p.New[0]} {
		if err := p.Runner.skipped(p.Plan, sum, side); err != nil {
			return err
		}
	}
	return nil
}

// Round runs pair number n of the given cells, in an order shuffled for this
// round, and adds to sum. When ctx ends, the pair in flight is dropped; End
// marks it. An error is the sink's.
func (p *Paired) Round(ctx context.Context, n int, cells []*Cell, sum *Summary) error {
	order := make([]*Cell, 0, len(cells))
	for _, c := range cells {
		if c.Skip == "" {
			order = append(order, c)
		}
	}
	rng := rand.New(rand.NewPCG(p.Plan.Spec.Seed, uint64(n)))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, c := range order {
		old, new := p.programs(n)
		first, second := old, new
		if newFirst(p.Plan.Spec.Seed, c.Name, n) {
			first, second = new, old
		}
		for i, side := range []*Program{first, second} {
			if ctx.Err() != nil {
				return nil
			}
			step := Step{Cell: c, Rep: n, Seed: stepSeed(p.Plan.Spec.Seed, c, n), Program: side, Second: i == 1}
			if err := p.Runner.one(ctx, p.Plan.Spec, step, sum.Done, sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// End notes an interrupt.
func (p *Paired) End(ctx context.Context, sum *Summary) error { return p.Runner.close(ctx, sum) }

// programs are those of pair n. With several a side all combinations come
// equally often, and neighbours in time differ on both sides.
func (p *Paired) programs(n int) (old, new *Program) {
	a, b := len(p.Old), len(p.New)
	return &p.Old[n%a], &p.New[(n+n/lcm(a, b))%b]
}

func lcm(a, b int) int {
	x, y := a, b
	for y > 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// newFirst throws a coin for the order within a pair. It depends on nothing
// that is measured, so that under no change both halves are exchangeable.
func newFirst(seed uint64, cell string, n int) bool {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", seed, cell)
	return rand.New(rand.NewPCG(h.Sum64(), uint64(n))).Uint64()&1 == 1
}
