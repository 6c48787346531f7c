package main

import (
	"fmt"
	"math"

	"lockbench/internal/figure"
	"lockbench/results/stat"
)

// alpha is the probability that an interval misses, both sides together.
const alpha = 0.05

// how names the interval of paired ratios.
const how = "95 % interval of paired ratios"

// paired gives the target the centre of the rounds' ratios, and its interval: the
// Hodges-Lehmann estimate and the signed-rank bounds of their logarithms. A ratio and its
// inverse are then equally far from 1, and a round that something disturbed counts by its
// rank only.
func paired(t figure.Figure, ratios []float64) figure.Figure {
	if len(ratios) == 0 {
		return t.Failed(fmt.Errorf("no rounds"))
	}
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		if !(r > 0) || math.IsInf(r, 1) {
			return t.Failed(fmt.Errorf("%v in round %d is no ratio", r, i+1))
		}
		logs[i] = math.Log(r)
	}
	iv := stat.SignedRank(logs, alpha)
	if !iv.OK {
		return t.Failed(fmt.Errorf("%d rounds have no 95 %% interval: %d or more have", len(ratios), stat.MinSignedRank(alpha)))
	}
	return t.Measured(math.Exp(iv.Center), math.Exp(iv.Lo), math.Exp(iv.Hi), how, iv.N)
}

// scaled multiplies a measured figure by a factor above 0, such as 100 for percent.
func scaled(f figure.Figure, by float64) figure.Figure {
	f.Value, f.Lo, f.Hi = f.Value*by, f.Lo*by, f.Hi*by
	return f
}
