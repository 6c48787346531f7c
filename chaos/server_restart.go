package chaos

import (
	"context"
	"lockbench/backends"
	"time"
)

// faultServerRestart kills one server and starts it again at once, with what it had on disk. Leases are longer here, as in
// server-restart-empty: a server that is back after they have ended is the one of server-kill.
var faultServerRestart = Fault{
	Name: ServerRestart, Doc: "a server is killed and started again at once, with its data", On: OnServers, Shape: ShapeHold,
	TTL: 9 * time.Second, Brief: true,
	Skip: func(s Subject) string {
		if r := servers(s); r != "" {
			return r
		}
		if t, err := backends.TopologyNamed(s.Topology); err == nil && !t.Keeps() {
			return "its servers keep nothing on disk: see server-restart-empty, and redis-aof"
		}
		return ""
	},
	Watch: func(*Stage) time.Duration { return settleTime },
	Steps: func(s *Stage) Steps {
		return killNodes(func(ctx context.Context) ([]*backends.Node, error) { return victims(ctx, s, 1) })
	},
}
