package engine

import (
	"slices"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock/loop"
)

// Calibration is what the parent measures once, before the first child: the
// clock and the length of a work unit. Both are frozen for the run.
type Calibration struct {
	Clock     clock.Clock
	UnitNS    float64 // median
	UnitMADNS float64
	Rounds    int
}

const (
	calibrationTime = 60 * time.Millisecond
	clockSpan       = 20 * time.Millisecond
	unitRounds      = 20
	unitsPerRound   = 100_000
	unitTries       = 8
	unitSteady      = 0.01 // median absolute deviation, as a share of the median
)

// Calibrate measures; invariant says that the processor's counter runs at one rate.
func Calibrate(invariant bool) Calibration {
	c := Calibration{Clock: clock.Calibrate(invariant, clockSpan), Rounds: unitRounds}
	x := loop.Spin(1, unitsPerRound) // wake the processor up
	for try := range unitTries {
		var ns []float64
		for range unitRounds {
			t0 := c.Clock.Now()
			x = loop.Spin(x, unitsPerRound)
			ns = append(ns, float64(c.Clock.NS(c.Clock.Now()-t0))/unitsPerRound)
		}
		unit := median(ns)
		for i := range ns {
			ns[i] = max(ns[i]-unit, unit-ns[i])
		}
		// Of several tries the steadiest: what other programs do only adds.
		if mad := median(ns); try == 0 || mad < c.UnitMADNS {
			c.UnitNS, c.UnitMADNS = unit, mad
		}
		if c.UnitMADNS < unitSteady*c.UnitNS {
			break
		}
	}
	return c
}

// Unsteady reports whether the calibration is doubtful: lengths that were
// given as durations then are, too.
func (c Calibration) Unsteady() bool { return c.UnitMADNS > 5*unitSteady*c.UnitNS }

// median sorts v; len(v) > 0.
func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
