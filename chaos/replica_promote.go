package chaos

import (
	"context"
	"lockbench/backends"
	"time"
)

// faultReplicaPromote lets the holder acquire on a primary that its replica does not hear any more, and then kills the
// primary: the replica that is promoted knows nothing of the lock. Pausing the replica would not do: the
// kernel keeps the stream for it.
var faultReplicaPromote = Fault{
	Name: ReplicaPromote, Doc: "the primary is cut off from its replica, grants the lock, and is killed: the replica is promoted without it",
	On: OnServers, Shape: ShapeHold, TTL: 8 * time.Second, Skip: only("there is no replica to promote", "redis-sentinel"),
	Watch: watchServers,
	Steps: func(s *Stage) Steps {
		var old *backends.Node
		back := func(ctx context.Context) error {
			if old == nil {
				return nil
			}
			if err := restartAll(ctx, []*backends.Node{old}); err != nil {
				return err
			}
			return old.Rejoin(ctx)
		}
		return Steps{
			Setup: func(ctx context.Context) error {
				n, err := s.Cluster.Leader(ctx)
				if err != nil {
					return err
				}
				old = n
				return n.Isolate(ctx)
			},
			Inject: func(ctx context.Context) error { return old.Kill(ctx) },
			Felt: func(ctx context.Context) (string, error) {
				n, err := s.Cluster.AwaitLeader(ctx, old)
				if err != nil {
					return "", err
				}
				return old.Name + " is dead, " + n.Name + " was promoted", nil
			},
			Recover: back,
			Cleanup: back,
		}
	},
}
