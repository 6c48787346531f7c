package chaos

import (
	"fmt"

	"lockbench/results"
)

// Conclusion is what a run's verdicts come to.
type Conclusion struct {
	Ran                                           int // cells that were not skipped
	Worse, Better, Unknown, Known, FailedControls []string
}

// rank orders verdicts from good to bad.
var rank = map[string]int{results.VerdictSafe: 0, results.VerdictFence: 1, results.VerdictUnsafe: 2}

// Conclude compares verdicts with what is expected of them. Worse than expected is what DESIGN calls a violation; better,
// unknown, and a control that failed are no proof of anything.
func Conclude(all []results.ChaosVerdict) Conclusion {
	var c Conclusion
	for _, v := range all {
		name := fmt.Sprintf("%s/%s/%s/%s", v.Lock, v.Topology, v.Fault, v.Policy)
		if v.Control {
			if !v.Agrees {
				c.FailedControls = append(c.FailedControls, fmt.Sprintf("%s is %s, not %s", name, v.Verdict, v.Expected))
			}
			continue
		}
		if v.Verdict == results.VerdictSkipped {
			continue
		}
		c.Ran++
		got, known := rank[v.Verdict]
		want, expected := rank[v.Expected]
		switch {
		case !known:
			c.Unknown = append(c.Unknown, name)
		case !expected:
			if v.Verdict == results.VerdictUnsafe { // nobody said that it may be
				c.Worse = append(c.Worse, name)
			}
		case v.Known:
			c.Known = append(c.Known, name)
		case got > want:
			c.Worse = append(c.Worse, name)
		case got < want:
			c.Better = append(c.Better, name)
		}
	}
	return c
}
