package gate

import (
	"fmt"
	"math"
	"slices"

	"lockbench/results"
	"lockbench/results/pairs"
)

// An interval of the centre says nothing of a tail: a lock that stops in one of
// eight repetitions has the same Hodges-Lehmann estimate as one that never
// does. So a pass is vetoed if the bad pairs are more than the good ones by more
// than chance.

// vetoAlpha is the probability that some pass of a gate is vetoed by chance,
// shared evenly by the tests: without a change bad and good pairs are equally
// likely, a fair coin each. A veto makes a test inconclusive, never false, so
// that it need not be as rare as a false verdict. A test that is vetoed for good
// is so at its last look, which is one comparison a test. It takes five bad pairs
// without a good one with one test, eight with ten.
const vetoAlpha = 0.05

// suspectAlpha is the level of a veto at a look before the last: two bad pairs
// without a good one are enough to look again, which costs pairs and nothing
// else. A tail that has its share of 128 pairs may show twice in 32.
const suspectAlpha = 0.25

// vetoLevel is the level of the veto at a look.
func (p Plan) vetoLevel(l Look) float64 {
	level := vetoAlpha / float64(max(1, p.Tests))
	if n := len(p.Looks); n > 0 && l.Pairs < p.Looks[n-1].Pairs && slices.Contains(p.Looks, l) {
		return max(level, suspectAlpha)
	}
	return level
}

// vetoFactor is how much worse than allowed a bad pair is at least.
const vetoFactor = 2

// A lack says that a pair lacks the figure on one side alone.
type lack int8

const (
	lacksNone lack = 0
	lacksOld  lack = -1
	lacksNew  lack = 1
)

// veto says why the values of a look do not let it pass, "" if they do. A
// pair is bad if it is worse than the threshold by more than vetoFactor, or
// lacks the figure on the new side alone; it is good if it is as much beyond
// the mirror image, or lacks it on the old side alone. A limit, which has no
// mirror image, goes by those that lack the figure. lacks may be nil.
func (r *Rule) veto(xs []float64, lacks []lack, level float64) string {
	bad, good, missing := 0, 0, 0
	for i, x := range xs {
		switch w := r.worse(x); {
		case i < len(lacks) && lacks[i] == lacksNew:
			bad++
			missing++
		case i < len(lacks) && lacks[i] == lacksOld:
			good++
		case !r.relative():
		case w > r.worse(r.bound())+math.Log(vetoFactor):
			bad++
		case w < -r.worse(r.bound())-math.Log(vetoFactor):
			good++
		}
	}
	if atLeast(bad, bad+good, 0.5) > level {
		return ""
	}
	what := "are more than twice as bad as allowed"
	switch {
	case missing == bad:
		what = "lack the figure on the new side alone"
	case missing > 0:
		what += " or lack the figure on the new side alone"
	}
	return fmt.Sprintf("the interval is within the threshold, but %d of %d pairs %s, and only %d are as good", bad, len(xs), what, good)
}

// worse is a log ratio with the sign of "worse": above 0 is worse.
func (r *Rule) worse(x float64) float64 {
	if r.Metric.Better == results.Higher {
		return -x
	}
	return x
}

// vetoFiles is the veto of two files: repetitions that are bad against the
// median of the old side, on the new side more often than on the old. Values are
// logarithms; unknown ones are bad.
func (r *Rule) vetoFiles(old, new []float64, level float64) string {
	known, _, _ := filled(old, 0)
	mid := results.NewEstimate(known).Median
	count := func(xs []float64) (bad int) {
		for _, x := range xs {
			if math.IsNaN(x) || x != mid && r.worse(x-mid) > r.worse(r.bound())+math.Log(vetoFactor) {
				bad++
			}
		}
		return bad
	}
	n, o := count(new), count(old)
	if atLeast(n, n+o, float64(len(new))/float64(len(new)+len(old))) > level {
		return ""
	}
	return fmt.Sprintf("the interval is within the threshold, but %d of %d repetitions of the new side are more than twice as bad as allowed"+
		" or lack the figure, and only %d of %d of the old", n, len(new), o, len(old))
}

// atLeast is the probability of k or more heads in n throws of a coin that falls
// on heads with probability p, 0 < p < 1.
func atLeast(k, n int, p float64) float64 {
	lg := func(i int) float64 { v, _ := math.Lgamma(float64(i + 1)); return v }
	sum := 0.0
	for i := k; i <= n; i++ {
		sum += math.Exp(lg(n) - lg(i) - lg(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}

// outcomeIdle is the finding of repetitions that ended well, without a single
// operation.
const outcomeIdle = "no operation"

// idle is the finding that the new side had repetitions without an operation
// more often than the old: in new of n against old of m. Of pairs, those in which
// both halves had none are not counted. nil = not beyond chance.
func idle(cell string, new, n, old, m int, level float64) []Finding {
	if n == 0 || m == 0 || atLeast(new, new+old, float64(n)/float64(n+m)) > level {
		return nil
	}
	return []Finding{{Cell: cell, Side: results.SideNew, Outcome: outcomeIdle, Reps: new, Of: n, Old: old, Verdict: Inconclusive}}
}

// idlePairs is the finding about pairs.
func idlePairs(c *pairs.Cell, level float64) []Finding {
	old, new := 0, 0
	for _, p := range c.Pairs {
		switch o, n := p.Old.Ops == 0, p.New.Ops == 0; {
		case o && !n:
			old++
		case n && !o:
			new++
		}
	}
	return idle(c.Name, new, len(c.Pairs), old, len(c.Pairs), level)
}

// idleFiles is the finding about two files.
func idleFiles(c *fileCell, level float64) []Finding {
	count := func(samples []*results.Sample) (n int) {
		for _, s := range samples {
			if s.Ops == 0 {
				n++
			}
		}
		return n
	}
	return idle(c.Name, count(c.new.ok), len(c.new.ok), count(c.old.ok), len(c.old.ok), level)
}
