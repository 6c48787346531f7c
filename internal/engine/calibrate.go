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
)

// Calibrate measures; invariant says that the processor's counter runs at one rate.
func Calibrate(invariant bool) Calibration {
	c := Calibration{Clock: clock.Calibrate(invariant, clockSpan), Rounds: unitRounds}
	loop.Spin(1, unitsPerRound) // wake the processor up
	var ns []float64
	for range unitRounds {
		t0 := c.Clock.Now()
		loop.Spin(uint64(t0), unitsPerRound)
		ns = append(ns, float64(c.Clock.NS(c.Clock.Now()-t0))/unitsPerRound)
	}
	c.UnitNS = median(ns)
	for i := range ns {
		ns[i] = max(ns[i]-c.UnitNS, c.UnitNS-ns[i])
	}
	c.UnitMADNS = median(ns)
	return c
}

// median sorts v; len(v) > 0.
func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
