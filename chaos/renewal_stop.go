package chaos

import (
	"context"
	"errors"
	"fmt"
	"lockbench/chaos/actor"
	"lockbench/lock"
)

// faultRenewalStop is a holder that goes on without renewing, as one whose renewing thread has died. The round begins
// with a lease that is not renewed.
var faultRenewalStop = Fault{
	Name: RenewalStop, Doc: "the holder goes on, but its lease is not renewed", On: OnHolder, Shape: ShapeHold, NoRenew: true,
	Skip: func(s Subject) string {
		r := s.Lock.Remote
		switch {
		case !r.Expires:
			return "its lock does not expire"
		case s.Service == lock.ServiceZooKeeper || r.Peer != "" && r.Renews:
			return "its session is renewed by the client library itself"
		}
		return ""
	},
	Steps: func(s *Stage) Steps {
		return Steps{
			Felt: func(ctx context.Context) (string, error) {
				if err := sleep(ctx, s.Times.TTL/2); err != nil {
					return "", err
				}
				if _, ok := s.Play().Holder.find(0, actor.EvRenewed); ok {
					return "", errors.New("the lease was renewed")
				}
				return fmt.Sprintf("no renewal in %v", s.Times.TTL/2), nil
			},
		}
	},
}
