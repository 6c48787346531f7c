package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"lockbench/lock"
	"net/netip"
)

// faultHolderVanish makes the holder vanish for its servers as a machine without power does: what it sends does not
// arrive, and what they send is not even acknowledged. A cut by a proxy alone cannot do that, since the proxy's
// kernel goes on answering the servers' keepalives. Here it is done twice: the holder's proxies hold everything back, and the
// servers' network namespaces drop the packets of the proxies' connections.
var faultHolderVanish = Fault{
	Name: HolderVanish, Doc: "packets between the holder and its servers are dropped, in the servers' network (Linux, root, containers)",
	On: OnHolder, Shape: ShapeHold, Proxied: true, Inner: true,
	Params: []Param{{Name: "cut_ms", Doc: "how long; by default the TTL, a tick of the server and 1 s, of PostgreSQL 20 s", Min: 1, Max: 600_000}},
	Skip: func(s Subject) string {
		switch {
		case s.Given:
			return "the servers are given: their network is out of reach"
		case s.Service == lock.ServiceLoopback:
			return "the server is in this process"
		case runtime.GOOS != "linux" || os.Geteuid() != 0:
			return "needs Linux and root: packets are dropped in the servers' network namespaces"
		}
		return ""
	},
	Watch: func(s *Stage) time.Duration {
		if s.Cluster.Target().Service == lock.ServicePostgres {
			s.Times.Hold = vanishPostgres
		}
		return watchFor("cut_ms")(s)
	},
	Steps: func(s *Stage) Steps {
		var undo []func(context.Context) error
		var dropped []func(context.Context) (int64, error)
		heal := func(ctx context.Context) error {
			var errs []error
			for _, u := range undo {
				errs = append(errs, u(ctx))
			}
			undo = nil
			if who := s.Play().Holder; who != nil && who.Net != nil {
				who.Net.Heal()
			}
			return errors.Join(errs...)
		}
		return Steps{
			Inject: func(ctx context.Context) error {
				who := s.Play().Holder
				at := map[string][]netip.AddrPort{} // inner address of a server -> the holder's ends
				for _, c := range who.Net.Conns() {
					local, err := netip.ParseAddrPort(c.Local)
					if err != nil {
						return fmt.Errorf("the proxy's end of a connection: %w", err)
					}
					at[c.Upstream] = append(at[c.Upstream], local)
				}
				who.Net.Hold()
				for _, n := range s.Cluster.Nodes() {
					inner, err := n.Inner(ctx)
					if err != nil {
						return err
					}
					if len(at[inner]) == 0 {
						continue
					}
					u, err := n.Drop(ctx, at[inner])
					if err != nil {
						return err
					}
					undo, dropped = append(undo, u), append(dropped, n.Dropped)
				}
				if len(undo) == 0 {
					return errors.New("the holder has no connection")
				}
				return nil
			},
			Felt: func(ctx context.Context) (string, error) {
				if err := ping(ctx, s.Play().Holder); err != nil {
					return "", err
				}
				n := int64(0)
				for _, d := range dropped {
					k, err := d(ctx)
					if err != nil {
						return "", err
					}
					n += k
				}
				return fmt.Sprintf("rules for %d servers, %d packets dropped so far; the proxies hold the rest", len(undo), n), nil
			},
			Recover: heal,
			Cleanup: heal,
		}
	},
}

// vanishPostgres is how long is waited for a server that has to notice by its own keepalives.
const vanishPostgres = 20 * time.Second
