package results

import "math"

// A row is what the summary of a cell needs of one repetition. It is a quarter of
// a Sample, so that a file of many repetitions is summarised in little memory.
type row struct {
	rep     int
	outcome string
	// values are the figures of an ok repetition in the order of MetricList; NaN =
	// it does not have the figure.
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
	r.values = make([]float64, len(list))
	for i, m := range list {
		v, ok := m.Of(s)
		if !ok {
			v = math.NaN()
		}
		r.values[i] = v
	}
	return r
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
		if v := rows[i].values[metric]; !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}
