package results

import (
	"math"
	"slices"
)

// Bounds of what is believed of a chaos cell.
const (
	maxRounds = 1 << 30
	maxSpanMS = float64(maxSpanNS) / 1e6
	// timingP99 is from how many durations on a 99th percentile says something: of fewer it is the longest.
	timingP99 = 100
)

var (
	// judged are the verdicts that rounds have shown, from the best to the worst.
	judged       = []string{VerdictSafe, VerdictFence, VerdictUnsafe}
	linearizable = []string{"", "yes", "no", "unknown"}
)

// Judged reports whether the rounds came to a verdict: neither unknown nor skipped.
func (v *ChaosVerdict) Judged() bool { return slices.Contains(judged, v.Verdict) }

// Validate reports the first field that cannot be true: a word that is no verdict, rounds that
// do not add up, a safe verdict without a round that proves it, a skip without its reason, an
// absurd magnitude. The error is a *FieldError.
func (v *ChaosVerdict) Validate() error {
	var c checker
	for _, f := range []struct{ name, text string }{{"lock", v.Lock}, {"fault", v.Fault}, {"policy", v.Policy}} {
		c.require(f.name, f.text != "", "is empty")
	}
	c.require("verdict", v.Judged() || v.Verdict == VerdictUnknown || v.Verdict == VerdictSkipped,
		"%q is none of safe, safe-with-fence, unsafe, unknown, skipped", Printable(v.Verdict))
	c.require("expected", v.Expected == "" || slices.Contains(judged, v.Expected),
		"%q is none of safe, safe-with-fence, unsafe", Printable(v.Expected))
	c.require("linearizable", slices.Contains(linearizable, v.Linearizable), "%q is none of yes, no, unknown", Printable(v.Linearizable))
	v.validateRounds(&c)
	v.validateVerdict(&c)
	v.validateFigures(&c)
	return c.result()
}

// validateRounds: of the rounds that were run some felt the fault, and of these some prove something.
func (v *ChaosVerdict) validateRounds(c *checker) {
	for _, n := range []struct {
		name string
		n    int
	}{{"rounds", v.Rounds}, {"felt", v.Felt}, {"probative", v.Probative}, {"injections", v.Injections}, {"bad_rounds", v.Bad},
		{"double_grants", v.DoubleGrants}, {"stale_holders", v.StaleHolders}, {"stale_writes_unfenced", v.StaleUnfenced}, {"orphans", v.Orphans}} {
		c.count(n.name, int64(n.n))
		c.require(n.name, n.n <= maxRounds, "%d is not credible", n.n)
	}
	for _, n := range []struct {
		name string
		n    *int
	}{{"stale_writes_fenced", v.StaleFenced}, {"current_rejected", v.CurrentRejected}} {
		if n.n != nil {
			c.count(n.name, int64(*n.n))
		}
	}
	if v.LostUpdates != nil {
		c.count("lost_updates", *v.LostUpdates)
	}
	c.require("felt", v.Felt <= v.Rounds, "%d of %d rounds", v.Felt, v.Rounds)
	c.require("probative", v.Probative <= v.Felt, "%d of %d rounds in which the fault was felt", v.Probative, v.Felt)
	c.require("bad_rounds", v.Bad <= v.Rounds, "%d of %d rounds", v.Bad, v.Rounds)
}

// validateVerdict: the verdict follows from the rounds.
func (v *ChaosVerdict) validateVerdict(c *checker) {
	switch v.Verdict {
	case VerdictSafe:
		c.require("verdict", v.Probative > 0, "safe, but no round proves it")
		c.require("verdict", v.Bad == 0, "safe, but %d rounds were bad", v.Bad)
	case VerdictFence:
		c.require("verdict", v.Bad > 0, "safe-with-fence, but no round was bad: it is safe")
		c.require("stale_writes_fenced", v.StaleFenced != nil && *v.StaleFenced == 0, "safe-with-fence, but the fenced store did not stay whole")
	case VerdictUnsafe:
		c.require("verdict", v.Bad > 0, "unsafe, but no round was bad")
	default:
		c.require("reason", v.Reason != "", "%s, but it is not said why", Printable(v.Verdict))
	}
	if v.Judged() && v.Expected != "" {
		c.require("agrees", v.Agrees == (v.Verdict == v.Expected), "%t, but %s was expected and %s seen", v.Agrees, Printable(v.Expected), Printable(v.Verdict))
	}
	c.require("bad_at_most_pct", v.AtMost == nil || v.Bad == 0, "there is a bound for no bad round, and there were %d", v.Bad)
	c.pct("bad_at_most_pct", v.AtMost)
}

func (v *ChaosVerdict) validateFigures(c *checker) {
	for _, f := range []struct {
		name string
		ms   float64
	}{{"ttl_ms", v.TTLMS}, {"overlap_ms_max", v.OverlapMaxMS}, {"overlap_running_ms_max", v.OverlapRunningMaxMS}, {"elapsed_ms", v.ElapsedMS}} {
		c.millis(f.name, f.ms, 0)
	}
	if v.BoundMS != nil {
		c.millis("bound_ms", *v.BoundMS, 0)
	}
	// The next one of an unsafe lock may get in before the holder has left, from when the recovery is counted.
	c.timing("recovery", v.Recovery, -maxSpanMS)
	c.timing("availability_gap", v.Gap, 0)
	// A holder that gives its lease up before the server does knows of its end too early.
	c.timing("detection_lag", v.DetectionLag, -maxSpanMS)
	c.timing("past_deadline", v.PastDeadline, -maxSpanMS)
	for _, name := range sortedNames(v.Params) {
		p := v.Params[name]
		c.require("params."+Printable(name), !math.IsNaN(p) && !math.IsInf(p, 0), "%g is no number", p)
	}
}

func (c *checker) millis(field string, ms, least float64) {
	c.require(field, ms >= least && !math.IsNaN(ms), "%g is less than %g", ms, least)
	c.require(field, ms <= maxSpanMS, "%g ms is longer than a year", ms)
}

func (c *checker) timing(field string, t *Timing, least float64) {
	if t == nil {
		return
	}
	c.count(field+".count", int64(t.Count))
	c.require(field+".count", t.Count > 0, "0: without durations the field is null")
	c.millis(field+".p50_ms", t.P50, least)
	c.millis(field+".max_ms", t.Max, least)
	c.require(field+".max_ms", t.Max >= t.P50, "%g is below the median, %g", t.Max, t.P50)
	if t.P99 != nil {
		c.require(field+".p99_ms", t.Count >= timingP99, "of %d durations there is none; it takes %d", t.Count, timingP99)
		c.require(field+".p99_ms", *t.P99 >= t.P50 && *t.P99 <= t.Max, "%g is not between the median %g and the longest %g", *t.P99, t.P50, t.Max)
	}
}
