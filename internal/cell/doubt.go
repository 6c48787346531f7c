package cell

import (
	"fmt"

	"lockbench/results"
)

// Thresholds of doubts.
const (
	collapsedOps   = 100    // operations a worker, on average
	collapsedShare = 0.1    // of what the workload allows
	othersDoubt    = 10.0   // percent
	stealDoubt     = 2.0    // percent
	stealTicks     = 3      // of 10 ms: one tick is 5 % of a short repetition, and may be rounding
	lateDoubt      = 20_000 // ns, 99th percentile
	clockDoubtPPM  = 5000   // 0.5 %; a preemption between two readings adds some
	drainDoubt     = 4      // times the throughput interval
	overlapDoubt   = 75.0   // percent
	recoveryDoubt  = 0.5    // of the throughput of the first phase with as many workers
	recoveryOps    = 100    // operations of that phase below which nothing is said
	minTailCount   = 1000   // samples below which p99.9 is one value
)

// doubt adds flags: what about this repetition makes its numbers doubtful.
func (c *child) doubt(s *results.Sample, m, probe *measured) {
	flag := func(word, format string, args ...any) {
		s.Flags = append(s.Flags, word+": "+fmt.Sprintf(format, args...))
	}
	n := int64(len(c.workers))
	if c.spec.Ops == 0 && c.spec.Load.Arrivals == "" && float64(s.Ops) < collapsedOps*c.active(float64(n)) && !c.info.Control {
		// Few operations are a collapse if the workload itself allows more.
		if ideal := c.ideal() * float64(s.ElapsedNS); float64(s.Ops) < collapsedShare*ideal {
			flag(results.FlagCollapsed, "%d operations by %d workers; the sections allow %.0f", s.Ops, n, ideal)
		} else {
			flag(results.FlagFewOps, "%d operations: sections, think times and the interval allow %.0f", s.Ops, ideal)
		}
	}
	if s.GCCount > 0 {
		flag(results.FlagGC, "%d collections inside the intervals", s.GCCount)
	}
	if s.StealPct != nil && *s.StealPct > stealDoubt && c.stealTicks >= stealTicks {
		flag(results.FlagSteal, "%.1f %% of processor time taken by the hypervisor", *s.StealPct)
	}
	if s.OthersPct != nil && *s.OthersPct > othersDoubt && c.otherTicks >= stealTicks {
		flag(results.FlagBusy, "other programs used %.0f %% of the processors", *s.OthersPct)
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
	if planned := s.PlannedOps(); planned > 0 && float64(s.BacklogOps) > 0.01*planned {
		flag(results.FlagBacklog, "%d planned arrivals were not served", s.BacklogOps)
	}
	if k := c.unsampled.Load(); k > 0 && !c.info.Control {
		flag(results.FlagUnsampled, "%d workers came out of an operation only after the probe had begun; whether they waited or did not run is not known, and not in the latencies", k)
	}
	if l := s.Lateness; l != nil && l.P99 > lateDoubt {
		flag(results.FlagLate, "the harness began 1 %% of the operations more than %d us after their planned arrival", l.P99/1000)
	}
	if s.Acquire != nil && s.Acquire.Count < minTailCount {
		flag(results.FlagFewSamples, "%d latency samples", s.Acquire.Count)
	}
	if idle, k := m.idle(); idle > 0 && len(c.spec.Load.Phases) > 0 {
		flag(results.FlagIdle, "%d of %d workers did nothing in phase %d: it is too short for so many, or the lock starves them",
			idle, m.iv.phases[m.which[k]].active, k+1)
	}
	c.doubtPhases(s, flag)
}

// ideal returns the operations a nanosecond that the workload allows if the
// lock costs nothing: exclusive sections of one lock run one after the other,
// and each processor is busy with sections and think times.
func (c *child) ideal() float64 {
	l, n := c.spec.Load, float64(len(c.workers))
	section := l.Section.Mean() * c.spec.UnitNS
	if l.Hog != nil {
		section = (l.Hog.Mean()*c.spec.UnitNS + (n-1)*section) / n
	}
	cycle := section + l.Think.Mean()*c.spec.UnitNS
	// 100 ns for the harness and a lock that is as fast as locks are: without
	// it an empty section would allow infinitely many.
	const lockNS = 100
	rate := c.active(float64(c.spec.Procs)) / (cycle + lockNS)
	exclusive := 1.0
	if c.shared {
		exclusive -= l.ReadPct / 100
	}
	if l.Locks == 1 && exclusive > 0 {
		rate = min(rate, 1/(exclusive*(section+lockNS)))
	}
	return rate
}

// active returns the mean number of active workers over the load's phases, of
// those that at most can run at once.
func (c *child) active(most float64) float64 {
	n := float64(len(c.workers))
	if len(c.spec.Load.Phases) == 0 {
		return min(n, most)
	}
	sum, total := 0.0, 0.0
	for _, p := range c.spec.Load.Phases {
		sum += p.Share * min(most, max(1, n*p.ActivePct/100))
		total += p.Share
	}
	return sum / total
}

// doubtPhases compares each phase with the first that had as many workers: a
// lock whose throughput does not come back after a change of load has
// collapsed for good.
func (c *child) doubtPhases(s *results.Sample, flag func(string, string, ...any)) {
	first := map[int]results.Phase{}
	for k, p := range s.Phases {
		f, ok := first[p.Workers]
		if !ok {
			first[p.Workers] = p
			continue
		}
		if f.Ops >= recoveryOps && p.ThroughputOps < recoveryDoubt*f.ThroughputOps {
			flag(results.FlagNoRecovery, "phase %d with %d workers made %.3g operations a second, an earlier one %.3g", k+1, p.Workers, p.ThroughputOps, f.ThroughputOps)
			return
		}
	}
}
