package chaos

import (
	"context"
	"errors"
	"fmt"
	"lockbench/lock"
	"time"
)

// faultConnTerminate ends the holder's connections on the server's side, as an administrator does.
var faultConnTerminate = Fault{
	Name: ConnTerminate, Doc: "the server ends the holder's connection (pg_terminate_backend)", On: OnHolder, Shape: ShapeHold,
	Skip: func(s Subject) string {
		if s.Service != lock.ServicePostgres {
			return "only PostgreSQL ends a session so"
		}
		return ""
	},
	Watch: func(s *Stage) time.Duration { return s.Times.TTL },
	Steps: func(s *Stage) Steps {
		var pids []int
		return Steps{
			Inject: func(ctx context.Context) error {
				var err error
				p := s.Play()
				pids, err = s.Cluster.Terminate(ctx, p.App(p.Holder))
				return err
			},
			Felt: func(context.Context) (string, error) {
				if len(pids) == 0 {
					return "", errors.New("the holder had no backend")
				}
				return fmt.Sprintf("backends %v were ended", pids), nil
			},
		}
	},
}
