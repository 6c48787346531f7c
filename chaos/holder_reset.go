package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// faultHolderReset resets the holder's connections, on both sides, once. New ones work at once.
var faultHolderReset = Fault{
	Name: HolderReset, Doc: "the holder's connections are reset (RST); it may connect again",
	On: OnHolder, Shape: ShapeHold, Proxied: true,
	Watch: func(s *Stage) time.Duration { return s.Times.TTL + s.Times.Tick + settleTime },
	Steps: func(s *Stage) Steps {
		n := 0
		return Steps{
			Inject: func(context.Context) error { n = s.Play().Holder.Net.Reset(); return nil },
			Felt: func(context.Context) (string, error) {
				if n == 0 {
					return "", errors.New("the holder had no connection")
				}
				return fmt.Sprintf("%d connections were reset", n), nil
			},
		}
	},
}
