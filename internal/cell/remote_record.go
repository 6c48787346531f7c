package cell

import (
	"fmt"
	"slices"

	"lockbench/results"
)

// record fills in what the interval brought.
func (r *remote) record(from, to edge) *results.Sample {
	s := r.c.blank()
	s.Dispatch = DispatchRemote
	s.WarmupNS = r.c.spec.WarmupNS
	end := r.stopAt
	var last []int64
	for _, w := range r.workers {
		last = append(last, w.left)
	}
	if r.c.spec.Ops > 0 {
		end = slices.Max(last)
	}
	s.ElapsedNS = max(1, end-r.warmEnd)
	all := rcounts{acquire: results.NewHist(), release: results.NewHist(), handoff: results.NewHist(),
		inside: results.NewHist(), think: results.NewHist(), late: results.NewHist()}
	began := r.warmEnd
	for _, w := range r.workers {
		all.add(&w.count)
		s.PerWorkerOps = append(s.PerWorkerOps, w.count.ops)
		if r.c.spec.Ops > 0 {
			s.PerWorkerNS = append(s.PerWorkerNS, max(0, w.left-r.warmEnd))
		}
		if r.c.spec.Ops > 0 {
			began = max(began, w.began)
		}
	}
	s.Ops = all.ops
	s.ThroughputOps = float64(s.Ops) / float64(s.ElapsedNS) * 1e9
	used := to.used.minus(from.used)
	s.CtxVoluntary, s.CtxInvoluntary = used.voluntary, used.involuntary
	s.GCCount, s.Mallocs = to.heap.collections-from.heap.collections, to.heap.mallocs-from.heap.mallocs
	s.Fairness = results.FairnessOf(s.PerWorkerOps)
	s.TryFailed, s.BacklogOps, s.OfferedOps = all.tryFailed, all.backlog, r.c.spec.Load.RateOps
	if len(r.workers)*r.c.spec.Clients > 1 {
		until := end
		if r.c.spec.Ops > 0 {
			until = slices.Min(last)
		}
		pct := 100 * float64(max(0, until-max(began, r.began))) / float64(s.ElapsedNS)
		s.OverlapPct = &pct
	}
	x := &results.Remote{
		TTLNS: r.r.TTLNS, Renew: r.r.Renew, Fence: r.r.Fence,
		WaitMinNS: int64(r.r.Wait.Min), WaitMaxNS: int64(r.r.Wait.Max), WaitJitter: r.r.Wait.Jitter,
		AcquireTimeoutNS: r.r.AcquireTimeoutNS, OnTimeout: r.r.OnTimeout,
		Timeouts: all.timeouts, GaveUp: all.gaveUp, Retries: all.retries, Fallbacks: all.fallbacks, Unknown: all.unknown,
		LostLeases: to.lost - from.lost, Orphans: to.orphans - from.orphans, Renewals: to.renewals - from.renewals,
		Errors: all.errors, Acknowledged: all.acked, UnknownWrite: all.unknownWrite,
		DeadlockTTL: all.deadTTL, DeadlockTimeout: all.deadTimeout, DeadlockServer: all.deadServer,
	}
	s.Remote = x
	if s.Ops > 0 {
		s.WallNSPerOp = float64(s.ElapsedNS) / float64(s.Ops)
		s.CPUNSPerOp = float64(used.cpuNS) / float64(s.Ops)
	}
	x.ClientCPUNS = used.cpuNS
	if !r.c.info.Control {
		x.CommandsSum, x.TripsSum, x.AttemptsSum, x.AcquiredSum = to.commands-from.commands, all.trips, all.attempts, all.got
		x.Means(s.Ops)
	}
	if all.arrivals > 0 && len(r.workers)*r.c.spec.Clients > 1 {
		pct := 100 * float64(all.contended) / float64(all.arrivals)
		s.ContendedPct = &pct
	}
	x.HandoffTrips = results.MedianTrips(all.handoffTrips[:])
	if x.HandoffTrips != nil {
		x.HandoffTripCounts = all.handoffTrips[:]
	}
	for _, l := range []struct {
		to   **results.Latency
		from *results.Hist
	}{{&s.Acquire, all.acquire}, {&s.Handoff, all.handoff}, {&x.Release, all.release}, {&s.Lateness, all.late}} {
		var err error
		if *l.to, err = l.from.Latency(1); err != nil {
			s.Flags = append(s.Flags, "histogram: "+err.Error())
		}
	}
	s.SectionMeanNS, s.ThinkMeanNS = all.insideNS.value(), all.thinkNS.value()
	for _, l := range []struct {
		to   **float64
		from *results.Hist
	}{{&s.SectionMeasuredNS, all.inside}, {&s.ThinkMeasuredNS, all.think}} {
		if l.from.Samples() > 0 {
			v := float64(l.from.Percentile(50))
			*l.to = &v
		}
	}
	if all.lastError != "" {
		s.Flags = append(s.Flags, results.FlagErrors+": "+all.lastError)
	}
	return s
}

// add merges another worker's counts into c.
func (c *rcounts) add(o *rcounts) {
	for _, p := range []struct{ to, from *int64 }{
		{&c.ops, &o.ops}, {&c.tryFailed, &o.tryFailed}, {&c.timeouts, &o.timeouts}, {&c.gaveUp, &o.gaveUp},
		{&c.retries, &o.retries}, {&c.fallbacks, &o.fallbacks}, {&c.unknown, &o.unknown}, {&c.errors, &o.errors},
		{&c.acked, &o.acked}, {&c.unknownWrite, &o.unknownWrite}, {&c.deadTTL, &o.deadTTL}, {&c.deadTimeout, &o.deadTimeout},
		{&c.deadServer, &o.deadServer}, {&c.got, &o.got}, {&c.trips, &o.trips}, {&c.attempts, &o.attempts}, {&c.arrivals, &o.arrivals},
		{&c.contended, &o.contended}, {&c.backlog, &o.backlog},
	} {
		*p.to += *p.from
	}
	for i := range c.handoffTrips {
		c.handoffTrips[i] += o.handoffTrips[i]
	}
	c.acquire.Merge(o.acquire)
	c.release.Merge(o.release)
	c.handoff.Merge(o.handoff)
	c.inside.Merge(o.inside)
	c.think.Merge(o.think)
	c.late.Merge(o.late)
	c.insideNS.merge(o.insideNS)
	c.thinkNS.merge(o.thinkNS)
	if c.lastError == "" {
		c.lastError = o.lastError
	}
}

// doubt adds the flags of a distributed repetition.
func (r *remote) doubt(s *results.Sample) {
	x := s.Remote
	flag := func(word, format string, args ...any) {
		s.Flags = append(s.Flags, word+": "+fmt.Sprintf(format, args...))
	}
	all := s.Ops + x.Timeouts + x.GaveUp
	if s.Ops == 0 {
		flag(results.FlagFewOps, "no acquisition ended in the interval")
	}
	if n := x.Timeouts + x.GaveUp; n > 0 {
		flag(results.FlagTimeouts, "%d of %d operations got no lock in time", n, all)
	}
	if s.GCCount > 0 {
		flag(results.FlagGC, "%d collections inside the interval", s.GCCount)
	}
	if x.StaleHolders > 0 {
		flag(results.FlagStale, "%d times a holder was still inside after its lease was over when the next one came", x.StaleHolders)
	}
	if x.Fallbacks > 0 {
		flag(results.FlagFallback, "%d sections ran without the lock", x.Fallbacks)
	}
	if n := x.LostLeases; n > 0 {
		flag(results.FlagLost, "%d leases ended before they were released", n)
	}
	if n := x.Orphans; n > 0 {
		flag(results.FlagOrphans, "%d grants came after the caller had left", n)
	}
	if x.Unknown > 0 {
		flag(results.FlagUnknown, "the outcome of %d requests is not known", x.Unknown)
	}
	if n := x.Deadlocks(); n > 0 {
		flag(results.FlagDeadlock, "%d: %d ended by the acquire time-out, %d by a lease that ran out, %d by the server",
			n, x.DeadlockTimeout, x.DeadlockTTL, x.DeadlockServer)
	}
	if planned := s.PlannedOps(); planned > 0 && float64(s.BacklogOps) > 0.01*planned {
		flag(results.FlagBacklog, "%d planned arrivals were not served", s.BacklogOps)
	}
	if s.OverlapPct != nil && *s.OverlapPct < overlapDoubt {
		flag(results.FlagOverlap, "all workers ran for %.0f %% of the interval", *s.OverlapPct)
	}
	if s.Acquire != nil && s.Acquire.Count < minTailCount {
		flag(results.FlagFewSamples, "%d latency samples", s.Acquire.Count)
	}
}
