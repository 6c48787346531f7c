package chaos

import (
	"errors"
	"time"
)

// faultClockBack lets the servers' clock jump back, and kills the holder: its lease ends so much later.
var faultClockBack = Fault{
	Name: ClockBack, Doc: "a server's clock jumps back, and the holder is killed: its lease ends that much later", On: OnServers, Shape: ShapeHold, Clock: true,
	Skip: shiftable,
	Params: []Param{
		{Name: "jump_ms", Doc: "how far; by default the TTL", Min: 1, Max: 60_000},
		{Name: "servers", Doc: "how many of them; by default one", Default: ptr(1.0), Min: 1, Max: 5},
	},
	Watch: func(s *Stage) time.Duration { return s.Times.Hold + jumpBack(s) },
	Steps: func(s *Stage) Steps {
		return shift(s, -jumpBack(s), func() error {
			var errs []error
			for _, p := range s.Plays {
				if p.Holder != nil {
					errs = append(errs, p.Holder.Kill())
				}
			}
			return errors.Join(errs...)
		})
	},
}

func jumpBack(s *Stage) time.Duration {
	return time.Duration(s.Param("jump_ms", float64(s.Times.TTL.Milliseconds())) * float64(time.Millisecond))
}
