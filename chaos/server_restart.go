package chaos

import (
	"context"
	"lockbench/backends"
	"time"
)

// faultServerRestart kills one server and starts it again at once, with what it had on disk.
var faultServerRestart = Fault{
	Name: ServerRestart, Doc: "a server is killed and started again at once, with its data", On: OnServers, Shape: ShapeHold,
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
