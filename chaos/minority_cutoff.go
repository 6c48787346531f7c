package chaos

import (
	"context"
	"errors"
	"lockbench/backends"
	"lockbench/lock"
)

// faultMinorityCutoff cuts a minority of the servers off from the others, and the holder is attached to it. Of
// Sentinel that is the primary, which goes on serving whoever reaches it; the servers of Redlock do not talk to each
// other, so there the holder is cut off from a minority of them.
var faultMinorityCutoff = Fault{
	Name: MinorityCutoff, Doc: "the server that the holder is attached to is cut off from its peers", On: OnServers, Shape: ShapeHold, Proxied: true,
	Skip: func(s Subject) string {
		if s.Service == lock.ServiceRedlock && s.Nodes > 1 {
			return servers(s)
		}
		return only("there is no minority of one server", "etcd-3", "zookeeper-3", "redis-sentinel")(s)
	},
	Reach: func(p *Play, who *Party, t lock.Target) lock.Target {
		if n := p.minority; who == p.Holder && n != nil {
			t.Addrs = []string{n.Addr}
		}
		return t
	},
	Choose: func(ctx context.Context, c *backends.Cluster) (*backends.Node, error) {
		switch c.Target().Service {
		case lock.ServiceEtcd, lock.ServiceZooKeeper:
			all, err := c.Followers(ctx)
			if err != nil || len(all) == 0 {
				return nil, errors.Join(errors.New("there is no follower"), err)
			}
			return all[0], nil
		}
		return nil, nil
	},
	Watch: watchServers,
	Steps: func(s *Stage) Steps {
		if s.Cluster.Target().Service == lock.ServiceRedlock {
			heal := healHolder(s)
			return Steps{
				Inject: func(context.Context) error {
					for _, p := range s.Plays {
						if p.Holder == nil || p.Holder.Net == nil {
							continue
						}
						if err := p.Holder.Net.HoldOf(data(s.Cluster)[0].Addr); err != nil {
							return err
						}
					}
					return nil
				},
				Felt: func(ctx context.Context) (string, error) {
					for _, p := range s.Plays {
						if p.Holder == nil || p.Holder.Net == nil {
							continue
						}
						if err := ping(ctx, p.Holder); err != nil { // who renews nothing sends nothing
							return "", err
						}
					}
					return "the holders' proxies hold back what goes to one server", nil
				},
				Recover: heal,
				Cleanup: heal,
			}
		}
		var cut *backends.Node
		back := func(ctx context.Context) error {
			if cut == nil || !cut.Isolated() {
				return nil
			}
			return cut.Rejoin(ctx)
		}
		return Steps{
			Setup: func(ctx context.Context) error {
				for _, p := range s.Plays {
					if p.minority != nil {
						cut = p.minority
					}
				}
				if cut != nil {
					return nil
				}
				var err error
				cut, err = s.Cluster.Leader(ctx) // of Sentinel: the primary
				return err
			},
			Inject: func(ctx context.Context) error { return cut.Isolate(ctx) },
			Felt: func(ctx context.Context) (string, error) {
				n, err := s.Cluster.AwaitLeader(ctx, cut)
				if err != nil {
					return "", err
				}
				return cut.Name + " is off the network of the servers, " + n.Name + " leads the others", nil
			},
			Recover: back,
			Cleanup: back,
		}
	},
}
