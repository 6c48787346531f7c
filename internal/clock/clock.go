// Package clock chooses and calibrates the time stamp source of the measured
// loops, and reads the machine's monotonic clock, which all processes share.
//
// The cheapest source that can be trusted wins: the processor's counter if it
// is invariant and agrees with the monotonic clock, else Go's monotonic
// clock. On the machine where this was decided time.Now cost 47 ns, time.Since
// 26 to 38, the counter 12, and 25 with the fence that makes its reading mean
// something (package arch).
package clock

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"lockbench/lock/arch"
	"lockbench/lock/loop"
)

// Kinds of clocks.
const (
	KindTSC       = "tsc"       // amd64
	KindCNTVCT    = "cntvct"    // arm64
	KindMonotonic = "monotonic" // Go's
)

// Clock is a calibrated time stamp source. Ticks of KindMonotonic are
// nanoseconds.
type Clock struct {
	Kind         string  `json:"kind"`
	HZ           float64 `json:"hz"` // ticks a second
	CostNS       float64 `json:"cost_ns"`
	ResolutionNS float64 `json:"resolution_ns"`
	// ErrorPPM is the disagreement of two halves of the calibration, in parts
	// per million.
	ErrorPPM float64 `json:"error_ppm"`
}

// maxErrorPPM is the disagreement with the monotonic clock beyond which the
// counter is not used: 0.1 %, far below what any figure here can resolve, far
// above what interrupts add to a calibration of 10 ms.
const maxErrorPPM = 1000

// Calibrate chooses the clock. invariant says that the processor's counter
// runs at one rate whatever the frequency and sleep state; it takes about span.
func Calibrate(invariant bool, span time.Duration) Clock {
	if arch.HasTicks && invariant {
		if c, err := calibrateTicks(span); err == nil {
			return c
		}
	}
	c := Clock{Kind: KindMonotonic, HZ: 1e9}
	c.CostNS, c.ResolutionNS = costOf(loop.Monotonic, 1)
	return c
}

// errDrift is why a counter is refused.
var errDrift = errors.New("the processor's counter disagrees with the monotonic clock")

func calibrateTicks(span time.Duration) (Clock, error) {
	t0, m0 := pair()
	time.Sleep(span / 2)
	t1, m1 := pair()
	time.Sleep(span / 2)
	t2, m2 := pair()
	if t1 <= t0 || t2 <= t1 {
		return Clock{}, errDrift
	}
	a := float64(t1-t0) / float64(m1-m0)
	b := float64(t2-t1) / float64(m2-m1)
	c := Clock{Kind: tickKind, HZ: float64(t2-t0) / float64(m2-m0) * 1e9, ErrorPPM: math.Abs(a/b-1) * 1e6}
	if c.ErrorPPM > maxErrorPPM {
		return c, fmt.Errorf("%w by %.0f ppm", errDrift, c.ErrorPPM)
	}
	c.CostNS, c.ResolutionNS = costOf(arch.Ticks, 1e9/c.HZ)
	return c, nil
}

// pair reads counter and monotonic clock at the same time: of several tries,
// the one whose two counter readings around the clock are closest.
func pair() (ticks, mono int64) {
	best := int64(math.MaxInt64)
	for range 20 {
		a := arch.Ticks()
		m := loop.Monotonic()
		b := arch.Ticks()
		if b-a < best {
			best, ticks, mono = b-a, a+(b-a)/2, m
		}
	}
	return ticks, mono
}

// costOf returns the cost of a reading and the smallest step seen, in ns.
func costOf(read func() int64, nsPerTick float64) (cost, resolution float64) {
	const n, rounds = 2000, 5
	var costs []float64
	step := int64(math.MaxInt64)
	for range rounds {
		first := read()
		last := first
		for range n {
			t := read()
			if d := t - last; d > 0 && d < step {
				step = d
			}
			last = t
		}
		costs = append(costs, float64(last-first)*nsPerTick/n)
	}
	slices.Sort(costs)
	return costs[rounds/2], float64(step) * nsPerTick
}

// Ticks reports whether the clock is the processor's counter.
func (c Clock) Ticks() bool { return c.Kind != KindMonotonic }

// NSPerTick converts.
func (c Clock) NSPerTick() float64 { return 1e9 / c.HZ }

// Now reads the clock, in its ticks.
func (c Clock) Now() int64 {
	if c.Ticks() {
		return arch.Ticks()
	}
	return loop.Monotonic()
}

// NS converts a number of ticks to nanoseconds.
func (c Clock) NS(ticks int64) int64 {
	if !c.Ticks() {
		return ticks
	}
	return int64(float64(ticks)*1e9/c.HZ + 0.5)
}

// ToTicks converts a duration to ticks.
func (c Clock) ToTicks(d time.Duration) int64 { return int64(float64(d) * c.HZ / 1e9) }

// Check compares the clock with the monotonic clock over an interval that
// began at the given readings and returns the disagreement in parts per
// million; 0 for the monotonic clock.
func (c Clock) Check(ticks0, mono0 int64) float64 {
	if !c.Ticks() {
		return 0
	}
	t, m := pair()
	if m <= mono0 {
		return 0
	}
	return math.Abs(float64(c.NS(t-ticks0))/float64(m-mono0)-1) * 1e6
}

// Pair reads counter and monotonic clock together, for Check.
func Pair() (ticks, mono int64) { return pair() }
