package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lockbench/results/stat"
)

// A figure that only one half of a pair has is not "no figure": a lock that
// stops has no acquisitions to time, and leaving such pairs out would take the
// worst ones away. Its log ratio is unknown, anything from -Inf to +Inf. The bounds
// of the interval are the worst that the unknown ones allow, as in C.F.
// Manski, J.L. Horowitz, "Identification and robustness with contaminated and
// corrupted data", Econometrica 63 (1995) 281-302, and, of missing outcomes,
// "Nonparametric analysis of randomized experiments with missing covariate and
// outcome data", Journal of the American Statistical Association 95 (2000) 77-84:
// a few make it wider, many make it say nothing. The estimate is that of the
// known ones.

// unknown is the value of such a pair.
var unknown = math.NaN()

// filled are the known values of xs, and xs with the unknown ones as small and
// as large as can be.
func filled(xs []float64, least float64) (known, low, high []float64) {
	low, high = slices.Clone(xs), slices.Clone(xs)
	for i, x := range xs {
		if math.IsNaN(x) {
			low[i], high[i] = least, math.Inf(1)
		} else {
			known = append(known, x)
		}
	}
	return known, low, high
}

// interval is that of the centre of xs, by which a rule decides. eff is how
// many independent values a limit's count as, len(xs) of a relative rule.
func (r *Rule) interval(xs []float64, alpha float64) (i stat.Interval, eff int) {
	if !r.relative() {
		return medianInterval(xs, alpha)
	}
	known, low, high := filled(xs, math.Inf(-1))
	i = stat.SignedRank(low, alpha)
	if len(known) < len(xs) {
		i.Hi = stat.SignedRank(high, alpha).Hi
		i.Center = stat.SignedRank(known, alpha).Center
	}
	return i, len(xs)
}

// shift is the Mann-Whitney interval of new - old, of values of which some are
// unknown.
func shift(old, new []float64, alpha float64) stat.Interval {
	oldKnown, oldLow, oldHigh := filled(old, math.Inf(-1))
	newKnown, newLow, newHigh := filled(new, math.Inf(-1))
	i := stat.MannWhitney(oldHigh, newLow, alpha)
	if len(oldKnown) < len(old) || len(newKnown) < len(new) {
		i.Hi = stat.MannWhitney(oldLow, newHigh, alpha).Hi
		i.Center = stat.MannWhitney(oldKnown, newKnown, alpha).Center
	}
	return i
}

// lackText is "5 pairs lack the metric on the new side", "" if none does.
func lackText(what string, old, new int) string {
	var parts []string
	for _, s := range []struct {
		side string
		n    int
	}{{"new", new}, {"old", old}} {
		switch {
		case s.n == 0:
		case len(parts) > 0:
			parts = append(parts, fmt.Sprintf("%d on the %s", s.n, s.side))
		case s.n == 1:
			parts = append(parts, fmt.Sprintf("1 %s lacks the metric on the %s side", what, s.side))
		default:
			parts = append(parts, fmt.Sprintf("%d %ss lack the metric on the %s side", s.n, what, s.side))
		}
	}
	return strings.Join(parts, ", ")
}

// lacking adds to the reason how many pairs, or repetitions, lack the figure.
func (t *Test) lacking(what string) {
	if text := lackText(what, t.MissingOld, t.MissingNew); text != "" {
		t.Reason += "; " + text
	}
}
