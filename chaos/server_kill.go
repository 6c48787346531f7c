package chaos

import (
	"context"
	"lockbench/backends"
)

// faultServerKill kills one server and leaves it dead for longer than the TTL: of a single one the only one, of
// several one that does not lead.
var faultServerKill = Fault{
	Name: ServerKill, Doc: "a server is killed (SIGKILL), stays away longer than the TTL, and comes back with what it kept",
	On: OnServers, Shape: ShapeHold, Skip: servers,
	Params: []Param{{Name: "down_ms", Doc: "how long; by default the TTL, a tick of the server and 1 s", Min: 1, Max: 600_000}},
	Watch:  watchFor("down_ms"),
	Steps: func(s *Stage) Steps {
		return killNodes(func(ctx context.Context) ([]*backends.Node, error) { return victims(ctx, s, 1) })
	},
}

// killNodes are the steps that kill servers and bring them back with their data.
func killNodes(which func(context.Context) ([]*backends.Node, error)) Steps {
	var nodes []*backends.Node
	back := func(ctx context.Context) error { return restartAll(ctx, nodes) }
	return Steps{
		Setup: func(ctx context.Context) error { return find(ctx, which, &nodes) },
		Inject: func(ctx context.Context) error {
			return each(nodes, func(n *backends.Node) error { return n.Kill(ctx) })
		},
		Felt:    func(ctx context.Context) (string, error) { return states(ctx, nodes, "dead") },
		Recover: back,
		Recovered: func(ctx context.Context) error {
			return each(nodes, func(n *backends.Node) error { return n.Ping(ctx) })
		},
		Cleanup: back,
	}
}
