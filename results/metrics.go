package results

import (
	"math"
	"slices"
)

// metrics estimates every figure of a cell from its ok samples.
func metrics(ok []*Sample) Metrics {
	est := func(get func(*Sample) (float64, bool)) *Estimate { return NewEstimate(collect(ok, get)) }
	opt := func(get func(*Sample) *float64) *Estimate {
		return est(func(s *Sample) (float64, bool) {
			if p := get(s); p != nil {
				return *p, true
			}
			return 0, false
		})
	}
	latency := func(of func(*Sample) *Latency, get func(*Latency) int64) *Estimate {
		return est(func(s *Sample) (float64, bool) {
			if l := of(s); l != nil && l.Count > 0 {
				return float64(get(l)), true
			}
			return 0, false
		})
	}
	acquire := func(s *Sample) *Latency { return s.Acquire }
	handoff := func(s *Sample) *Latency { return s.Handoff }
	p50 := func(l *Latency) int64 { return l.P50 }
	p90 := func(l *Latency) int64 { return l.P90 }
	p99 := func(l *Latency) int64 { return l.P99 }
	p999 := func(l *Latency) int64 { return l.P999 }
	longest := func(l *Latency) int64 { return l.Max }

	m := Metrics{
		Throughput: est(func(s *Sample) (float64, bool) { return s.ThroughputOps, true }),
		WallNS:     perOp(collect(ok, func(s *Sample) (float64, bool) { return s.ThroughputOps, true })),
		CPUNS:      perOp(cpuRates(ok)),

		AcquireP50: latency(acquire, p50), AcquireP90: latency(acquire, p90), AcquireP99: latency(acquire, p99),
		AcquireP999: latency(acquire, p999), AcquireRepMax: latency(acquire, longest),
		HandoffP50: latency(handoff, p50), HandoffP99: latency(handoff, p99), HandoffRepMax: latency(handoff, longest),
		LatenessP99: latency(func(s *Sample) *Latency { return s.Lateness }, p99),

		Jain:   opt(func(s *Sample) *float64 { return s.Fairness.Jain }),
		MaxMin: est(maxMin),
		RSD:    opt(func(s *Sample) *float64 { return s.Fairness.RSD }),
		LWSS:   opt(func(s *Sample) *float64 { return s.Fairness.LWSSMedian }),
		MTTR:   opt(func(s *Sample) *float64 { return s.Fairness.MTTRMedian }),

		Contended:   opt(func(s *Sample) *float64 { return s.ContendedPct }),
		Coherence:   opt(func(s *Sample) *float64 { return s.CoherenceNS }),
		Section:     opt(func(s *Sample) *float64 { return s.SectionMeasuredNS }),
		Think:       opt(func(s *Sample) *float64 { return s.ThinkMeasuredNS }),
		SectionMean: opt(func(s *Sample) *float64 { return s.SectionMeanNS }),
		ThinkMean:   opt(func(s *Sample) *float64 { return s.ThinkMeanNS }),
		Overlap:     opt(func(s *Sample) *float64 { return s.OverlapPct }),
		Steal:       opt(func(s *Sample) *float64 { return s.StealPct }),
		CtxVol:      est(func(s *Sample) (float64, bool) { return float64(s.CtxVoluntary), true }),
		CtxInvol:    est(func(s *Sample) (float64, bool) { return float64(s.CtxInvoluntary), true }),

		TryFailed: est(func(s *Sample) (float64, bool) { return shareOf(s.TryFailed, s.Ops+s.TryFailed+s.TimedOut) }),
		TimedOut:  est(func(s *Sample) (float64, bool) { return shareOf(s.TimedOut, s.Ops+s.TryFailed+s.TimedOut) }),
		Backlog: est(func(s *Sample) (float64, bool) {
			if s.OfferedOps == 0 {
				return 0, false
			}
			planned := s.PlannedOps()
			return 100 * min(1, float64(s.BacklogOps)/planned), planned > 0
		}),
	}
	for _, e := range m.all() {
		// What half of the repetitions or more do not have, the others do not
		// speak for: of a lock that collapsed, they are the lucky ones.
		if *e != nil && 2*(*e).N <= len(ok) {
			*e = nil
		}
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
