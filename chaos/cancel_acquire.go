package chaos

import (
	"context"
	"errors"
	"lockbench/chaos/actor"
	"time"
)

// faultCancelAcquire ends the context of an acquisition whose request is at the server already; the reply comes
// right after. Whoever gives up must leave nothing behind.
var faultCancelAcquire = Fault{
	Name: CancelAcquire, Doc: "the caller gives up while its request is under way; the reply comes after that",
	On: OnHolder, Shape: ShapeAcquire, Point: actor.PointSent, Proxied: true,
	Params: []Param{{Name: "late_ms", Doc: "how much later the reply comes", Default: ptr(50.0), Min: 0, Max: 60_000}},
	Steps: func(s *Stage) Steps {
		return Steps{
			Inject: func(ctx context.Context) error {
				who := s.Play().Holder
				if _, err := who.send(actor.Command{Do: actor.DoCancel}); err != nil {
					return err
				}
				err := sleep(ctx, time.Duration(s.Param("late_ms", 0)*float64(time.Millisecond)))
				who.Net.Heal()
				return err
			},
			Felt: func(ctx context.Context) (string, error) {
				e, err := s.Play().Holder.awaitOf(ctx, 0, actor.EvRefused, actor.EvGranted, actor.EvUpdated)
				if err != nil {
					return "", err
				}
				switch e.Ev {
				case actor.EvGranted:
					return "the acquisition returned the lock all the same", nil
				case actor.EvUpdated:
					return "the update returned: " + words(e), nil
				}
				return "the acquisition returned: " + words(e), nil
			},
			Cleanup: healHolder(s),
		}
	},
}

func ptr(v float64) *float64 { return &v }

// healHolder ends whatever the holder's proxies hold back.
func healHolder(s *Stage) func(context.Context) error {
	return func(context.Context) error {
		var errs []error
		for _, p := range s.Plays {
			if p.Holder != nil && p.Holder.Net != nil {
				p.Holder.Net.Heal()
			}
		}
		return errors.Join(errs...)
	}
}
