package inproc

import (
	"fmt"
	"math"
	"slices"

	"lockbench/results"
)

// bad reports whether two were inside at once.
func bad(r round) bool {
	_, met := overlap(r.Visits, r.EndNS)
	return met > 0
}

// felt reports whether the fault came, and evidence shows it.
func felt(r round) bool { return r.FaultNS != 0 && r.Felt != "" }

// queued is how many waiters came back no earlier than the fault, or not at all.
func queued(r round) int {
	n := 0
	for _, w := range r.Waits {
		if w.EndNS >= r.FaultNS {
			n++
		}
	}
	return n
}

// probative reports whether the round proves something: the fault was felt while somebody queued, and what
// had to come after it came. Of a lock that is given back that is the next grant, and everybody's way out;
// of one that is not, the end of the observation. A bad round proves something by itself.
func (s *session) probative(r round) bool {
	if bad(r) {
		return true
	}
	if r.Err != "" || !felt(r) || queued(r) == 0 {
		return false
	}
	return !s.setup.gives() || !r.Stuck
}

// recovery returns the time from the fault to the next grant, in ns.
func recovery(r round) (ns int64, ok bool) {
	for _, v := range r.Visits {
		if v.Role != roleHolder && r.FaultNS != 0 && v.EnterNS >= r.FaultNS && (!ok || v.EnterNS-r.FaultNS < ns) {
			ns, ok = v.EnterNS-r.FaultNS, true
		}
	}
	return ns, ok
}

// judge fills in the figures and the verdict.
//
//	a bad round                          unsafe
//	none, and enough probative ones      safe, though nobody may ever get in again
//	else                                 unknown
func (s *session) judge(v *results.ChaosVerdict) {
	v.Rounds = len(s.rounds) + len(s.failures)
	var recoveries []float64
	for _, r := range s.rounds {
		longest, met := overlap(r.Visits, r.EndNS)
		v.OverlapMaxMS = max(v.OverlapMaxMS, float64(longest)/1e6)
		v.DoubleGrants += met
		if met > 0 {
			v.Bad++
			if v.Counterexample == "" {
				v.Counterexample = timeline(r)
			}
		}
		if felt(r) {
			v.Felt++
		}
		if r.FaultNS != 0 {
			v.Injections++
		}
		if !s.probative(r) {
			continue
		}
		v.Probative++
		if ns, ok := recovery(r); ok {
			recoveries = append(recoveries, float64(ns)/1e6)
		}
	}
	// Nobody is ever stopped here: a sleeping holder is one that runs.
	v.OverlapRunningMaxMS = v.OverlapMaxMS
	v.Recovery = timing(recoveries)
	switch {
	case v.Bad > 0:
		v.Verdict = results.VerdictUnsafe
	case v.Probative >= s.o.Rounds:
		v.Verdict = results.VerdictSafe
	default:
		v.Verdict = results.VerdictUnknown
	}
	if v.Bad == 0 && v.Probative > 0 {
		// No bad one of n: the share at which that has a chance of 5 %.
		most := 100 * (1 - math.Pow(0.05, 1/float64(v.Probative)))
		v.AtMost = &most
	}
	v.Reason = s.reason(*v)
}

// timing sums durations up, in ms; nil if there are none.
func timing(ms []float64) *results.Timing {
	if len(ms) == 0 {
		return nil
	}
	slices.Sort(ms)
	t := &results.Timing{Count: len(ms), P50: median(ms), Max: ms[len(ms)-1]}
	if len(ms) >= 100 {
		p := ms[(len(ms)*99+99)/100-1]
		t.P99 = &p
	}
	return t
}

// median of sorted values, at least one.
func median(x []float64) float64 { return (x[(len(x)-1)/2] + x[len(x)/2]) / 2 }

// eventsOf tells of one round: its course in a line, and what was found.
func (s *session) eventsOf(r round) []results.Event {
	event := func(kind, text, dump string) results.Event {
		at := r.FaultNS
		if at == 0 {
			at = r.EndNS
		}
		return results.Event{Type: "event", Kind: kind, Cell: s.cell(), Rep: r.N, AtNS: at, Text: text, Dump: dump}
	}
	evidence := r.Felt
	if evidence == "" {
		evidence = "not felt"
	}
	if r.Queued != "" {
		evidence = r.Queued + "; " + evidence
	}
	out := []results.Event{event("fault", fmt.Sprintf("%s: %s; observed for %s ms", s.o.Fault, evidence, ms(r.EndNS-r.FaultNS)), "")}
	if r.FaultNS == 0 {
		out[0].Text = fmt.Sprintf("%s did not come: %s", s.o.Fault, r.Err)
	}
	if bad(r) {
		out = append(out, event("violation", timeline(r), ""))
	}
	if r.Err != "" || s.setup.gives() && r.Stuck {
		text := r.Err
		if text == "" {
			text = "the lock was given back, yet somebody waits on\n" + timeline(r)
		}
		out = append(out, event("hang", text, r.Dump))
	}
	return out
}
