package results

import "math"

// FairnessOf returns the indices over workers' counts, absent with one worker
// or without operations. The medians of the order log are the caller's.
func FairnessOf(counts []int64) Fairness {
	var f Fairness
	if len(counts) < 2 {
		return f
	}
	var sum, squares float64
	lo, hi := int64(math.MaxInt64), int64(0)
	for _, n := range counts {
		x := float64(n)
		sum += x
		squares += x * x
		lo, hi = min(lo, n), max(hi, n)
	}
	if sum == 0 {
		return f
	}
	n := float64(len(counts))
	jain := sum * sum / (n * squares)
	mean := sum / n
	rsd := math.Sqrt(max(0, squares/n-mean*mean)) / mean
	f.Jain, f.RSD = &jain, &rsd
	if lo > 0 {
		r := float64(hi) / float64(lo)
		f.MaxMin = &r
	}
	return f
}

// PlannedOps returns how many arrivals an open loop had planned from the
// warm-up to the end of the probe; 0 for a closed loop.
func (s *Sample) PlannedOps() float64 {
	return s.OfferedOps * float64(s.WarmupNS+s.ElapsedNS+s.ProbeElapsedNS) / 1e9
}
