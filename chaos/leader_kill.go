package chaos

import (
	"context"
	"lockbench/backends"
)

// faultLeaderKill kills the server that leads: another one has to take over.
var faultLeaderKill = Fault{
	Name: LeaderKill, Doc: "the leader (of Sentinel: the primary) is killed, and another one takes over", On: OnServers, Shape: ShapeHold,
	Skip:  only("nobody leads there", "etcd-3", "zookeeper-3", "redis-sentinel"),
	Watch: watchServers,
	Steps: func(s *Stage) Steps {
		var old *backends.Node
		steps := killNodes(func(ctx context.Context) ([]*backends.Node, error) {
			var err error
			old, err = s.Cluster.Leader(ctx)
			return []*backends.Node{old}, err
		})
		dead := steps.Felt
		steps.Felt = func(ctx context.Context) (string, error) {
			said, err := dead(ctx)
			if err != nil {
				return "", err
			}
			n, err := s.Cluster.AwaitLeader(ctx, old)
			if err != nil {
				return "", err
			}
			return said + ", " + n.Name + " leads", nil
		}
		return steps
	},
}
