package stat

import (
	"cmp"
	"slices"
)

// Holm corrects probabilities for their number: if all hypotheses are true,
// that any of the results is at most alpha has probability at most alpha, however
// the tests depend on one another (S. Holm, "A simple sequentially rejective
// multiple test procedure", Scandinavian Journal of Statistics 6, 1979, p. 65-70).
// The smallest of k is multiplied by k, the next by k-1, and so on; none is
// smaller than the one before it, nor above 1. The order is that of p.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	before := 0.0
	for rank, i := range order {
		before = min(1, max(before, p[i]*float64(len(p)-rank)))
		out[i] = before
	}
	return out
}
