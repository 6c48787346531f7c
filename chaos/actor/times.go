package actor

import (
	"math"
	"time"

	"lockbench/internal/clock"
)

// times converts local deadlines to the clock that all processes share.
type times struct {
	base   time.Time
	shared int64 // what the shared clock was at base
}

// newTimes reads both clocks at the same time: of several tries, the one whose readings are closest.
func newTimes() times {
	best, t := int64(math.MaxInt64), times{}
	for range 20 {
		a := clock.Shared()
		now := time.Now()
		b := clock.Shared()
		if b-a < best {
			best, t = b-a, times{now, a + (b-a)/2}
		}
	}
	return t
}

// of is an instant of this process on the shared clock, in ns.
func (t times) of(at time.Time) int64 { return t.shared + int64(at.Sub(t.base)) }
