package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// An Outlier is a repetition that is far from the others of its cell by one
// metric. It is named, and kept in every figure: the cause may be the machine or
// the lock, and nothing in the number tells which.
type Outlier struct {
	Rep    int     `json:"rep"`
	Metric string  `json:"metric"` // throughput_ops_s or acquire_p99_ns
	Value  float64 `json:"value"`
	Median float64 `json:"median"` // of the cell's repetitions
}

// outlierMetrics are those that are judged: one of speed, one of latency. More
// would mark most cells for something.
var outlierMetrics = [...]string{"throughput_ops_s", "acquire_p99_ns"}

// minOutlier is the fewest repetitions among which one can be called far from
// the others.
const minOutlier = MinReps

// scaleFloor is the least spread that is believed, as a logarithm: 1 %. Without
// it a cell whose repetitions agree to a tenth of a per cent, or are equal in more
// than half (MAD = 0), would have outliers that nobody could act on.
const scaleFloor = 0.01

// maxOutlying is the largest share of repetitions that can be outliers. More are
// a second level: a percentile that is 100 ns in most repetitions and 200 ns in
// a third of them, because clocks and histograms have steps.
const maxOutlying = 0.2

// outlierCut is the modified z-score above which one of n values is an outlier.
// Iglewicz and Hoaglin ("How to Detect and Handle Outliers", ASQC, 1993) propose
// 3.5. In simulation of normal values that marks 9 to 17 % of cells of 6 to 100
// repetitions, because the MAD of a few values is uncertain itself; these mark
// about 1 % (see TestOutlierRates).
func outlierCut(n int) float64 {
	switch {
	case n < 9:
		return 11
	case n < 15:
		return 8
	case n < 25:
		return 6
	}
	return 5
}

// outliers are the repetitions whose logarithm is farther from the median than
// outlierCut allows, in units of the scaled MAD. Logarithms, because rates and
// times vary by factors. A cell of two modes has groups, not outliers.
func outliers(ok []row, list []Metric, m *Modes) []Outlier {
	if len(ok) < minOutlier || m != nil {
		return nil
	}
	var out []Outlier
	for _, name := range outlierMetrics {
		i := metricIndex(list, name)
		v := column(ok, i)
		if 2*len(v) <= len(ok) || len(v) < minOutlier {
			continue
		}
		slices.Sort(v)
		median := middle(v)
		d := make([]float64, len(v))
		for k, x := range v {
			d[k] = logDistance(x, median)
		}
		slices.Sort(d)
		// A normal distribution's standard deviation is MAD / 0.6745.
		limit := outlierCut(len(v)) * max(middle(d)/0.6745, scaleFloor)
		var far []Outlier
		for k := range ok {
			if x := ok[k].value(i); !math.IsNaN(x) && logDistance(x, median) > limit {
				far = append(far, Outlier{Rep: ok[k].rep, Metric: name, Value: x, Median: median})
			}
		}
		if float64(len(far)) <= maxOutlying*float64(len(v)) {
			out = append(out, far...)
		}
	}
	return out
}

// logDistance is how far a is from b, as a logarithm; infinite between zero and
// another number.
func logDistance(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(math.Log(a) - math.Log(b))
}

func metricIndex(list []Metric, name string) int {
	return slices.IndexFunc(list, func(m Metric) bool { return m.Name == name })
}

// outlyingReps is the number of repetitions among outliers.
func outlyingReps(out []Outlier) int {
	reps := map[int]bool{}
	for _, o := range out {
		reps[o.Rep] = true
	}
	return len(reps)
}

// maxNamed is how many outliers a text names; all are in Outliers.
const maxNamed = 5

func outlierText(out []Outlier) string {
	var parts []string
	for _, o := range out[:min(len(out), maxNamed)] {
		parts = append(parts, fmt.Sprintf("repetition %d: %s %.3g, median %.3g", o.Rep, o.Metric, o.Value, o.Median))
	}
	if more := len(out) - maxNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}
