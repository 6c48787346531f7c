package cell

import (
	"fmt"

	"lockbench/results"
)

// Thresholds of doubts.
const (
	collapsedOps  = 100  // operations a worker
	stealDoubt    = 2.0  // percent
	clockDoubtPPM = 5000 // 0.5 %; a preemption between two readings adds some
	drainDoubt    = 4    // times the throughput interval
	overlapDoubt  = 75.0 // percent
	recoveryDoubt = 0.5  // of the throughput of the first phase with as many workers
	minTailCount  = 1000 // samples below which p99.9 is one value
)

// doubt adds flags: what about this repetition makes its numbers doubtful.
func (c *child) doubt(s *results.Sample, m, probe *measured) {
	flag := func(word, format string, args ...any) {
		s.Flags = append(s.Flags, word+": "+fmt.Sprintf(format, args...))
	}
	n := int64(len(c.workers))
	if c.spec.Ops == 0 && c.spec.Load.Arrivals == "" && s.Ops < collapsedOps*n {
		// Sections that fill the interval by themselves are few, not collapsed.
		if work := c.spec.Load.Section.Mean() * float64(s.Ops); s.SectionMeasuredNS != nil && work > 0 &&
			*s.SectionMeasuredNS*float64(s.Ops) > float64(s.ElapsedNS)/2 {
			flag(results.FlagFewOps, "%d operations, because sections are long", s.Ops)
		} else {
			flag(results.FlagCollapsed, "%d operations by %d workers", s.Ops, n)
		}
	}
	if s.GCCount > 0 {
		flag(results.FlagGC, "%d collections inside the intervals", s.GCCount)
	}
	if s.StealPct != nil && *s.StealPct > stealDoubt {
		flag(results.FlagSteal, "%.1f %% of processor time taken by the hypervisor", *s.StealPct)
	}
	if len(c.workers) > c.spec.Procs {
		flag(results.FlagOversubscribed, "%d workers on %d cores", n, c.spec.Procs)
	}
	if ppm := c.clk.Check(c.ticks0, c.mono0); ppm > clockDoubtPPM {
		flag(results.FlagClock, "the counter was off by %.0f ppm", ppm)
	}
	if s.OverlapPct != nil && *s.OverlapPct < overlapDoubt {
		flag(results.FlagOverlap, "all workers ran for %.0f %% of the interval", *s.OverlapPct)
	}
	if d := c.clk.NS(m.drain()); d > drainDoubt*s.ElapsedNS {
		flag(results.FlagDrain, "workers took %d ms to leave", d/1e6)
	}
	if s.BacklogOps > 0 && probe != nil && float64(s.BacklogOps) > 0.01*float64(s.BacklogOps+s.ProbeOps) {
		flag(results.FlagBacklog, "%d planned arrivals were not served", s.BacklogOps)
	}
	if s.Acquire != nil && s.Acquire.Count < minTailCount {
		flag(results.FlagFewSamples, "%d latency samples", s.Acquire.Count)
	}
	c.doubtPhases(s, flag)
}

// doubtPhases compares the last phase with the first that had as many workers:
// a lock whose throughput does not come back after a burst has collapsed for
// good.
func (c *child) doubtPhases(s *results.Sample, flag func(string, string, ...any)) {
	if len(s.Phases) < 2 {
		return
	}
	last := s.Phases[len(s.Phases)-1]
	for _, p := range s.Phases[:len(s.Phases)-1] {
		if p.Workers == last.Workers {
			if last.ThroughputOps < recoveryDoubt*p.ThroughputOps {
				flag(results.FlagNoRecovery, "%.3g operations a second before the burst, %.3g after it", p.ThroughputOps, last.ThroughputOps)
			}
			return
		}
	}
}
