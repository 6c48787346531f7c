package engine

import (
	"fmt"
	"math"
	"time"

	"lockbench/workloads"
)

// nominalUnitNS is an upper estimate of a work unit, for checks that are made
// before the calibration: four cycles of a 2 GHz processor.
const nominalUnitNS = 2

// patience is how many times the longest stretch in which a worker rightly
// gets nowhere the time-out must be.
const patience = 3

// checkLengths refuses a workload whose own sections, think times or gaps
// between arrivals look like a hang, and fixed work with phases, which are
// stretches of time.
func checkLengths(s Spec, w workloads.Spec, workers int) error {
	if s.Ops > 0 && len(w.Phases) > 0 {
		return usage(fmt.Errorf("workload %s: phases and fixed work (ops) together: phases are shares of a duration", w.Name),
			"use a duration, or phases none")
	}
	l := w.Resolve(nominalUnitNS)
	longest := time.Duration((l.Section.Max() + l.Think.Max()) * nominalUnitNS)
	if l.Hog != nil {
		longest = max(longest, time.Duration((l.Hog.Max()+l.Think.Max())*nominalUnitNS))
	}
	if l.Arrivals != "" {
		gap := 1e9 * float64(workers) / l.RateOps
		if l.Arrivals == "poisson" {
			gap *= workloads.LongestGap
		}
		longest = max(longest, time.Duration(math.Min(gap, math.MaxInt64/4)))
	}
	if need := patience * longest; s.Timeout < need {
		return usage(fmt.Errorf("timeout: %v: workload %s alone may keep a worker busy for %v, and would count as a hang", s.Timeout, w.Name, longest.Round(time.Millisecond)),
			fmt.Sprintf("use --timeout %v or more", need.Round(time.Second)+time.Second))
	}
	return nil
}
