package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
)

// values are what one round measured, by name. All are above 0.
type values map[string]float64

// side is one of the things that a round compares. It says what it measured.
type side struct {
	name string
	run  func(context.Context) (values, error)
}

// interleave runs so many rounds of all sides, each in an order of its own, and returns
// what each round measured. The first error ends it. tell hears of each round's begin.
func interleave(ctx context.Context, rng *rand.Rand, rounds int, sides []side, tell func(round int)) ([]values, error) {
	var out []values
	for r := range rounds {
		tell(r + 1)
		all := values{}
		for _, i := range rng.Perm(len(sides)) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			got, err := sides[i].run(ctx)
			if err != nil {
				return nil, fmt.Errorf("round %d, %s: %w", r+1, sides[i].name, err)
			}
			for name := range got {
				if _, twice := all[name]; twice {
					return nil, fmt.Errorf("two sides measure %s", name)
				}
			}
			maps.Copy(all, got)
		}
		out = append(out, all)
	}
	return out, nil
}

// per takes a figure of each round.
func per(rounds []values, of func(values) float64) []float64 {
	out := make([]float64, 0, len(rounds))
	for _, r := range rounds {
		out = append(out, of(r))
	}
	return out
}

// ratio is of two things measured in the same round. A missing one makes it NaN.
func ratio(over, under string) func(values) float64 {
	return func(v values) float64 { return v[over] / v[under] }
}

// anchor is how many pairs a second a client could do that did nothing but the two
// commands, one after the other, at their measured rates.
func anchor(set, script float64) float64 { return 1 / (1/set + 1/script) }
