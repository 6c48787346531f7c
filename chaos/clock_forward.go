package chaos

import (
	"context"
	"fmt"
	"lockbench/backends"
	"lockbench/lock"
	"strings"
	"time"
)

// faultClockForward lets the servers' clock jump: leases that end by the wall clock are over at once.
var faultClockForward = Fault{
	Name: ClockForward, Doc: "a server's clock jumps forward by more than the TTL", On: OnServers, Shape: ShapeHold, Fresh: true, Clock: true,
	TTL: 2 * time.Second, Brief: true,
	Skip: shiftable,
	Params: []Param{
		{Name: "jump_ms", Doc: "how far; by default twice the TTL", Min: 1, Max: 1e9},
		{Name: "servers", Doc: "how many of them; by default one", Default: ptr(1.0), Min: 1, Max: 5},
	},
	Watch: func(s *Stage) time.Duration { return s.Times.TTL },
	Steps: func(s *Stage) Steps {
		d := time.Duration(s.Param("jump_ms", 2*float64(s.Times.TTL.Milliseconds())) * float64(time.Millisecond))
		return shift(s, d, nil)
	},
}

// shiftable skips services whose clock cannot be shifted.
func shiftable(s Subject) string {
	if r := servers(s); r != "" {
		return r
	}
	if s.Service != lock.ServiceRedis && s.Service != lock.ServiceRedlock {
		return "its server's clock cannot be shifted: its leases run on elapsed time, which no clock setting moves"
	}
	return ""
}

// shift are the steps that set the clocks of some servers off, and do something more then. The evidence is the
// time that the servers tell.
func shift(s *Stage, d time.Duration, then func() error) Steps {
	var nodes []*backends.Node
	back := func(ctx context.Context) error {
		return each(nodes, func(n *backends.Node) error { return n.Shift(ctx, 0) })
	}
	return Steps{
		Setup: func(ctx context.Context) error {
			return find(ctx, func(ctx context.Context) ([]*backends.Node, error) {
				if s.Cluster.Target().Topology == "redis-sentinel" {
					n, err := s.Cluster.Leader(ctx)
					return []*backends.Node{n}, err
				}
				return victims(ctx, s, int(s.Param("servers", 1)))
			}, &nodes)
		},
		Inject: func(ctx context.Context) error {
			if err := each(nodes, func(n *backends.Node) error { return n.Shift(ctx, d) }); err != nil {
				return err
			}
			if then != nil {
				return then()
			}
			return nil
		},
		Felt: func(ctx context.Context) (string, error) {
			var said []string
			for _, n := range nodes {
				at, err := n.Clock(ctx)
				if err != nil {
					return "", err
				}
				off := time.Until(at)
				if (off - d).Abs() > d.Abs()/2 {
					return "", fmt.Errorf("%s is off by %v", n.Name, off)
				}
				said = append(said, fmt.Sprintf("%s tells a time that is off by %v", n.Name, off.Round(time.Millisecond)))
			}
			return strings.Join(said, ", "), nil
		},
		// Not before everybody has left: setting the clock right is a jump, too.
		Cleanup: back,
	}
}
