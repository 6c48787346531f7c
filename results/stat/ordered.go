package stat

import (
	"math"
	"slices"
	"sort"
)

// ordered is a set of numbers too large to be built: all averages of two
// values, or all differences. It is known by counting alone.
type ordered struct {
	size  int
	count func(t float64) int // members that are at most t
}

// kth is the k-th smallest member, 1 <= k <= size. It halves the range of all
// floating-point numbers in the order of their bits: 64 counts, each as fast as
// the data are long, where sorting 2048 values' two million averages would take
// as many comparisons times 21, and 16 MiB.
func (o ordered) kth(k int) float64 {
	lo, hi := key(math.Inf(-1)), key(math.Inf(1))
	for lo < hi {
		mid := lo + (hi-lo)/2
		if o.count(unkey(mid)) >= k {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return unkey(lo) + 0 // -0 becomes 0
}

// median is the middle member, or half-way between the two.
func (o ordered) median() float64 {
	if o.size%2 == 1 {
		return o.kth(o.size/2 + 1)
	}
	return average(o.kth(o.size/2), o.kth(o.size/2+1))
}

// key maps numbers to integers in the same order.
func key(f float64) uint64 {
	b := math.Float64bits(f)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func unkey(k uint64) float64 {
	if k>>63 == 1 {
		return math.Float64frombits(k &^ (1 << 63))
	}
	return math.Float64frombits(^k)
}

// average of two values; 0 of opposite infinities. It does not decrease when
// one of them grows, after rounding either, which counting relies on.
func average(x, y float64) float64 {
	if math.IsInf(x, 0) && x == -y {
		return 0
	}
	return x/2 + y/2
}

// difference is new - old; 0 of equal infinities.
func difference(old, new float64) float64 {
	if old == new {
		return 0
	}
	return new - old
}

// walsh are the averages of all pairs of values, each with itself included
// (J. E. Walsh, Annals of Mathematical Statistics 20, 1949, p. 64-81).
func walsh(values []float64) ordered {
	x := slices.Sorted(slices.Values(values))
	n := len(x)
	return ordered{size: n * (n + 1) / 2, count: func(t float64) int {
		total, j := 0, n-1
		for i := 0; i <= j; i++ {
			for j >= i && average(x[i], x[j]) > t {
				j--
			}
			total += j - i + 1
		}
		return total
	}}
}

// differences are those of all pairs of an old and a new value.
func differences(old, new []float64) ordered {
	x, y := slices.Sorted(slices.Values(old)), slices.Sorted(slices.Values(new))
	return ordered{size: len(x) * len(y), count: func(t float64) int {
		total, j := 0, 0 // y[:j] are those within t of x[i]
		for i := range x {
			for j < len(y) && difference(x[i], y[j]) <= t {
				j++
			}
			total += j
		}
		return total
	}}
}

// criticalRank is the largest k with cdf(k-1) <= tail: the k-th smallest and
// the k-th largest member bound the centre. 0 = there is none. cdf is that of
// the count of members on the wrong side of the true value, from 0 to size.
func criticalRank(size int, tail float64, cdf func(int) float64) int {
	half := size/2 + 1
	return sort.Search(half, func(k int) bool { return cdf(k) > tail })
}
