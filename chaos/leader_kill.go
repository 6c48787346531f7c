package chaos

import (
	"context"
	"lockbench/backends"
	"lockbench/lock"
	"time"
)

// faultLeaderKill kills the server that leads: another one has to take over. Where the data are those of all, leases are
// longer than an election, of one to two seconds: what is asked is whether the new leader keeps them.
var faultLeaderKill = Fault{
	Name: LeaderKill, Doc: "the leader (of Sentinel: the primary) is killed, and another one takes over", On: OnServers, Shape: ShapeHold,
	TTL: 5 * time.Second, TTLOf: []string{lock.ServiceEtcd, lock.ServiceZooKeeper},
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
