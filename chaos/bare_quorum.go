package chaos

import (
	"context"
	"errors"
	"lockbench/backends"
	"lockbench/lock"
	"time"
)

// faultBareQuorum lets the holder acquire on no more than a majority of the servers, and starts one of these anew without its
// data: with the rest it makes another majority.
var faultBareQuorum = Fault{
	Name: BareQuorum, Doc: "the holder has a bare majority, and one server of it comes back without its data", On: OnServers, Shape: ShapeHold,
	Fresh: true, Proxied: true, TTL: 4 * time.Second, Brief: true,
	Skip: func(s Subject) string {
		if s.Service != lock.ServiceRedlock || s.Nodes < 3 {
			return "needs a majority of independent servers"
		}
		if s.Lock.Remote != nil && s.Lock.Remote.Peer != "" {
			return "the library gets no lock while a server is silent, since it waits for the answers of all: it never holds a bare majority here"
		}
		return servers(s)
	},
	Watch: func(*Stage) time.Duration { return settleTime },
	Steps: func(s *Stage) Steps {
		nodes := data(s.Cluster)
		steps := emptyNodes(func(context.Context) ([]*backends.Node, error) { return nodes[:min(1, len(nodes))], nil })
		find := steps.Setup
		steps.Setup = func(ctx context.Context) error {
			for _, p := range s.Plays {
				if p.Holder == nil || p.Holder.Net == nil {
					continue
				}
				for _, n := range nodes[len(nodes)/2+1:] {
					if err := p.Holder.Net.HoldOf(n.Addr); err != nil {
						return err
					}
				}
			}
			return find(ctx)
		}
		steps.Recover = healHolder(s)
		again := steps.Cleanup
		steps.Cleanup = func(ctx context.Context) error { return errors.Join(healHolder(s)(ctx), again(ctx)) }
		return steps
	},
}
