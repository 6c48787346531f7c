package main

import (
	"math"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"lockbench/results"
	"lockbench/results/stat"
)

// naiveFrom is the first pair after which the naive ways look.
const naiveFrom = 8

// naive reports whether looking after every pair, at intervals of one level,
// ends in a failure: as soon as the interval is beyond the bound. It ends without
// one when the interval is within, or the values are used up.
func naive(xs []float64, bound, alpha float64) bool {
	for n := naiveFrom; n <= len(xs); n++ {
		i := stat.SignedRank(xs[:n], alpha)
		switch {
		case !i.OK:
		case i.Lo > bound:
			return true
		case i.Hi <= bound:
			return false
		}
	}
	return false
}

// naiveAlarms is the share of gates, over the traces that redraw makes of the
// same seed, in which looking after every pair fails any cell. The metric is one
// where lower is better.
func (r *recording) naiveAlarms(m results.Metric, allowed, alpha float64, gates, budget int, seed uint64) share {
	bound := math.Log1p(allowed)
	var failed atomic.Int64
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range gates {
		g.Go(func() error {
			for _, rounds := range r.coins(seed, i, budget) {
				var xs []float64
				for _, round := range rounds {
					xs = append(xs, round.LogRatios(m)...)
				}
				if naive(xs, bound, alpha) {
					failed.Add(1)
					break
				}
			}
			return nil
		})
	}
	_ = g.Wait() // none of them fails
	return share{int(failed.Load()), gates}
}
