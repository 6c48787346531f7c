package chaos

import (
	"context"
	"lockbench/backends"
)

// faultServerPause stops servers where they are, longer than the TTL: the kernel goes on acknowledging what
// clients send. Leases end meanwhile by the wall clock, or start again, as the service has it.
var faultServerPause = Fault{
	Name: ServerPause, Doc: "a server stands still (docker pause) longer than the TTL; of several one that does not lead",
	On: OnServers, Shape: ShapeHold, Skip: servers,
	Params: []Param{
		{Name: "pause_ms", Doc: "how long; by default the TTL, a tick of the server and 1 s", Min: 1, Max: 600_000},
		{Name: "servers", Doc: "how many of them", Default: ptr(1.0), Min: 1, Max: 5},
	},
	Watch: watchFor("pause_ms"),
	Steps: func(s *Stage) Steps {
		return pauseNodes(func(ctx context.Context) ([]*backends.Node, error) {
			if s.Cluster.Target().Topology == "redis-sentinel" { // a replica that stands still is missed by nobody
				n, err := s.Cluster.Leader(ctx)
				return []*backends.Node{n}, err
			}
			return victims(ctx, s, int(s.Param("servers", 1)))
		})
	},
}

// pauseNodes are the steps that stop servers for a while.
func pauseNodes(which func(context.Context) ([]*backends.Node, error)) Steps {
	var nodes []*backends.Node
	resume := func(ctx context.Context) error {
		return each(nodes, func(n *backends.Node) error {
			if got, err := n.State(ctx); err == nil && got != "paused" {
				return nil
			}
			return n.Resume(ctx)
		})
	}
	return Steps{
		Setup: func(ctx context.Context) error { return find(ctx, which, &nodes) },
		Inject: func(ctx context.Context) error {
			return each(nodes, func(n *backends.Node) error { return n.Pause(ctx) })
		},
		Felt:    func(ctx context.Context) (string, error) { return states(ctx, nodes, "paused") },
		Recover: resume,
		Recovered: func(ctx context.Context) error {
			_, err := states(ctx, nodes, "running")
			return err
		},
		Cleanup: resume,
	}
}
