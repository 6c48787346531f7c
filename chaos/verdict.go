package chaos

import (
	"fmt"
	"math"
	"slices"
	"time"

	"lockbench/backends"
	"lockbench/chaos/linear"
	"lockbench/results"
)

// verdict sums a cell up. r.mu is held.
func (r *run) verdict(c *Cell, rounds []Observation, facts backends.Facts, t Times) results.ChaosVerdict {
	v := results.ChaosVerdict{Type: results.TypeVerdict, Lock: c.Lock.Name, Kind: c.Lock.Kind.String(), Topology: facts.Topology, Network: facts.Network,
		Version: facts.Version, Fault: c.Fault.Name, On: string(c.Fault.On), Policy: c.Policy, Params: r.params(c), Seed: r.o.Seed, Control: c.Control}
	if c.Lock.Remote != nil {
		v.Peer = c.Lock.Remote.Peer
	}
	if c.Skip != "" {
		v.Verdict, v.Reason = results.VerdictSkipped, c.Skip
		r.expect(&v, c, t)
		return v
	}
	if c.Failed != "" {
		v.Verdict, v.Reason = results.VerdictUnknown, "its servers did not come up: "+c.Failed
		r.expect(&v, c, t)
		return v
	}
	rounds = slices.Clone(rounds)
	slices.SortFunc(rounds, func(a, b Observation) int { return a.Round - b.Round })
	sum := tallyUp(&v, rounds, c.fenced())
	v.TTLMS = ms(t.TTL)
	if sum.ttl > 0 {
		v.TTLMS = ms(sum.ttl)
		t.TTL = sum.ttl
	}
	switch {
	case v.Bad > 0 && sum.saved && c.fenced() && v.StaleUnfenced > 0:
		v.Verdict, v.Reason = results.VerdictFence, sum.why
	case v.Bad > 0:
		v.Verdict, v.Reason = results.VerdictUnsafe, sum.why
	case sum.stuck > 0 && v.Probative+sum.stuck >= r.o.RoundsOf(c) && r.never(c):
		v.Verdict, v.Reason = results.VerdictSafe, fmt.Sprintf("nobody got in at all in %d of %d rounds, as theory expects", sum.stuck, v.Felt)
		v.Probative += sum.stuck
		pct := 100 * atMost(v.Probative)
		v.AtMost = &pct
	case v.Probative >= r.o.RoundsOf(c):
		v.Verdict = results.VerdictSafe
		pct := 100 * atMost(v.Probative)
		v.AtMost = &pct
	default:
		v.Verdict = results.VerdictUnknown
		v.Reason = fmt.Sprintf("%d of %d rounds counted, %d are wanted; the last: %s", v.Probative, v.Rounds, r.o.RoundsOf(c), orElse(sum.not, "none ran"))
	}
	r.expect(&v, c, t)
	switch {
	case sum.bad != nil:
		r.show(&v, c, sum.bad)
	case !v.Agrees && len(rounds) > 0: // better than expected, or not known: what happened instead
		v.Counterfile = r.write(c, &rounds[0])
	}
	return v
}

// summary is what a cell's rounds came to, beside the record's own figures.
type summary struct {
	saved bool          // in each bad round the fenced store stayed clean
	bad   *Observation  // the first bad round, one with damage if there is one
	why   string        // what was bad, in words
	not   string        // why the last round that did not count did not
	stuck int           // rounds in which nobody got in
	ttl   time.Duration // of leases, as granted
}

func tallyUp(v *results.ChaosVerdict, rounds []Observation, fenced bool) summary {
	s := summary{saved: true}
	var recovery, lag, gap, past []time.Duration
	stale, rejected := 0, 0
	var lost int64
	begin, end := int64(math.MaxInt64), int64(0)
	for i := range rounds {
		o := &rounds[i]
		v.Rounds++
		if j := o.Injection; j.InjectedNS != 0 {
			begin, end = min(begin, j.InjectedNS), max(end, j.InjectedNS, j.RecoveredNS)
		}
		if !o.Felt {
			s.not = o.Why
			continue
		}
		v.Felt++
		switch {
		case o.Probative:
			v.Probative++
		case o.Stuck:
			s.stuck++
			s.not = o.Why
		default:
			s.not = o.Why
		}
		v.Injections++
		v.DoubleGrants += o.DoubleGrants
		v.StaleHolders += o.StaleHolders
		v.StaleUnfenced += o.StaleUnfenced
		stale += o.StaleFenced
		rejected += o.CurrentRejected
		lost += max(o.LostUpdates, -o.LostUpdates)
		v.Orphans += len(o.Orphans)
		v.OverlapMaxMS = max(v.OverlapMaxMS, ms(o.Overlap))
		v.OverlapRunningMaxMS = max(v.OverlapRunningMaxMS, ms(o.OverlapRunning))
		s.ttl = max(s.ttl, o.OwnTTL)
		for _, x := range []struct {
			to *[]time.Duration
			d  *time.Duration
		}{{&recovery, o.Recovery}, {&lag, o.Detection}, {&gap, o.Gap}, {&past, o.Past}} {
			if x.d != nil {
				*x.to = append(*x.to, *x.d)
			}
		}
		v.Linearizable = worseLinear(v.Linearizable, o.Linear)
		if o.Bad() {
			v.Bad++
			s.saved = s.saved && o.Saved()
			if s.bad == nil || s.bad.StaleUnfenced == 0 && o.StaleUnfenced > 0 {
				s.bad = o
			}
		}
	}
	if fenced {
		v.StaleFenced, v.CurrentRejected = &stale, &rejected
	}
	if v.Kind != "lease" || v.Policy == Protected {
		v.LostUpdates = &lost
	}
	v.Recovery, v.DetectionLag, v.Gap, v.PastDeadline = timing(recovery), timing(lag), timing(gap), timing(past)
	if end > begin {
		v.ElapsedMS = float64(end-begin) / 1e6
	}
	if b := s.bad; b != nil {
		s.why = fmt.Sprintf("%d of %d rounds: ", v.Bad, v.Felt)
		switch {
		case b.LostUpdates > 0:
			s.why += fmt.Sprintf("%d acknowledged updates are lost", b.LostUpdates)
		case b.LostUpdates < 0:
			s.why += fmt.Sprintf("%d updates more than anybody made", -b.LostUpdates)
		case b.DoubleGrants > 0 && b.StaleUnfenced > 0:
			s.why += "granted to a second while the first one's lease was valid, and both wrote"
		case b.DoubleGrants > 0:
			s.why += "granted to a second while the first one's lease was valid"
		case b.StaleUnfenced == 0:
			s.why += "not linearizable: " + b.LinearWhy
		default:
			s.why += "the old holder wrote after its successor had begun"
		}
		if b.CurrentRejected > 0 {
			s.why += "; the fenced store refused the rightful holder"
		} else if b.StaleFenced > 0 {
			s.why += "; the fenced store took it, too"
		}
	}
	return s
}

// never reports whether theory says that nobody gets in by itself.
func (r *run) never(c *Cell) bool {
	if r.o.Expect == nil {
		return false
	}
	e, ok := r.o.Expect(c.Lock.Name, c.Topology.Name, c.Fault.Name, c.Policy)
	return ok && e.Never
}

// expect compares with theory.
func (r *run) expect(v *results.ChaosVerdict, c *Cell, t Times) {
	if c.Control {
		v.Expected, v.Agrees, v.Theory = c.Want, v.Verdict == c.Want, "the harness's own lock server is made so"
		return
	}
	if r.o.Expect == nil {
		return
	}
	e, ok := r.o.Expect(c.Lock.Name, c.Topology.Name, c.Fault.Name, c.Policy)
	if !ok {
		return
	}
	v.Theory, v.BoundText = e.Theory, e.Bound
	if e.Seen != "" && v.Verdict == e.Seen {
		v.Known, v.Note = true, e.Note
	}
	if e.Verdict != results.VerdictSkipped {
		v.Expected = e.Verdict
	}
	v.Agrees = v.Verdict == e.Verdict
	if e.BoundMS != nil && v.Verdict != results.VerdictSkipped {
		if b, err := e.BoundMS(t, v.Params); err == nil {
			v.BoundMS = &b
		}
	}
}

// params are those of a cell, as they are used: what was set, and the defaults.
func (r *run) params(c *Cell) map[string]float64 {
	out := map[string]float64{}
	for _, p := range c.Fault.Params {
		if v, ok := r.set(c)[p.Name]; ok {
			out[p.Name] = v
		} else if p.Default != nil {
			out[p.Name] = *p.Default
		}
	}
	return out
}

// worseLinear is what two rounds say together: one that is not linearizable is the finding, one that nobody knows of
// leaves it open.
func worseLinear(a, b string) string {
	for _, v := range []string{linear.No, linear.Unknown, linear.Yes} {
		if a == v || b == v {
			return v
		}
	}
	return ""
}

// atMost is the largest share of bad rounds that is compatible, at 95 %, with none in n: 1 - 0.05^(1/n).
func atMost(n int) float64 { return 1 - math.Pow(0.05, 1/float64(n)) }

// percentileRounds is how many durations a 99th percentile needs to be one.
const percentileRounds = 100

func timing(d []time.Duration) *results.Timing {
	if len(d) == 0 {
		return nil
	}
	slices.Sort(d)
	t := &results.Timing{Count: len(d), P50: (ms(d[(len(d)-1)/2]) + ms(d[len(d)/2])) / 2, Max: ms(d[len(d)-1])}
	if len(d) >= percentileRounds {
		p := ms(d[int(math.Ceil(0.99*float64(len(d))))-1])
		t.P99 = &p
	}
	return t
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// without are the strings of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
