package inproc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// ms writes a duration given in ns as milliseconds.
func ms(ns int64) string {
	if ns < 0 {
		return "-" + num.Whole(float64(-ns)/1e6)
	}
	return num.Whole(float64(ns) / 1e6)
}

// middle returns the median of durations, in ns; at least one.
func middle(ns []int64) int64 {
	slices.Sort(ns)
	return ns[len(ns)/2]
}

// reason says in words what became of the holder's successors: of the probative rounds, if there are any.
func (s *session) reason(v results.ChaosVerdict) string {
	var rounds []round
	for _, r := range s.rounds {
		if s.probative(r) {
			rounds = append(rounds, r)
		}
	}
	var parts []string
	add := func(format string, a ...any) { parts = append(parts, fmt.Sprintf(format, a...)) }
	if v.Bad > 0 {
		add("two were inside in %s, for %s ms at most", share(v.Bad, v.Rounds), num.Whole(v.OverlapMaxMS))
	}
	parts = append(parts, waiting(rounds)...)
	if v.Recovery != nil {
		n := ""
		if v.Recovery.Count < len(rounds) {
			n = " in " + share(v.Recovery.Count, len(rounds))
		}
		add("the next got in after %s ms%s", num.Whole(v.Recovery.P50), n)
	}
	parts = append(parts, leaving(rounds)...)
	parts = append(parts, trying(rounds)...)
	if len(rounds) > 0 && len(rounds[0].Waits) == 1 {
		add("one waiter only: the lock takes at most %d workers", s.o.Lock.MaxWorkers)
	}
	if s.o.Lock.ThreadBound && s.o.Fault == GoroutineExit && len(rounds) > 0 {
		add("felt: %s", rounds[0].Felt)
	}
	parts = append(parts, s.doubts()...)
	return strings.Join(parts, "; ")
}

// share is "3 of 10 rounds".
func share(k, n int) string { return fmt.Sprintf("%d of %s", k, num.Count(n, "round")) }

// waiting tells of those who were not let in.
func waiting(rounds []round) []string {
	var outs []string
	least, most, of, in := 0, 0, 0, 0
	var after []int64
	lastWaits := 0
	for _, r := range rounds {
		n := 0
		for _, w := range r.Waits {
			if w.Outcome == waits {
				n++
			}
		}
		if r.Last == waits {
			lastWaits++
		}
		if n == 0 {
			continue
		}
		if in == 0 || n < least {
			least = n
		}
		in, most, of = in+1, max(most, n), len(r.Waits)
		after = append(after, r.EndNS-r.FaultNS)
	}
	if in > 0 {
		who := fmt.Sprint(most)
		if least < most {
			who = fmt.Sprintf("%d to %d", least, most)
		}
		text := fmt.Sprintf("waiters wait for ever: %s of %d after %s ms", who, of, ms(middle(after)))
		if in < len(rounds) {
			text += " in " + share(in, len(rounds))
		}
		outs = append(outs, text)
	}
	if lastWaits > 0 {
		outs = append(outs, fmt.Sprintf("who came when all had been in waits for ever in %s", share(lastWaits, len(rounds))))
	}
	return outs
}

// leaving tells of those who left by their deadline.
func leaving(rounds []round) []string {
	var outs []string
	for _, who := range []struct{ role, name string }{{roleTimed, "the timed one"}, {roleContext, "the one with a context"}} {
		var after, late []int64
		asked := 0
		for _, r := range rounds {
			for _, w := range r.Waits {
				if w.Role != who.role {
					continue
				}
				asked++
				if w.Outcome == left {
					after = append(after, w.EndNS-w.CallNS)
					late = append(late, w.EndNS-w.CallNS-w.LimitNS)
				}
			}
		}
		if len(after) == 0 {
			continue
		}
		text := fmt.Sprintf("%s left after %s ms (at most %s ms late)", who.name, ms(middle(after)), ms(max(0, slices.Max(late))))
		if len(after) < asked {
			text += " in " + share(len(after), asked)
		}
		outs = append(outs, text)
	}
	return outs
}

// trying tells of TryLock: while the lock was held, and after a fault from which nobody recovered.
func trying(rounds []round) []string {
	asked, got := 0, 0
	for _, r := range rounds {
		for _, t := range r.Tries {
			asked++
			if t.Got {
				got++
			}
		}
	}
	switch {
	case asked == 0:
		return nil
	case got == 0:
		return []string{"TryLock is refused"}
	}
	return []string{fmt.Sprintf("TryLock got in %d of %d times", got, asked)}
}

// doubts tells of rounds that prove nothing.
func (s *session) doubts() []string {
	var outs []string
	notFelt, hung := 0, 0
	var texts []string
	for _, r := range s.rounds {
		switch {
		case s.probative(r):
		case r.Err != "":
			texts = append(texts, r.Err)
		case s.setup.gives() && r.Stuck:
			hung++
		default:
			notFelt++
		}
	}
	if hung > 0 {
		outs = append(outs, fmt.Sprintf("the lock was given back, yet somebody was not let in for %v in %s", s.setup.patience(), share(hung, len(s.rounds))))
	}
	if notFelt > 0 {
		outs = append(outs, fmt.Sprintf("the fault was not felt, or nobody waited, in %s", share(notFelt, len(s.rounds))))
	}
	texts = append(texts, s.failures...)
	slices.Sort(texts)
	return append(outs, slices.Compact(texts)...)
}

// timeline writes a round as lines, in ms from its first stamp.
func timeline(r round) string {
	type line struct {
		at   int64
		text string
	}
	var lines []line
	add := func(at int64, format string, a ...any) {
		if at > 0 {
			lines = append(lines, line{at, fmt.Sprintf(format, a...)})
		}
	}
	for _, v := range r.Visits {
		met := ""
		if v.Met > 0 {
			met = fmt.Sprintf(", and meets worker %d", v.Met-1)
		}
		add(v.EnterNS, "worker %d (%s) is inside%s", v.Who, v.Role, met)
		add(v.ExitNS, "worker %d (%s) leaves", v.Who, v.Role)
	}
	for _, w := range r.Waits {
		add(w.CallNS, "the %s waiter calls", w.Role)
		switch w.Outcome {
		case left:
			add(w.EndNS, "the %s waiter goes away without the lock", w.Role)
		case waits:
			add(w.EndNS, "the %s waiter still waits", w.Role)
		}
	}
	for _, t := range r.Tries {
		add(t.AtNS, "TryLock: %v", t.Got)
	}
	add(r.FaultNS, "the fault")
	add(r.BackNS, "the holder gives the lock back")
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	fmt.Fprintf(&b, "round %d\n", r.N)
	for _, l := range lines {
		fmt.Fprintf(&b, "%12.3f ms  %s\n", float64(l.at-lines[0].at)/1e6, l.text)
	}
	return b.String()
}
