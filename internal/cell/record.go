package cell

import (
	"fmt"
	"math"
	"slices"

	"lockbench/lock/loop"
	"lockbench/results"
)

// blank is a record with the cell's identity.
func (c *child) blank() *results.Sample {
	s := &results.Sample{Type: results.TypeSample, Outcome: results.OutcomeOK}
	if c.spec == nil {
		return s
	}
	s.Cell, s.Lock, s.Workload = c.spec.Cell, c.spec.Lock, c.spec.Load.Name
	s.Workers, s.Cores, s.CPUs, s.Pin = c.spec.Workers, c.spec.Procs, c.spec.CPUs, c.spec.Pin
	s.Rep, s.Seed, s.Clients = c.spec.Rep, c.spec.Seed, c.spec.Clients
	s.Family, s.Control, s.Threads = c.info.Family, c.info.Control, c.threads
	s.Dispatch = c.spec.Dispatch
	if c.spec.Load.ReadPct > 0 {
		s.RW = "exclusive"
		if c.shared {
			s.RW = "shared"
		}
	}
	return s
}

// record fills in what the throughput interval brought.
func (c *child) record(warm, m, probe *measured) *results.Sample {
	s := c.blank()
	if warm != nil {
		s.WarmupNS = c.clk.NS(warm.elapsed)
	}
	s.Ops, s.ElapsedNS = m.sum.ops, c.clk.NS(m.elapsed)
	s.PerWorkerOps = m.perWorker
	s.ThroughputOps = float64(s.Ops) / float64(s.ElapsedNS) * 1e9
	if s.Ops > 0 {
		s.WallNSPerOp = float64(s.ElapsedNS) / float64(s.Ops)
		s.CPUNSPerOp = float64(m.used.cpuNS) / float64(s.Ops)
	}
	s.CtxVoluntary, s.CtxInvoluntary = m.used.voluntary, m.used.involuntary
	s.GCCount = m.after.collections - m.before.collections
	s.Mallocs, s.ClockReads = m.after.mallocs-m.before.mallocs, m.sum.clockReads
	s.TryFailed, s.TimedOut, s.ReadOps = m.sum.tryFailed, m.sum.timedOut, m.sum.reads
	s.OfferedOps = c.spec.Load.RateOps
	if c.spec.Ops > 0 {
		for _, left := range m.left {
			s.PerWorkerNS = append(s.PerWorkerNS, c.clk.NS(left-m.start()))
		}
	}
	s.Fairness = c.fairness(m, s.PerWorkerNS)
	if len(c.workers) > 1 {
		s.OverlapPct = c.overlap(m)
	}
	if len(c.spec.Load.Phases) > 0 {
		s.Phases = c.phases(m)
	}
	if probe != nil {
		s.ProbeOps, s.ProbeElapsedNS = probe.sum.ops, c.clk.NS(probe.elapsed)
	}
	// Each interval has one drain; with a duration the three share it.
	seen := map[*interval]bool{}
	for _, x := range []*measured{warm, m, probe} {
		if x == nil || seen[x.iv] {
			continue
		}
		seen[x.iv] = true
		s.DrainNS += c.clk.NS(x.drain())
		if x != m && x.iv != m.iv {
			s.GCCount += x.after.collections - x.before.collections
		}
	}
	return s
}

// fairness compares what workers got. With fixed work all get the same by
// construction, and the rates at which they got it are compared; with phases
// it is the phase with most workers, and these.
func (c *child) fairness(m *measured, perWorkerNS []int64) results.Fairness {
	counts := m.perWorker
	switch {
	case len(perWorkerNS) > 0:
		counts = make([]int64, len(perWorkerNS))
		for i, ns := range perWorkerNS {
			counts[i] = int64(float64(m.perWorker[i]) * 1e12 / float64(max(1, ns)))
		}
	case len(c.spec.Load.Phases) > 0:
		i := m.busiest()
		counts = m.phases[i][:m.iv.phases[m.which[i]].active]
	}
	return results.FairnessOf(counts)
}

// overlap returns the share of the interval in which all workers had begun
// and none had finished.
func (c *child) overlap(m *measured) *float64 {
	first, last := max(m.start(), slices.Max(m.first)), m.stop
	if c.spec.Ops > 0 {
		last = slices.Min(m.left)
	}
	pct := 0.0
	if whole := m.stop - m.start(); whole > 0 {
		pct = 100 * float64(max(0, last-first)) / float64(whole)
	}
	return &pct
}

func (c *child) phases(m *measured) []results.Phase {
	var out []results.Phase
	for i, k := range m.which {
		p := results.Phase{Workers: m.iv.phases[k].active, ElapsedNS: c.clk.NS(m.iv.from(k+1) - m.iv.from(k))}
		for _, n := range m.phases[i] {
			p.Ops += n
		}
		if p.ElapsedNS > 0 {
			p.ThroughputOps = float64(p.Ops) / float64(p.ElapsedNS) * 1e9
		}
		out = append(out, p)
	}
	return out
}

// latencies fills in what the probe interval sampled.
func (c *child) latencies(s *results.Sample, m *measured) {
	stop := m.stop
	for _, w := range c.workers {
		w.collect()
		s.BacklogOps += c.backlog(w, stop)
	}
	h := c.hists.merged()
	var err error
	if s.Acquire, err = h.acquire.Latency(c.spec.Every); err != nil {
		s.Flags = append(s.Flags, "histogram: "+err.Error())
	}
	if s.Lateness, err = h.late.Latency(c.spec.Every); err != nil {
		s.Flags = append(s.Flags, "histogram: "+err.Error())
	}
	s.SectionMeanNS, s.ThinkMeanNS = h.insideNS.value(), h.thinkNS.value()
	if h.inside.Samples() > 0 {
		v := float64(h.inside.Percentile(50))
		s.SectionMeasuredNS = &v
	}
	if h.think.Samples() > 0 {
		v := float64(h.think.Percentile(50))
		s.ThinkMeasuredNS = &v
	}
	// Handoff and contention are between workers that meet. Shared readers
	// leave no trace of themselves in what a sampled arrival looks at, so that
	// both would be wrong where there are any; under the race detector nothing
	// looks (see loop.Observes).
	if c.info.Control || len(c.workers) < 2 || c.shared && c.spec.Load.ReadPct > 0 || !loop.Observes {
		return
	}
	if s.Handoff, err = h.handoff.Latency(c.spec.Every); err != nil {
		s.Flags = append(s.Flags, "histogram: "+err.Error())
	}
	if h.arrivals > 0 {
		pct := 100 * float64(h.contended) / float64(h.arrivals)
		s.ContendedPct = &pct
	}
}

// backlogKept is how many of a worker's unserved arrivals are recorded, each
// with the number that it stands for.
const backlogKept = 512

// backlog records the planned arrivals that were not served before the stop,
// each as a wait of at least its length.
func (c *child) backlog(w *worker, stop int64) int64 {
	var obs []loop.Obs
	n := w.sec.Backlog(stop, backlogKept, func(arrival, weight int64) {
		obs = append(obs, loop.Obs{Acquire: stop - arrival, Handoff: -1, Inside: -1, Think: -1, Late: -1,
			Weight: int32(min(weight, math.MaxInt32)), Contended: true, Open: true})
	})
	c.hists.record(w.id, c.clk, obs)
	return n
}

// order fills in the medians of the order log: absent for one worker, for
// Controls, and where it was not kept.
func (c *child) order(s *results.Sample, probe *measured) {
	// With phases the log holds the end of the last one, in which most workers
	// may not be active.
	if c.info.Control || len(c.workers) < 2 || !c.ordered() || len(probe.which) > 1 {
		return
	}
	// Acquisitions before the probe interval, and the few that were under way
	// when it began, were not logged.
	order := slices.DeleteFunc(c.prot[0].Order(c.since), func(id byte) bool { return id == 0 })
	if v, ok := lwss(order); ok {
		s.Fairness.LWSSMedian = &v
	}
	if v, ok := mttr(order); ok {
		s.Fairness.MTTRMedian = &v
	}
}

func (c *child) coherenceAfter(s *results.Sample, before *float64) {
	if before == nil {
		return
	}
	after := c.coherence()
	if after == nil {
		return
	}
	mean := (*before + *after) / 2
	s.CoherenceNS, s.CoherenceBeforeNS, s.CoherenceAfterNS = &mean, before, after
	if r := *before / *after; r > 2 || r < 0.5 {
		s.Flags = append(s.Flags, fmt.Sprintf("%s: moving a cache line cost %.0f ns before and %.0f ns after", results.FlagCoherence, *before, *after))
	}
}
