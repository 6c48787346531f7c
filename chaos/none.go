package chaos

import (
	"context"
	"time"
)

// faultNone is the no-op: the same round without a fault. Whoever lets two in here needs none.
var faultNone = Fault{
	Name: None, Doc: "no fault: the same round, undisturbed", On: OnNothing, Shape: ShapeHold,
	Watch: func(s *Stage) time.Duration {
		// Locks whose lease is not renewed end it themselves; the others are watched across a renewal or two.
		if s.Plays[0].Cell.Lock.Remote.Renews {
			return s.Times.TTL
		}
		return s.Times.TTL / 4
	},
	Steps: func(*Stage) Steps {
		return Steps{Felt: func(context.Context) (string, error) { return "nothing was done", nil }}
	},
}
