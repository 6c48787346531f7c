package results

import (
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// A MergedHist is the histogram of several repetitions together, in
// nanoseconds. Every operation counts the same, so that a repetition that did
// more operations weighs more. It keeps only the buckets that have counts, some
// KiB, because a report may have thousands of cells.
type MergedHist struct {
	p       *hdr.PackedHistogram
	reps    int
	samples int64
	max     int64
}

// Reps is the number of repetitions that are in it: those of a cell that had the
// histogram.
func (m *MergedHist) Reps() int { return m.reps }

// Samples is the number of samples that were taken.
func (m *MergedHist) Samples() int64 { return m.samples }

// Weight is the number of operations that the samples stand for, at least 1.
func (m *MergedHist) Weight() int64 { return m.p.TotalCount() }

// Max is the longest time, exactly as the repetitions recorded it.
func (m *MergedHist) Max() int64 { return m.max }

// Percentile returns the time at or below which pct percent (0 to 100) of the
// weight lies. It is up to 0.8 % too high, as in Hist. 100 gives Max.
func (m *MergedHist) Percentile(pct float64) int64 {
	return min(m.p.ValueAtPercentile(pct), m.max)
}

// add merges a repetition's latencies; nil or without a histogram it adds
// nothing. It returns m, made if it was nil.
func (m *MergedHist) add(l *Latency) (*MergedHist, error) {
	if l == nil || l.HDR == "" {
		return m, nil
	}
	p, err := decodePacked(l.HDR)
	if err != nil || p.TotalCount() == 0 {
		return m, err
	}
	if m == nil {
		m = &MergedHist{p: hdr.NewPacked(HistMinNS, HistMaxNS, HistDigits)}
	}
	if m.p.TotalCount() > maxWeight-p.TotalCount() {
		return m, errCounts
	}
	if dropped := m.p.Merge(p); dropped != 0 {
		return m, fmt.Errorf("decode histogram: %d counts are longer than one hour", dropped)
	}
	m.reps++
	m.samples += l.Count
	// Percentiles of a record that states no maximum end with their bucket.
	if l.Max > 0 {
		m.max = max(m.max, l.Max)
	} else {
		m.max = max(m.max, p.Max())
	}
	return m, nil
}

// addHists merges those of one repetition.
func (c *cellData) addHists(s *Sample) *FieldError {
	var err error
	if c.acquire, err = c.acquire.add(s.Acquire); err != nil {
		return &FieldError{Field: "acquire.hdr", Err: err}
	}
	if c.handoff, err = c.handoff.add(s.Handoff); err != nil {
		return &FieldError{Field: "handoff.hdr", Err: err}
	}
	if c.release, err = c.release.add(s.Remote.release()); err != nil {
		return &FieldError{Field: "remote.release.hdr", Err: err}
	}
	return nil
}
