package results

import (
	"fmt"
	"math"
	"slices"
)

// Modes are the two groups that the repetitions of a bimodal cell fall into, by
// throughput_ops_s.
type Modes struct {
	Slow Mode `json:"slow"`
	Fast Mode `json:"fast"`
	// ByCoherence reports whether the groups ran in different coherence modes of
	// the machine, which then explain them: no repetition of one group had a
	// coherence_ns among those of the other, and the medians differ by more than
	// CoherenceFactor. nil = some repetition does not have the figure.
	ByCoherence *bool `json:"by_coherence,omitempty"`
}

// A Mode is one of the groups.
type Mode struct {
	Reps       []int   `json:"reps"` // their numbers, ascending
	Throughput float64 `json:"throughput_ops_s"`
	// CoherenceNS is the median of the repetitions that have it.
	CoherenceNS *float64 `json:"coherence_ns,omitempty"`
}

// CoherenceFactor tells coherence modes of a machine apart: readings in one mode
// vary by some 10 %, modes differ several-fold (measured: 27 to 294 ns on a
// virtual machine, within minutes).
const CoherenceFactor = 1.5

// minBimodal is the fewest repetitions that are looked at for two groups.
const minBimodal = 7

// Bimodal is a sign, not a test: the sorted values part at their largest gap
// into two groups of at least two, the gap is at least three times the range of
// the wider group, and at least 10 % of the median. Of normally distributed
// values with a CV of 10 % (one mode), 7 repetitions show the sign in 0.4 % of
// cells, 15 in none of 200,000. Two modes 30 % apart with a CV of 2 % each, met
// equally often, show it in 77 % of cells of 7 repetitions and 57 % of 15: its
// absence proves nothing.
func Bimodal(values []float64) bool {
	_, two := splitModes(values)
	return two
}

// splitModes returns the smallest value of the upper group.
func splitModes(values []float64) (upper float64, two bool) {
	n := len(values)
	if n < minBimodal {
		return 0, false
	}
	v := slices.Clone(values)
	slices.Sort(v)
	cut, gap := 0, -1.0 // the upper group begins at cut
	for i := 1; i < n; i++ {
		if d := v[i] - v[i-1]; d > gap {
			cut, gap = i, d
		}
	}
	if cut < 2 || n-cut < 2 {
		return 0, false
	}
	wider := max(v[cut-1]-v[0], v[n-1]-v[cut])
	return v[cut], gap > 0 && gap >= 3*wider && gap >= 0.10*v[n/2]
}

// modes are nil if the cell is not bimodal.
func modes(ok []row, list []Metric) *Modes {
	speed, coherence := metricIndex(list, "throughput_ops_s"), metricIndex(list, "coherence_ns")
	upper, two := splitModes(column(ok, speed))
	if !two {
		return nil
	}
	var groups [2][]row // slow, fast
	for _, r := range ok {
		i := 0
		if r.value(speed) >= upper {
			i = 1
		}
		groups[i] = append(groups[i], r)
	}
	var modes [2]Mode
	var lo, hi [2]float64 // of coherence
	known := true
	for i, g := range groups {
		for _, r := range g {
			modes[i].Reps = append(modes[i].Reps, r.rep)
		}
		v := column(g, speed)
		slices.Sort(v)
		modes[i].Throughput = middle(v)
		c := column(g, coherence)
		known = known && len(c) == len(g)
		if len(c) == 0 {
			continue
		}
		slices.Sort(c)
		median := middle(c)
		modes[i].CoherenceNS, lo[i], hi[i] = &median, c[0], c[len(c)-1]
	}
	m := &Modes{Slow: modes[0], Fast: modes[1]}
	if known {
		slow, fast := *m.Slow.CoherenceNS, *m.Fast.CoherenceNS
		apart := hi[0] < lo[1] || hi[1] < lo[0]
		by := apart && math.Max(slow, fast) > CoherenceFactor*math.Min(slow, fast)
		m.ByCoherence = &by
	}
	return m
}

// String is one line.
func (m *Modes) String() string {
	group := func(x Mode) string {
		c := "not known"
		if x.CoherenceNS != nil {
			c = fmt.Sprintf("%.3g ns", *x.CoherenceNS)
		}
		return fmt.Sprintf("%d at %.3g operations a second (coherence %s)", len(x.Reps), x.Throughput, c)
	}
	return group(m.Slow) + ", " + group(m.Fast) + ": " + m.Cause()
}

// Cause says in words whether the coherence mode explains the groups.
func (m *Modes) Cause() string {
	switch {
	case m.ByCoherence == nil:
		return "whether the coherence mode explains them is not known"
	case *m.ByCoherence:
		return "they ran in different coherence modes"
	case max(*m.Slow.CoherenceNS, *m.Fast.CoherenceNS) > CoherenceFactor*min(*m.Slow.CoherenceNS, *m.Fast.CoherenceNS):
		return "mostly, but not all, in different coherence modes"
	}
	return "the coherence mode does not explain them"
}
