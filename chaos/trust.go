package chaos

import (
	"fmt"
	"strings"

	"lockbench/results"
)

// trust is whether the harness has been seen to find what it must find: no verdict is told before all controls have theirs,
// and none but unknown if one of them failed.
//
//	          all controls as they must be
//	waiting ------------------------------> trusted: what was held is told, and all that follows at once
//	   |
//	   |      one is not, or the run ends before
//	   +--------------------------------------> distrusted: the same, but each verdict is unknown
type trust struct {
	open   int      // controls without a verdict
	failed []string // those that failed, in words
	held   []*Cell  // what waits
}

// publish notes a verdict and tells of it, when the controls allow. r.mu is held.
func (r *run) publish(c *Cell, v results.ChaosVerdict) {
	r.results[c] = v
	t := &r.trust
	if !c.Control {
		if t.held = append(t.held, c); t.open == 0 {
			r.flush()
		}
		return
	}
	r.report(v)
	if !v.Agrees {
		t.failed = append(t.failed, fmt.Sprintf("%s is %s, not %s", c.Name(), v.Verdict, v.Expected))
	}
	if t.open--; t.open == 0 {
		r.flush()
	}
}

// flush tells what was held. r.mu is held.
func (r *run) flush() {
	for _, c := range r.trust.held {
		v := r.results[c]
		if len(r.trust.failed) > 0 && v.Verdict != results.VerdictSkipped {
			v.Reason = "a control failed, so nothing that this run saw proves anything: " + strings.Join(r.trust.failed, "; ") +
				"; what it saw is " + v.Verdict + orNothing(v.Reason)
			v.Verdict, v.Agrees, v.Known, v.Note, v.AtMost = results.VerdictUnknown, false, false, "", nil
			r.results[c] = v
		}
		r.report(v)
	}
	r.trust.held = nil
}

// distrust tells what is still held when the run ends: the controls have not.
func (r *run) distrust() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trust.open > 0 {
		r.trust.failed = append(r.trust.failed, fmt.Sprintf("%d of them had no verdict when the run ended", r.trust.open))
	}
	r.flush()
}

// report tells of a verdict. r.mu is held.
func (r *run) report(v results.ChaosVerdict) {
	if r.o.Verdict != nil {
		r.o.Verdict(v)
	}
}

func orNothing(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
