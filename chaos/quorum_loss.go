package chaos

import (
	"context"
	"lockbench/backends"
	"lockbench/lock"
)

// faultQuorumLoss stops a majority of the servers, until it heals.
var faultQuorumLoss = Fault{
	Name: QuorumLoss, Doc: "a majority of the servers stands still (docker pause), then goes on", On: OnServers, Shape: ShapeHold,
	Skip: func(s Subject) string {
		if s.Service == lock.ServiceRedlock && s.Nodes > 1 {
			return servers(s)
		}
		return only("nothing is decided by majority there", "etcd-3", "zookeeper-3")(s)
	},
	Params: []Param{{Name: "down_ms", Doc: "how long; by default the TTL, a tick of the server and 1 s", Min: 1, Max: 600_000}},
	Watch:  watchFor("down_ms"),
	Steps: func(s *Stage) Steps {
		return pauseNodes(func(ctx context.Context) ([]*backends.Node, error) { return victims(ctx, s, len(data(s.Cluster))/2+1) })
	},
}
