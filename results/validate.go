package results

import (
	"fmt"
	"math"
)

// Bounds of what is believed. They are far outside anything a machine does, so
// that they catch damage and unit errors, not surprising results.
const (
	maxWorkers    = 1 << 20
	maxSpanNS     = 366 * 24 * int64(3600e9) // a year
	maxOpsPerSec  = 1e11                     // for one worker: 10 ps an operation
	rateTolerance = 0.01                     // of a figure that is the quotient of two others
)

// A FieldError names the field of a record that cannot be true. Field is the
// JSON name.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return fmt.Sprintf("field %q: %v", e.Field, e.Err) }

// Unwrap returns what is wrong with the field.
func (e *FieldError) Unwrap() error { return e.Err }

// Validate reports the first field that cannot be true: a negative count, a
// share above 100 %, a rate that is not operations by time, percentiles out of
// order, an absurd magnitude. The error is a *FieldError. Records of any outcome
// are checked, since a hang or a violation keeps the counts that it has.
func (s *Sample) Validate() error {
	var c checker
	c.require("cell", s.Cell != "", "is empty")
	c.require("lock", s.Lock != "", "is empty")
	switch s.Outcome {
	case OutcomeOK, OutcomeSkipped, OutcomeHang, OutcomeViolation, OutcomeError:
	default:
		c.fail("outcome", "%q is none of ok, skipped, hang, violation, error", Printable(s.Outcome))
	}
	c.require("workers", s.Workers >= 1 && s.Workers <= maxWorkers, "%d is not from 1 to %d", s.Workers, maxWorkers)
	c.require("cores", s.Cores >= 0 && s.Cores <= maxWorkers, "%d is not from 0 to %d", s.Cores, maxWorkers)
	c.require("side", s.Side == "" || s.Side == SideOld || s.Side == SideNew, "%q is neither old nor new", Printable(s.Side))
	c.require("program", s.Program >= 0, "%d is negative", s.Program)
	c.require("rep", s.Rep >= 0, "%d is negative", s.Rep)

	s.validateCounts(&c)
	s.validateRates(&c)
	c.latency("acquire", s.Acquire)
	c.latency("handoff", s.Handoff)
	c.latency("lateness", s.Lateness)
	c.fairness(&s.Fairness)
	c.pct("contended_pct", s.ContendedPct)
	c.pct("overlap_pct", s.OverlapPct)
	c.pct("steal_pct", s.StealPct)
	c.positive("coherence_ns", s.CoherenceNS)
	c.positive("coherence_before_ns", s.CoherenceBeforeNS)
	c.positive("coherence_after_ns", s.CoherenceAfterNS)
	c.positive("section_measured_ns", s.SectionMeasuredNS)
	c.positive("think_measured_ns", s.ThinkMeasuredNS)
	c.positive("section_mean_ns", s.SectionMeanNS)
	c.positive("think_mean_ns", s.ThinkMeanNS)
	s.validateRemote(&c)
	for _, p := range s.Phases {
		c.span("phases.elapsed_ns", p.ElapsedNS)
		c.count("phases.ops", p.Ops)
		c.rate("phases.throughput_ops_s", p.ThroughputOps, p.Ops, p.ElapsedNS)
	}
	return c.result()
}

func (s *Sample) validateCounts(c *checker) {
	c.span("elapsed_ns", s.ElapsedNS)
	c.span("probe_elapsed_ns", s.ProbeElapsedNS)
	c.span("warmup_ns", s.WarmupNS)
	c.span("drain_ns", s.DrainNS)
	c.span("overhead_ns", s.OverheadNS)
	c.count("ops", s.Ops)
	c.count("probe_ops", s.ProbeOps)
	c.count("read_ops", s.ReadOps)
	c.require("read_ops", s.ReadOps <= s.Ops, "%d is more than the %d operations", s.ReadOps, s.Ops)
	c.count("backlog_ops", s.BacklogOps)
	c.count("try_failed", s.TryFailed)
	c.count("timed_out", s.TimedOut)
	c.count("ctx_voluntary", s.CtxVoluntary)
	c.count("ctx_involuntary", s.CtxInvoluntary)
	c.count("gc_count", s.GCCount)
	c.count("peak_rss_bytes", s.PeakRSSBytes)
	c.count("violations", s.Violations)
	c.count("clock_reads_throughput", s.ClockReads)
	c.count("mallocs_throughput", s.Mallocs)
	sum := int64(0)
	for _, n := range s.PerWorkerOps {
		c.count("per_worker_ops", n)
		if n > math.MaxInt64-sum {
			c.fail("per_worker_ops", "the sum passes 2^63")
			return
		}
		sum += n
	}
	if len(s.PerWorkerOps) > 0 {
		c.require("per_worker_ops", sum == s.Ops, "the sum is %d, ops is %d", sum, s.Ops)
	}
	for _, ns := range s.PerWorkerNS {
		c.span("per_worker_ns", ns)
	}
}

func (s *Sample) validateRates(c *checker) {
	c.require("elapsed_ns", s.Outcome != OutcomeOK || s.ElapsedNS > 0, "an ok repetition took %d ns", s.ElapsedNS)
	if s.Outcome == OutcomeOK || s.ThroughputOps != 0 {
		c.rate("throughput_ops_s", s.ThroughputOps, s.Ops, s.ElapsedNS)
	}
	limit := maxOpsPerSec * float64(s.Workers)
	c.require("throughput_ops_s", s.ThroughputOps <= limit, "%g operations a second by %d workers is not credible", s.ThroughputOps, s.Workers)
	c.positive("wall_ns_per_op", &s.WallNSPerOp)
	if s.Ops > 0 && s.WallNSPerOp != 0 {
		want := float64(s.ElapsedNS) / float64(s.Ops)
		c.require("wall_ns_per_op", nearly(s.WallNSPerOp, want), "%g, but elapsed_ns / ops is %g", s.WallNSPerOp, want)
	}
	c.positive("cpu_ns_per_op", &s.CPUNSPerOp)
	c.positive("offered_ops_s", &s.OfferedOps)
}

func nearly(got, want float64) bool {
	return math.Abs(got-want) <= rateTolerance*math.Abs(want)
}

// A checker keeps the first thing that is wrong.
type checker struct{ err *FieldError }

func (c *checker) result() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

func (c *checker) fail(field, format string, args ...any) {
	if c.err == nil {
		c.err = &FieldError{Field: field, Err: fmt.Errorf(format, args...)}
	}
}

func (c *checker) require(field string, ok bool, format string, args ...any) {
	if !ok {
		c.fail(field, format, args...)
	}
}

func (c *checker) count(field string, n int64) {
	c.require(field, n >= 0, "%d is negative", n)
}

func (c *checker) span(field string, ns int64) {
	c.require(field, ns >= 0, "%d is negative", ns)
	c.require(field, ns <= maxSpanNS, "%d ns is longer than a year", ns)
}

func (c *checker) positive(field string, v *float64) {
	if v == nil {
		return
	}
	c.require(field, *v >= 0, "%g is negative", *v)
	c.require(field, *v <= 1e18 && !math.IsNaN(*v), "%g is not credible", *v)
}

func (c *checker) pct(field string, v *float64) {
	if v != nil {
		// A little above 100 is the rounding of two clocks.
		c.require(field, *v >= 0 && *v <= 100.5, "%g is not from 0 to 100", *v)
	}
}

func (c *checker) rate(field string, got float64, ops, elapsed int64) {
	c.require(field, got >= 0, "%g is negative", got)
	if elapsed <= 0 {
		c.require(field, got == 0, "%g, but no time elapsed", got)
		return
	}
	want := float64(ops) / (float64(elapsed) / 1e9)
	c.require(field, nearly(got, want), "%g, but ops by elapsed_ns is %g", got, want)
}

func (c *checker) latency(field string, l *Latency) {
	if l == nil {
		return
	}
	c.count(field+".count", l.Count)
	c.count(field+".clamped", l.Clamped)
	c.require(field+".every", l.Every >= 0, "%d is negative", l.Every)
	last := int64(0)
	for _, p := range []struct {
		name string
		ns   int64
	}{{"p50_ns", l.P50}, {"p90_ns", l.P90}, {"p99_ns", l.P99}, {"p999_ns", l.P999}, {"max_ns", l.Max}} {
		c.span(field+"."+p.name, p.ns)
		c.require(field+"."+p.name, p.ns >= last, "%d is below the percentile before it, %d", p.ns, last)
		last = p.ns
	}
	c.require(field+".hdr", l.HDR == "" || plausibleHist(l.HDR), "is no HdrHistogram in base64")
}

func (c *checker) fairness(f *Fairness) {
	const tiny = 1e-6 // rounding
	if f.Jain != nil {
		c.require("fairness.jain", *f.Jain >= 0 && *f.Jain <= 1+tiny, "%g is not from 0 to 1", *f.Jain)
	}
	if f.MaxMin != nil {
		c.require("fairness.max_min", *f.MaxMin >= 1-tiny, "%g is below 1", *f.MaxMin)
	}
	c.positive("fairness.max_min", f.MaxMin)
	c.positive("fairness.rsd", f.RSD)
	c.positive("fairness.lwss_median", f.LWSSMedian)
	c.positive("fairness.mttr_median", f.MTTRMedian)
}

var _ error = (*FieldError)(nil)
