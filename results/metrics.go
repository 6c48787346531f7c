package results

import (
	"math"
	"slices"
)

// metrics estimates every figure of a cell from its ok samples.
func metrics(ok []*Sample) Metrics {
	var m Metrics
	for _, x := range MetricList() {
		e := x.est(&m)
		*e = NewEstimate(collect(ok, x.Of))
		// What half of the repetitions or more do not have, the others do not
		// speak for: of a lock that collapsed, they are the lucky ones.
		if *e != nil && 2*(*e).N <= len(ok) {
			*e = nil
		}
	}
	// Times an operation are the inverse of rates, so that the two agree.
	if m.WallNS != nil {
		m.WallNS = perOp(collect(ok, func(s *Sample) (float64, bool) { return s.ThroughputOps, true }))
	}
	if rates := cpuRates(ok); m.CPUNS != nil && len(rates) > 0 {
		m.CPUNS = perOp(rates)
	} else {
		m.CPUNS = nil
	}
	m.AcquireMax, m.HandoffMax = largest(m.AcquireRepMax), largest(m.HandoffRepMax)
	return m
}

// cpuRates are operations by processor time, in operations a second: 0 for a
// repetition that did none. A program that does not know its processor time
// reports 0; it has no rate.
func cpuRates(ok []*Sample) []float64 {
	known := slices.ContainsFunc(ok, func(s *Sample) bool { return s.CPUNSPerOp > 0 })
	return collect(ok, func(s *Sample) (float64, bool) {
		if s.CPUNSPerOp > 0 {
			return 1e9 / s.CPUNSPerOp, true
		}
		return 0, known && s.Ops == 0
	})
}

// starved reports whether some worker got nothing of what it was there for:
// with load phases, in the phase with most workers, which fairness is about.
func starved(s *Sample) bool {
	if len(s.Phases) == 0 {
		return len(s.PerWorkerOps) > 1 && slices.Min(s.PerWorkerOps) == 0
	}
	active := 0
	for _, p := range s.Phases {
		active = max(active, p.Workers)
	}
	return active > 1 && s.Fairness.MaxMin == nil
}

// maxMin is infinite in a repetition that starved a worker.
func maxMin(s *Sample) (float64, bool) {
	switch {
	case s.Fairness.MaxMin != nil:
		return *s.Fairness.MaxMin, true
	case starved(s):
		return math.Inf(1), true
	}
	return 0, false
}

// shareOf is in percent; absent of nothing.
func shareOf(part, whole int64) (float64, bool) {
	if whole <= 0 {
		return 0, false
	}
	return 100 * float64(part) / float64(whole), true
}

func largest(e *Estimate) *float64 {
	if e == nil {
		return nil
	}
	return &e.Max
}

// phases estimates the throughput of each stage of a load that changes; nil if
// the repetitions do not have the same stages.
func phases(ok []*Sample) []PhaseSummary {
	var out []PhaseSummary
	for i, s := range ok {
		if i == 0 {
			for _, p := range s.Phases {
				out = append(out, PhaseSummary{Workers: p.Workers})
			}
		}
		if len(s.Phases) != len(out) {
			return nil
		}
	}
	for k := range out {
		out[k].Throughput = NewEstimate(collect(ok, func(s *Sample) (float64, bool) { return s.Phases[k].ThroughputOps, true }))
	}
	return out
}
