package cell

import "slices"

// Windows of the order log, after D. Dice, "Malthusian Locks", EuroSys 2017,
// section 6.1: the lock working set size (LWSS) is the number of distinct
// workers among lwssWindow consecutive acquisitions; the median time to
// reacquire (MTTR) is counted in acquisitions.
const (
	lwssWindow = 1000
	mttrWindow = 4096
)

// lwss returns the median number of distinct workers in consecutive windows,
// false if the log does not fill one.
func lwss(order []byte) (float64, bool) {
	var sizes []int
	for len(order) >= lwssWindow {
		var seen [256]bool
		n := 0
		for _, id := range order[:lwssWindow] {
			if !seen[id] {
				seen[id] = true
				n++
			}
		}
		sizes = append(sizes, n)
		order = order[lwssWindow:]
	}
	return medianInt(sizes)
}

// mttr returns the median distance between two acquisitions of the same
// worker within windows of mttrWindow, false if there is none.
func mttr(order []byte) (float64, bool) {
	var dists []int
	for len(order) > 1 {
		w := order[:min(mttrWindow, len(order))]
		order = order[len(w):]
		var last [256]int
		for i, id := range w {
			if last[id] > 0 {
				dists = append(dists, i+1-last[id])
			}
			last[id] = i + 1
		}
	}
	return medianInt(dists)
}

func medianInt(v []int) (float64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	slices.Sort(v)
	m := len(v) / 2
	if len(v)%2 == 1 {
		return float64(v[m]), true
	}
	return float64(v[m-1]+v[m]) / 2, true
}
