package results

import (
	"math"
	"strings"

	"lockbench/internal/near"
)

// Better says which way a metric improves.
type Better int

// The directions of metrics.
const (
	Neither Better = iota // a description of the cell: neither way is better
	Higher
	Lower
)

// String is "higher", "lower" or "neither".
func (b Better) String() string { return [...]string{"neither", "higher", "lower"}[b] }

// A Metric is one figure of a repetition that can be estimated, compared and
// gated. Name is its name in files, with the unit where it has one.
type Metric struct {
	Name   string
	Unit   string // "ops/s", "ns", "%"; "" = a number
	Better Better
	Help   string // what it is, one line
	// Of takes the figure of an ok sample; false = the sample does not have it.
	// It is from 0 to +Inf: a repetition without an operation has an infinite
	// time an operation.
	Of  func(*Sample) (float64, bool)
	est func(*Metrics) **Estimate
}

// Estimate returns what the repetitions of a cell say of the metric; nil if
// they do not have it.
func (m Metric) Estimate(of *Metrics) *Estimate { return *m.est(of) }

// MetricList is all metrics, in the order of the columns of reports.
func MetricList() []Metric {
	acquire := func(s *Sample) *Latency { return s.Acquire }
	handoff := func(s *Sample) *Latency { return s.Handoff }
	return append([]Metric{
		{"throughput_ops_s", "ops/s", Higher, "acquisitions a second of all workers",
			func(s *Sample) (float64, bool) { return s.ThroughputOps, true }, func(m *Metrics) **Estimate { return &m.Throughput }},
		{"wall_ns_per_op", "ns", Lower, "elapsed time by acquisitions of all workers",
			func(s *Sample) (float64, bool) { return 1e9 / s.ThroughputOps, true }, func(m *Metrics) **Estimate { return &m.WallNS }},
		{"cpu_ns_per_op", "ns", Lower, "processor time by acquisitions",
			cpuPerOp, func(m *Metrics) **Estimate { return &m.CPUNS }},

		{"acquire_p50_ns", "ns", Lower, "median time from arrival to acquisition",
			ofLatency(acquire, func(l *Latency) int64 { return l.P50 }), func(m *Metrics) **Estimate { return &m.AcquireP50 }},
		{"acquire_p90_ns", "ns", Lower, "90th percentile of it",
			ofLatency(acquire, func(l *Latency) int64 { return l.P90 }), func(m *Metrics) **Estimate { return &m.AcquireP90 }},
		{"acquire_p99_ns", "ns", Lower, "99th percentile of it",
			ofLatency(acquire, func(l *Latency) int64 { return l.P99 }), func(m *Metrics) **Estimate { return &m.AcquireP99 }},
		{"acquire_p999_ns", "ns", Lower, "99.9th percentile of it",
			ofLatency(acquire, func(l *Latency) int64 { return l.P999 }), func(m *Metrics) **Estimate { return &m.AcquireP999 }},
		{"acquire_rep_max_ns", "ns", Lower, "longest of it in a repetition",
			ofLatency(acquire, func(l *Latency) int64 { return l.Max }), func(m *Metrics) **Estimate { return &m.AcquireRepMax }},
		{"handoff_p50_ns", "ns", Lower, "median time from release to acquisition by a waiting worker",
			ofLatency(handoff, func(l *Latency) int64 { return l.P50 }), func(m *Metrics) **Estimate { return &m.HandoffP50 }},
		{"handoff_p99_ns", "ns", Lower, "99th percentile of it",
			ofLatency(handoff, func(l *Latency) int64 { return l.P99 }), func(m *Metrics) **Estimate { return &m.HandoffP99 }},
		{"handoff_rep_max_ns", "ns", Lower, "longest of it in a repetition",
			ofLatency(handoff, func(l *Latency) int64 { return l.Max }), func(m *Metrics) **Estimate { return &m.HandoffRepMax }},
		{"lateness_p99_ns", "ns", Neither, "open loop: how late the harness itself was for an arrival, 99th percentile",
			ofLatency(func(s *Sample) *Latency { return s.Lateness }, func(l *Latency) int64 { return l.P99 }), func(m *Metrics) **Estimate { return &m.LatenessP99 }},

		{"jain", "", Higher, "Jain's index of the workers' shares, 1 = equal",
			ofPointer(func(s *Sample) *float64 { return s.Fairness.Jain }), func(m *Metrics) **Estimate { return &m.Jain }},
		{"max_min", "", Lower, "largest share by the smallest; infinite where a worker got nothing",
			maxMin, func(m *Metrics) **Estimate { return &m.MaxMin }},
		{"rsd", "", Lower, "relative standard deviation of the shares, 0 = equal",
			ofPointer(func(s *Sample) *float64 { return s.Fairness.RSD }), func(m *Metrics) **Estimate { return &m.RSD }},
		{"lwss_median", "", Neither, "distinct workers among 1000 acquisitions, median",
			ofPointer(func(s *Sample) *float64 { return s.Fairness.LWSSMedian }), func(m *Metrics) **Estimate { return &m.LWSS }},
		{"mttr_median", "", Neither, "acquisitions until the same worker is back, median",
			ofPointer(func(s *Sample) *float64 { return s.Fairness.MTTRMedian }), func(m *Metrics) **Estimate { return &m.MTTR }},

		{"contended_pct", "%", Neither, "arrivals that found the section taken",
			ofPointer(func(s *Sample) *float64 { return s.ContendedPct }), func(m *Metrics) **Estimate { return &m.Contended }},
		{"coherence_ns", "ns", Neither, "one-way cost of moving a cache line, a property of the machine",
			ofPointer(func(s *Sample) *float64 { return s.CoherenceNS }), func(m *Metrics) **Estimate { return &m.Coherence }},
		{"section_measured_ns", "ns", Neither, "median length of the section",
			ofPointer(func(s *Sample) *float64 { return s.SectionMeasuredNS }), func(m *Metrics) **Estimate { return &m.Section }},
		{"think_measured_ns", "ns", Neither, "median time between sections",
			ofPointer(func(s *Sample) *float64 { return s.ThinkMeasuredNS }), func(m *Metrics) **Estimate { return &m.Think }},
		{"section_mean_ns", "ns", Neither, "mean length of the section",
			ofPointer(func(s *Sample) *float64 { return s.SectionMeanNS }), func(m *Metrics) **Estimate { return &m.SectionMean }},
		{"think_mean_ns", "ns", Neither, "mean time between sections",
			ofPointer(func(s *Sample) *float64 { return s.ThinkMeanNS }), func(m *Metrics) **Estimate { return &m.ThinkMean }},
		{"overlap_pct", "%", Neither, "share of the interval in which all workers ran",
			ofPointer(func(s *Sample) *float64 { return s.OverlapPct }), func(m *Metrics) **Estimate { return &m.Overlap }},
		{"steal_pct", "%", Neither, "processor time that the hypervisor took",
			ofPointer(func(s *Sample) *float64 { return s.StealPct }), func(m *Metrics) **Estimate { return &m.Steal }},
		{"ctx_voluntary", "", Lower, "context switches of the process by waiting",
			func(s *Sample) (float64, bool) { return float64(s.CtxVoluntary), true }, func(m *Metrics) **Estimate { return &m.CtxVol }},
		{"ctx_involuntary", "", Neither, "context switches of the process by preemption",
			func(s *Sample) (float64, bool) { return float64(s.CtxInvoluntary), true }, func(m *Metrics) **Estimate { return &m.CtxInvol }},

		{"try_failed_pct", "%", Lower, "operations whose TryLock was refused",
			func(s *Sample) (float64, bool) { return shareOf(s.TryFailed, s.Ops+s.TryFailed+s.TimedOut) }, func(m *Metrics) **Estimate { return &m.TryFailed }},
		{"timed_out_pct", "%", Lower, "operations whose LockFor gave up",
			func(s *Sample) (float64, bool) { return shareOf(s.TimedOut, s.Ops+s.TryFailed+s.TimedOut) }, func(m *Metrics) **Estimate { return &m.TimedOut }},
		{"backlog_pct", "%", Lower, "open loop: planned arrivals that were not served at the stop",
			backlog, func(m *Metrics) **Estimate { return &m.Backlog }},
	}, remoteMetrics()...)
}

// LookupMetric finds a metric by its name. The error is a *near.UnknownError.
func LookupMetric(name string) (Metric, error) {
	var names []string
	for _, m := range MetricList() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	// "throughput" and "p99" are near nothing by letters alone.
	close := near.Names(name, names)
	for _, n := range names {
		if len(close) == 0 && len(name) >= 3 && strings.Contains(n, strings.ToLower(name)) {
			close = append(close, n)
		}
	}
	return Metric{}, &near.UnknownError{What: "metric", Name: Printable(name), Near: close}
}

func ofPointer(get func(*Sample) *float64) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) {
		if p := get(s); p != nil {
			return *p, true
		}
		return 0, false
	}
}

func ofLatency(of func(*Sample) *Latency, get func(*Latency) int64) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) {
		if l := of(s); l != nil && l.Count > 0 {
			return float64(get(l)), true
		}
		return 0, false
	}
}

// cpuPerOp is infinite without an operation. A program that does not know its
// processor time reports 0; it has no figure.
func cpuPerOp(s *Sample) (float64, bool) {
	switch {
	case s.CPUNSPerOp > 0:
		return s.CPUNSPerOp, true
	case s.Ops == 0:
		return math.Inf(1), true
	}
	return 0, false
}

func backlog(s *Sample) (float64, bool) {
	if s.OfferedOps == 0 {
		return 0, false
	}
	planned := s.PlannedOps()
	return 100 * min(1, float64(s.BacklogOps)/planned), planned > 0
}
