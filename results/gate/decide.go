package gate

import (
	"fmt"
	"math"
	"slices"

	"lockbench/results"
	"lockbench/results/stat"
)

// A Verdict is what a test, or a whole gate, comes to.
type Verdict string

// Verdicts, from the best to the worst. A gate has the worst of its tests.
const (
	Pass         Verdict = "pass"
	Inconclusive Verdict = "inconclusive"
	Fail         Verdict = "fail"
	Violation    Verdict = "violation" // the new side broke exclusion, or hung
)

var verdictOrder = map[Verdict]int{Pass: 1, Inconclusive: 2, Fail: 3, Violation: 4}

// Worst is the worse of two verdicts.
func Worst(a, b Verdict) Verdict {
	if verdictOrder[b] > verdictOrder[a] {
		return b
	}
	return a
}

// A Decision is what one test comes to.
type Decision struct {
	Verdict Verdict
	// Open: the plan has further looks, and pairs may still come. The verdict
	// is Inconclusive.
	Open bool
	// Look is the last one that was made, the one that decided if one did.
	Look Look
	// Interval is the interval at Look: of log ratios new/old, or in the unit of the
	// metric on the new side for a limit. N = 0 before the first look.
	Interval stat.Interval
	Reason   string
	// Needed is about how many pairs would decide; 0 = unknown, or no number
	// would (Never: the change is about the threshold).
	Needed int
	Never  bool

	blocked bool // the look was vetoed, or its unknown values leave the interval open: no projection
}

// Decide holds the figures of one cell against a rule. xs has one value a kept
// pair, in the order in which the pairs were measured: the log ratio new/old,
// for a limit the figure of the new side; NaN where it is unknown, because a
// half lacks it. done says that the budget is used up, so that no pair will
// come.
//
// The plan looks at the first 16, 32, ... values. What a look decides stands,
// whatever came later: fail when the whole interval is beyond the threshold,
// pass when the whole interval is within it. So an interval that misses the
// truth is the only way to a false verdict of either kind. A pass may be vetoed
// by a bad tail, see veto: then later looks may decide.
//
// If the budget is used up between two looks, because pairs were dropped,
// there is one last look at what is there, with the alpha of the looks that
// will not take place. Its number of pairs is no choice of somebody who saw
// the figures: pairs are dropped by the coherence modes of their halves, which
// are measured beside the intervals and treat both sides alike.
//
// The interval of a relative rule is the Hodges-Lehmann estimate with
// signed-rank bounds. They assume that log ratios are symmetric about the
// change, and the order within a pair sees to that: it is drawn for each pair,
// so that without a change exchanging the halves is as likely as not, and each
// log ratio has its sign by a fair coin, given all sizes. Drift and noise that
// is correlated from pair to pair do not matter for that.
//
// The interval of a limit is of the median by order statistics. Nothing cancels
// there: it speaks of this machine while it was measured. Repetitions that
// resemble their neighbours count as fewer, see medianInterval.
func (p Plan) Decide(r *Rule, xs []float64, done bool) Decision {
	return p.decide(r, xs, nil, done)
}

// decide is Decide, of values of which lacks says why they are unknown; nil = it
// does not matter.
func (p Plan) decide(r *Rule, xs []float64, lacks []lack, done bool) Decision {
	d := Decision{Verdict: Inconclusive}
	n := len(xs)
	if len(p.Looks) == 0 {
		d.Needed = p.MinBudget()
		d.Reason = tooFew(p.Budget, d.Needed)
		return d
	}
	for _, l := range p.Looks {
		if l.Pairs > n {
			break
		}
		if d.look(p, r, xs[:l.Pairs], lacks, l); d.Verdict != Inconclusive {
			return d
		}
	}
	if rest := p.unspent(n); rest > 0 {
		if !done {
			d.Open = true
			d.Reason = fmt.Sprintf("undecided after %d pairs", n)
			return d
		}
		least := stat.MinSignedRank(rest)
		if n < least && d.Interval.N == 0 {
			d.Needed = least
			d.Reason = tooFew(n, least)
			return d
		}
		if n >= least && n > d.Look.Pairs {
			if d.look(p, r, xs, lacks, Look{n, rest}); d.Verdict != Inconclusive {
				return d
			}
		}
	}
	d.project(r, "pairs")
	return d
}

func tooFew(n, least int) string {
	s := "s"
	if n == 1 {
		s = ""
	}
	return fmt.Sprintf("%d pair%s can prove nothing at this level; it takes %d", n, s, least)
}

// look makes one look.
func (d *Decision) look(p Plan, r *Rule, xs []float64, lacks []lack, l Look) {
	d.Look, d.Needed = l, 0
	var eff int
	d.Interval, eff = r.interval(xs, l.Alpha)
	d.Verdict, d.Reason = r.judge(d.Interval)
	d.alike(len(xs), eff)
	d.blocked = slices.ContainsFunc(xs, math.IsNaN)
	if d.Verdict == Pass {
		if why := r.veto(xs, lacks, p.vetoLevel(l)); why != "" {
			d.Verdict, d.Reason, d.blocked = Inconclusive, why, true
		}
	}
}

// alike says that n values count as so few that they have no interval.
func (d *Decision) alike(n, eff int) {
	if d.Interval.OK || eff >= n {
		return
	}
	least := stat.MinSignedRank(d.Look.Alpha)
	d.Needed = roundUp(float64(n) * float64(least) / float64(eff))
	d.Reason = fmt.Sprintf("%d repetitions that resemble their neighbours count as %d, which can prove nothing at this level; it takes %d", n, eff, least)
}

// judge holds an interval against the threshold.
func (r *Rule) judge(i stat.Interval) (Verdict, string) {
	bound := r.bound()
	beyond, within := i.Lo > bound, i.Hi <= bound
	if r.Metric.Better == results.Higher {
		beyond, within = i.Hi < bound, i.Lo >= bound
	}
	switch {
	case !i.OK:
		return Inconclusive, "too few figures for an interval"
	case beyond:
		return Fail, "the whole interval is beyond the threshold"
	case within:
		return Pass, "the whole interval is within the threshold"
	}
	return Inconclusive, "the threshold is inside the interval"
}

// Projections beyond so many times what was measured say "never": the estimate
// is then within a tenth of the interval's half-width of the threshold, and
// what decides is chance.
const maxProjection = 100

// project says how many pairs would have decided, had the estimate stayed: the
// interval's width goes with 1/sqrt(n), and has to shrink until its end on
// the side of the threshold is there.
func (d *Decision) project(r *Rule, what string) {
	n := needed(r.bound(), d.Interval)
	open := d.Interval.Hi // the end that holds the decision up
	if d.Interval.Center > r.bound() {
		open = d.Interval.Lo
	}
	switch {
	case !d.Interval.OK || d.blocked:
	case n == 0 && math.IsInf(open, 0):
		d.Reason += ", whose end is infinite: in many " + what + " one side has nothing"
	case n == 0:
		d.Never = true
		d.Reason += fmt.Sprintf("; never decided, with %d times the %s: the estimate is about the threshold", maxProjection, what)
	default:
		d.Needed = n
		d.Reason += fmt.Sprintf("; about %d %s would decide", n, what)
	}
}

// needed is the projected number of values; 0 = never.
func needed(bound float64, i stat.Interval) int {
	half, gap := i.Hi-i.Center, i.Center-bound
	if gap > 0 {
		half = i.Center - i.Lo
	}
	gap = math.Abs(gap)
	if i.OK && math.IsInf(gap, 0) {
		return 2 * i.N // most are infinite; the bounds will be, too, with more
	}
	if !i.OK || gap == 0 || math.IsInf(half, 0) {
		return 0
	}
	factor := (half / gap) * (half / gap)
	if !(factor <= maxProjection) {
		return 0
	}
	return roundUp(max(float64(i.N)*factor, float64(i.N+1)))
}

// roundUp keeps two digits: the projection does not know more.
func roundUp(v float64) int {
	step := math.Pow(10, math.Max(0, math.Floor(math.Log10(v))-1))
	return int(math.Ceil(v/step) * step)
}
