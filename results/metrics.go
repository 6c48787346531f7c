package results

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
	// Time an operation is undefined without operations.
	perOp := func(get func(*Sample) float64) *Estimate {
		return est(func(s *Sample) (float64, bool) { return get(s), s.Ops > 0 && get(s) > 0 })
	}
	acquire := func(s *Sample) *Latency { return s.Acquire }
	handoff := func(s *Sample) *Latency { return s.Handoff }
	p50 := func(l *Latency) int64 { return l.P50 }
	p90 := func(l *Latency) int64 { return l.P90 }
	p99 := func(l *Latency) int64 { return l.P99 }
	p999 := func(l *Latency) int64 { return l.P999 }
	longest := func(l *Latency) int64 { return l.Max }

	return Metrics{
		Throughput: est(func(s *Sample) (float64, bool) { return s.ThroughputOps, true }),
		WallNS:     perOp(func(s *Sample) float64 { return s.WallNSPerOp }),
		CPUNS:      perOp(func(s *Sample) float64 { return s.CPUNSPerOp }),

		AcquireP50: latency(acquire, p50), AcquireP90: latency(acquire, p90), AcquireP99: latency(acquire, p99),
		AcquireP999: latency(acquire, p999), AcquireMax: latency(acquire, longest),
		HandoffP50: latency(handoff, p50), HandoffP99: latency(handoff, p99), HandoffMax: latency(handoff, longest),

		Jain:   opt(func(s *Sample) *float64 { return s.Fairness.Jain }),
		MaxMin: opt(func(s *Sample) *float64 { return s.Fairness.MaxMin }),
		RSD:    opt(func(s *Sample) *float64 { return s.Fairness.RSD }),
		LWSS:   opt(func(s *Sample) *float64 { return s.Fairness.LWSSMedian }),
		MTTR:   opt(func(s *Sample) *float64 { return s.Fairness.MTTRMedian }),

		Contended: opt(func(s *Sample) *float64 { return s.ContendedPct }),
		Coherence: opt(func(s *Sample) *float64 { return s.CoherenceNS }),
		Section:   opt(func(s *Sample) *float64 { return s.SectionMeasuredNS }),
		Think:     opt(func(s *Sample) *float64 { return s.ThinkMeasuredNS }),
		Overlap:   opt(func(s *Sample) *float64 { return s.OverlapPct }),
		Steal:     opt(func(s *Sample) *float64 { return s.StealPct }),
		CtxVol:    est(func(s *Sample) (float64, bool) { return float64(s.CtxVoluntary), true }),
		CtxInvol:  est(func(s *Sample) (float64, bool) { return float64(s.CtxInvoluntary), true }),
	}
}
