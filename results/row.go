package results

import "math"

// A row is what the summary of a cell needs of one repetition. It is a quarter of
// a Sample, so that a file of many repetitions is summarised in little memory.
type row struct {
	rep     int
	outcome string
	// values are the figures of an ok repetition in the order of MetricList; NaN, or
	// beyond the end, = it does not have the figure. Those of distributed locks are the
	// last, so that the others do not pay for them.
	values []float64
	*rare
}

// rare is what few repetitions have.
type rare struct {
	reason                string
	flags                 []string
	phases                []Phase
	offered               float64
	starved, probeDiffers bool
}

// none is the rare part of most repetitions; nothing writes to it.
var none rare

func rowOf(s *Sample, list []Metric) row {
	r := row{rep: s.Rep, outcome: s.Outcome, rare: &none}
	x := rare{
		reason: s.Reason, flags: s.Flags, phases: s.Phases, offered: s.OfferedOps,
		starved: starved(s), probeDiffers: probeDiffers(s),
	}
	if x.reason != "" || len(x.flags) > 0 || len(x.phases) > 0 || x.offered != 0 || x.starved || x.probeDiffers {
		r.rare = &x
	}
	if s.Outcome != OutcomeOK {
		return r
	}
	n := len(list)
	if s.Remote == nil {
		n -= remoteCount
	}
	r.values = make([]float64, n)
	for i, m := range list[:n] {
		v, ok := m.Of(s)
		if !ok {
			v = math.NaN()
		}
		r.values[i] = v
	}
	return r
}

// remoteCount is the number of metrics that only distributed locks have.
var remoteCount = len(remoteMetrics())

// value is a figure, NaN without it.
func (r *row) value(metric int) float64 {
	if metric >= len(r.values) {
		return math.NaN()
	}
	return r.values[metric]
}

// rowsOf are the rows of samples.
func rowsOf(samples []*Sample, list []Metric) []row {
	rows := make([]row, len(samples))
	for i, s := range samples {
		rows[i] = rowOf(s, list)
	}
	return rows
}

// column is a metric of the repetitions that have it.
func column(rows []row, metric int) []float64 {
	out := make([]float64, 0, len(rows))
	for i := range rows {
		if v := rows[i].value(metric); !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}
