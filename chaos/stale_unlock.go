package chaos

import (
	"context"
	"fmt"
	"lockbench/chaos/actor"
)

// faultStaleUnlock is a release that comes too late: the lease has ended, or was released before, and somebody else
// holds the lock. The successor is an actor of the same process, so that whatever the library shares in it is shared.
var faultStaleUnlock = Fault{
	Name: StaleUnlock, Doc: "a late release: the lease has ended, and another actor of the same process holds the lock",
	On: OnHolder, Shape: ShapeUnlock, NoRenew: true,
	Steps: func(s *Stage) Steps {
		id := 0
		return Steps{
			Inject: func(context.Context) error {
				var err error
				id, err = s.Play().Holder.send(actor.Command{Do: actor.DoRelease, Actor: 0, LimitNS: int64(releaseTime)})
				return err
			},
			Felt: func(ctx context.Context) (string, error) {
				e, err := s.Play().Holder.awaitID(ctx, id, actor.EvReleased)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("the late release returned: %s", words(e)), nil
			},
		}
	},
}
