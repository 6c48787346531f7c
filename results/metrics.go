package results

import (
	"math"
	"slices"
)

// metrics estimates every figure of a cell from its ok repetitions.
func metrics(ok []row, list []Metric) Metrics {
	var m Metrics
	est := estimator{}
	var throughput []float64
	for i, x := range list {
		// What half of the repetitions or more do not have, the others do not
		// speak for: of a lock that collapsed, they are the lucky ones.
		v := column(ok, i)
		if 2*len(v) <= len(ok) {
			continue
		}
		switch e := x.est(&m); e {
		case &m.Throughput:
			throughput = v
			*e = est.estimate(v)
		// Times an operation are the inverse of rates, so that the two agree.
		case &m.WallNS:
			*e = est.perOp(throughput)
		case &m.CPUNS:
			*e = est.perOp(cpuRates(v))
		default:
			*e = est.estimate(v)
		}
	}
	m.AcquireMax, m.HandoffMax = largest(m.AcquireRepMax), largest(m.HandoffRepMax)
	return m
}

// cpuRates are operations by processor time, in operations a second, of times an
// operation: 0 for a repetition that did none. nil if none did any: a program
// that does not know its processor time reports 0 for the others.
func cpuRates(ns []float64) []float64 {
	out := make([]float64, 0, len(ns))
	known := false
	for _, v := range ns {
		known = known || !math.IsInf(v, 1)
		out = append(out, 1e9/v)
	}
	if !known {
		return nil
	}
	return out
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
func phases(ok []row) []PhaseSummary {
	var out []PhaseSummary
	for i := range ok {
		if i == 0 {
			for _, p := range ok[i].phases {
				out = append(out, PhaseSummary{Workers: p.Workers})
			}
		}
		if len(ok[i].phases) != len(out) {
			return nil
		}
	}
	for k := range out {
		var v []float64
		for i := range ok {
			v = append(v, ok[i].phases[k].ThroughputOps)
		}
		out[k].Throughput = NewEstimate(v)
	}
	return out
}
