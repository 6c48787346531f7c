package main

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"lockbench/results"
	"lockbench/results/stat"
)

// What the naive way looks at: an interval of fixed level, after every pair from
// the eighth on, until it decides.
const (
	naiveAlpha = 0.05
	naiveFrom  = 8
)

// naive reports whether looking after every pair ends in a failure: as soon as
// the interval is beyond the bound. It ends without one when the interval is
// within, or the values are used up.
func naive(xs []float64, bound float64) bool {
	for n := naiveFrom; n <= len(xs); n++ {
		i := stat.SignedRank(xs[:n], naiveAlpha)
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

// naiveAlarms is the share of gates, over the blocks that replay draws with the
// same seed, in which the naive way fails any cell. The metric is one where
// lower is better.
func (r *recording) naiveAlarms(m results.Metric, allowed float64, gates, budget int, seed uint64) share {
	bound := math.Log1p(allowed)
	groups := r.all()
	var failed atomic.Int64
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range gates {
		g.Go(func() error {
			b := block(rand.New(rand.NewPCG(seed, uint64(i))), groups, min(budget, len(groups[0])))
			for _, c := range r.cells {
				var xs []float64
				for _, n := range b {
					xs = append(xs, c.rounds[n].LogRatios(m)...)
				}
				if naive(xs, bound) {
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
