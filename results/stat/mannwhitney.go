package stat

import (
	"math"
	"slices"
)

// maxExactWork bounds the additions that an exact distribution of the rank
// sum may cost: some 20 ms. It holds 48 values against 48, 40 against 40 with
// ties, and 3 against thousands. Above it the normal distribution with
// continuity correction stands in, whose tails are heavier than the true ones
// (the statistic's excess kurtosis is negative), so that it errs towards "no
// difference".
const maxExactWork = 1 << 24

// MannWhitney estimates the shift from old to new: the median of all
// differences new - old, and the bounds between which the Mann-Whitney test does
// not reject (Hollander, Wolfe, Chicken, 3rd ed., sections 4.2 and 4.3). Of
// logarithms, it is the logarithm of the ratio.
func MannWhitney(old, new []float64, alpha float64) Interval {
	n, m := len(old), len(new)
	if n == 0 || m == 0 {
		return unbounded(0, n+m)
	}
	d := differences(old, new)
	cdf := mannWhitneyCDF(n, m)
	k := criticalRank(d.size, alpha/2, cdf)
	if k == 0 {
		return unbounded(d.median(), n+m)
	}
	return Interval{Center: d.median(), Lo: d.kth(k), Hi: d.kth(d.size + 1 - k), Confidence: 1 - 2*cdf(k-1), N: n + m, OK: true}
}

// MannWhitneyP is the two-sided probability of samples that differ so much or
// more, if both come from one distribution: twice that of the smaller tail, at
// most 1. For few values it is exact, with ties too: it is then that of
// dealing out the very values found. Without values on a side it is 1.
//
// The package that benchstat uses (aclements/go-moremath) doubles the lower tail
// of the smaller U; with ties the distribution is not symmetric, and that is the
// wrong tail for one of the two directions. It is the oracle of the tests where
// there are no ties.
func MannWhitneyP(old, new []float64) float64 {
	if len(old) == 0 || len(new) == 0 {
		return 1
	}
	a, b := old, new
	if len(a) > len(b) {
		a, b = b, a
	}
	n, m := len(a), len(b)
	all, tied := midranks(a, b)
	sum := 0 // of a's doubled ranks
	for _, r := range all[:n] {
		sum += r
	}
	if !tied {
		u := sum/2 - n*(n+1)/2
		return min(1, 2*mannWhitneyCDF(n, m)(min(u, n*m-u)))
	}
	if exactWork(n, m, 2) <= maxExactWork {
		counts := rankSums(all, n)
		lower, upper, total := 0.0, 0.0, 0.0
		for s, c := range counts {
			total += c
			if s <= sum {
				lower += c
			}
			if s >= sum {
				upper += c
			}
		}
		return min(1, 2*min(lower, upper)/total)
	}
	mean, variance := 0.0, 0.0
	for _, r := range all {
		mean += float64(r)
	}
	mean /= float64(n + m)
	for _, r := range all {
		variance += (float64(r) - mean) * (float64(r) - mean)
	}
	// Of a sum drawn without replacement; a doubled rank's half step is 1.
	variance *= float64(n) * float64(m) / (float64(n+m) * float64(n+m-1))
	if variance == 0 {
		return 1 // all values are equal
	}
	far := max(0, math.Abs(float64(sum)-float64(n)*mean)-1)
	return min(1, 2*normalCDF(-far/math.Sqrt(variance)))
}

// MinMannWhitneyP is the smallest probability that n values against m can
// give, whatever they are: that of all of one side being above all of the other.
func MinMannWhitneyP(n, m int) float64 {
	if n <= 0 || m <= 0 {
		return 1
	}
	return min(1, 2*mannWhitneyCDF(min(n, m), max(n, m))(0))
}

// midranks are the doubled ranks of a, then b, from 2; equal values have the
// mean of theirs.
func midranks(a, b []float64) (ranks []int, tied bool) {
	all := slices.Concat(a, b)
	byValue := make([]int, len(all))
	for i := range byValue {
		byValue[i] = i
	}
	slices.SortFunc(byValue, func(i, j int) int {
		switch {
		case all[i] < all[j]:
			return -1
		case all[i] > all[j]:
			return 1
		}
		return 0
	})
	ranks = make([]int, len(all))
	for from := 0; from < len(byValue); {
		to := from + 1
		for to < len(byValue) && all[byValue[to]] == all[byValue[from]] {
			to++
		}
		for _, i := range byValue[from:to] {
			ranks[i] = from + 1 + to
		}
		tied = tied || to-from > 1
		from = to
	}
	return ranks, tied
}

// exactWork is the additions of rankSums, for ranks scaled by scale.
func exactWork(n, m, scale int) float64 {
	top := n*m + n*(n+1)/2
	return float64(n+m) * float64(n) * float64(top) * float64(scale)
}

// rankSums counts, by their sum, the ways to take n of the ranks (B. Streitberg,
// J. Röhmel, "Exact distributions for permutation and rank tests", Statistical
// Software Newsletter 12, 1986, p. 10-17). Counts are exact up to 2^53, beyond it
// to 14 digits or so: all terms are positive.
func rankSums(ranks []int, n int) []float64 {
	sorted := slices.Sorted(slices.Values(ranks))
	top := 0
	for _, r := range sorted[len(sorted)-n:] {
		top += r
	}
	ways := make([][]float64, n+1) // [taken][sum]
	for i := range ways {
		ways[i] = make([]float64, top+1)
	}
	ways[0][0] = 1
	for seen, r := range sorted {
		for taken := min(seen+1, n); taken >= 1; taken-- {
			into, from := ways[taken], ways[taken-1]
			for s := top; s >= r; s-- {
				into[s] += from[s-r]
			}
		}
	}
	return ways[n]
}

var mannWhitneyTables = tables[[2]int]{}

// mannWhitneyCDF is P(U <= u) for n values against m without ties, U being the
// pairs in which the old value is above the new.
func mannWhitneyCDF(n, m int) func(u int) float64 {
	n, m = min(n, m), max(n, m)
	size := n * m
	if exactWork(n, m, 1) > maxExactWork {
		mean := float64(size) / 2
		sd := math.Sqrt(float64(size) * float64(n+m+1) / 12)
		return func(u int) float64 { return normalCDF((float64(u) + 0.5 - mean) / sd) }
	}
	lower := mannWhitneyTables.get([2]int{n, m}, func() []float64 {
		ranks := make([]int, n+m)
		for i := range ranks {
			ranks[i] = i + 1
		}
		counts := rankSums(ranks, n)[n*(n+1)/2:]
		total := 0.0
		for _, c := range counts {
			total += c
		}
		p := counts[:size/2+1]
		for i := range p {
			p[i] /= total
		}
		return slices.Clone(accumulate(p))
	})
	return func(u int) float64 { return symmetricCDF(lower, size, u) }
}
