package chaos

import (
	"context"
	"lockbench/backends"
	"time"
)

// faultServerEmpty starts one server anew without its data, while the holder's lease is valid. Leases are longer here,
// because a server needs one to two seconds to come back, and a holder that renews in between, every third of its lease, may
// learn of its loss before the next one gets in: that would show whose attempt came first, not what the lock is worth.
var faultServerEmpty = Fault{
	Name: ServerEmpty, Doc: "a server is killed and comes back at once without its data", On: OnServers, Shape: ShapeHold, Fresh: true,
	TTL: 9 * time.Second, Brief: true,
	Skip: func(s Subject) string {
		if r := servers(s); r != "" {
			return r
		}
		if t, err := backends.TopologyNamed(s.Topology); err == nil && !t.Forgets() {
			return "not supported by the service: a member cannot rejoin without its data, and a lone server without it is another one"
		}
		return ""
	},
	Watch: func(s *Stage) time.Duration { return settleTime },
	Steps: func(s *Stage) Steps {
		return emptyNodes(func(ctx context.Context) ([]*backends.Node, error) {
			if s.Cluster.Target().Topology == "redis-sentinel" { // the one that knows who holds
				n, err := s.Cluster.Leader(ctx)
				return []*backends.Node{n}, err
			}
			return victims(ctx, s, 1)
		})
	},
}

// emptyNodes are the steps that start servers anew without their data. The evidence is the time that the
// servers say they have been up.
func emptyNodes(which func(context.Context) ([]*backends.Node, error)) Steps {
	var nodes []*backends.Node
	return Steps{
		Setup: func(ctx context.Context) error { return find(ctx, which, &nodes) },
		Inject: func(ctx context.Context) error {
			return each(nodes, func(n *backends.Node) error { return n.RestartEmpty(ctx) })
		},
		Felt: func(ctx context.Context) (string, error) {
			said, err := states(ctx, nodes, "running")
			if err != nil {
				return "", err
			}
			return said + ", in a container made anew", each(nodes, func(n *backends.Node) error { return n.Ping(ctx) })
		},
		Cleanup: func(ctx context.Context) error { return restartAll(ctx, nodes) },
	}
}
