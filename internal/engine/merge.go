package engine

import (
	"fmt"
	"slices"

	"lockbench/results"
)

// merge makes one sample of a cell's children. They ran at the same time, so
// counts and rates add up; times are the longest; distributions are merged;
// fairness is over all workers.
func merge(in []*results.Sample) (*results.Sample, error) {
	m := *in[0]
	if len(in) == 1 {
		return &m, nil
	}
	var acquire, handoff, late *results.Hist
	cpuNS := 0.0
	for i, s := range in {
		if rank(s.Outcome) > rank(m.Outcome) {
			m.Outcome, m.Reason = s.Outcome, s.Reason
		}
		var err error
		if acquire, err = addLatency(acquire, s.Acquire); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
		if handoff, err = addLatency(handoff, s.Handoff); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
		if late, err = addLatency(late, s.Lateness); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
		cpuNS += s.CPUNSPerOp * float64(s.Ops)
		if i == 0 {
			continue
		}
		m.Workers += s.Workers
		m.Ops += s.Ops
		m.ProbeOps += s.ProbeOps
		m.PerWorkerOps = append(m.PerWorkerOps, s.PerWorkerOps...)
		m.PerWorkerNS = append(m.PerWorkerNS, s.PerWorkerNS...)
		m.ElapsedNS = max(m.ElapsedNS, s.ElapsedNS)
		m.ProbeElapsedNS = max(m.ProbeElapsedNS, s.ProbeElapsedNS)
		m.WarmupNS = max(m.WarmupNS, s.WarmupNS)
		m.DrainNS = max(m.DrainNS, s.DrainNS)
		m.CtxVoluntary += s.CtxVoluntary
		m.CtxInvoluntary += s.CtxInvoluntary
		m.GCCount += s.GCCount
		m.Violations += s.Violations
		m.TryFailed += s.TryFailed
		m.TimedOut += s.TimedOut
		m.ReadOps += s.ReadOps
		m.BacklogOps += s.BacklogOps
		m.ClockReads += s.ClockReads
		m.Mallocs += s.Mallocs
		m.PeakRSSBytes = max(m.PeakRSSBytes, s.PeakRSSBytes)
		m.Flags = append(m.Flags, s.Flags...)
		m.OfferedOps = max(m.OfferedOps, s.OfferedOps)
	}
	if m.Ops > 0 {
		m.CPUNSPerOp = cpuNS / float64(m.Ops)
		m.WallNSPerOp = float64(m.ElapsedNS) / float64(m.Ops)
	}
	if m.ElapsedNS > 0 {
		m.ThroughputOps = float64(m.Ops) / float64(m.ElapsedNS) * 1e9
	}
	m.Fairness = results.FairnessOf(m.PerWorkerOps)
	if len(m.PerWorkerNS) == len(m.PerWorkerOps) { // fixed work: see cell
		rates := make([]int64, len(m.PerWorkerNS))
		for i, ns := range m.PerWorkerNS {
			rates[i] = int64(float64(m.PerWorkerOps[i]) * 1e12 / float64(max(1, ns)))
		}
		m.Fairness = results.FairnessOf(rates)
	}
	m.ContendedPct = weighted(in, func(s *results.Sample) *float64 { return s.ContendedPct })
	m.SectionMeasuredNS = weighted(in, func(s *results.Sample) *float64 { return s.SectionMeasuredNS })
	m.ThinkMeasuredNS = weighted(in, func(s *results.Sample) *float64 { return s.ThinkMeasuredNS })
	m.SectionMeanNS = weighted(in, func(s *results.Sample) *float64 { return s.SectionMeanNS })
	m.ThinkMeanNS = weighted(in, func(s *results.Sample) *float64 { return s.ThinkMeanNS })
	m.OverlapPct = lowest(in, func(s *results.Sample) *float64 { return s.OverlapPct })
	m.Phases = mergePhases(in)
	var err error
	if m.Acquire, err = latencyOf(acquire, firstLatency(in, func(s *results.Sample) *results.Latency { return s.Acquire })); err != nil {
		return nil, err
	}
	if m.Lateness, err = latencyOf(late, firstLatency(in, func(s *results.Sample) *results.Latency { return s.Lateness })); err != nil {
		return nil, err
	}
	if m.Handoff, err = latencyOf(handoff, firstLatency(in, func(s *results.Sample) *results.Latency { return s.Handoff })); err != nil {
		return nil, err
	}
	m.Remote, err = mergeRemote(in, m.Ops)
	if m.Remote != nil && m.Ops > 0 { // of clients that got nothing, too
		m.CPUNSPerOp = float64(m.Remote.ClientCPUNS) / float64(m.Ops)
	}
	return &m, err
}

// firstLatency is that of the first child that has one.
func firstLatency(in []*results.Sample, of func(*results.Sample) *results.Latency) *results.Latency {
	for _, s := range in {
		if l := of(s); l != nil {
			return l
		}
	}
	return nil
}

// rank orders outcomes: the worst child's is the cell's.
func rank(outcome string) int {
	switch outcome {
	case results.OutcomeOK:
		return 0
	case results.OutcomeSkipped:
		return 1
	case results.OutcomeError:
		return 2
	case results.OutcomeHang:
		return 3
	}
	return 4 // violation
}

func addLatency(h *results.Hist, l *results.Latency) (*results.Hist, error) {
	if l == nil {
		return h, nil
	}
	o, err := results.DecodeHist(l.HDR)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return o, nil
	}
	h.Merge(o)
	return h, nil
}

func latencyOf(h *results.Hist, like *results.Latency) (*results.Latency, error) {
	if h == nil || like == nil {
		return nil, nil
	}
	return h.Latency(like.Every)
}

// weighted returns the mean of a figure over the children that have it, each
// with the weight of its sampled interval's operations.
func weighted(in []*results.Sample, of func(*results.Sample) *float64) *float64 {
	sum, weight := 0.0, 0.0
	for _, s := range in {
		if v := of(s); v != nil {
			n := float64(s.ProbeOps)
			if s.Remote != nil { // one interval for everything
				n = float64(s.Ops)
			}
			sum += *v * n
			weight += n
		}
	}
	if weight == 0 {
		return nil
	}
	mean := sum / weight
	return &mean
}

func lowest(in []*results.Sample, of func(*results.Sample) *float64) *float64 {
	var low *float64
	for _, s := range in {
		if v := of(s); v != nil && (low == nil || *v < *low) {
			low = v
		}
	}
	return low
}

// mergePhases adds up the phases, which all children run through together.
func mergePhases(in []*results.Sample) []results.Phase {
	out := slices.Clone(in[0].Phases)
	for _, s := range in[1:] {
		for k := range out {
			if k >= len(s.Phases) {
				return nil // a child that was not in the same cell
			}
			out[k].Workers += s.Phases[k].Workers
			out[k].Ops += s.Phases[k].Ops
			out[k].ElapsedNS = max(out[k].ElapsedNS, s.Phases[k].ElapsedNS)
		}
	}
	for k := range out {
		if out[k].ElapsedNS > 0 {
			out[k].ThroughputOps = float64(out[k].Ops) / float64(out[k].ElapsedNS) * 1e9
		}
	}
	return out
}
