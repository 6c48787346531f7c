package chaos

import (
	"context"
	"errors"
	"fmt"
	"lockbench/chaos/actor"
)

// faultReplyLost loses the reply to a request that the server has carried out, with its connection.
var faultReplyLost = Fault{
	Name: ReplyLost, Doc: "the server has carried the request out, and the reply is lost with its connection",
	On: OnHolder, Shape: ShapeAcquire, Point: actor.PointSent, Proxied: true,
	Steps: func(s *Stage) Steps {
		n := 0
		return Steps{
			Inject: func(context.Context) error {
				net := s.Play().Holder.Net
				n = net.LoseReplies()
				net.Heal() // what is asked over the next connection is answered
				return nil
			},
			Felt: func(context.Context) (string, error) {
				if n == 0 {
					return "", errors.New("no reply was under way")
				}
				return fmt.Sprintf("%d connections were cut with replies on them", n), nil
			},
			Cleanup: healHolder(s),
		}
	},
}
