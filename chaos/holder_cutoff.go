package chaos

import (
	"context"
	"fmt"
	"lockbench/chaos/proxy"
	"net"
)

// faultHolderCutoff cuts the holder off from its servers, but not from what the lock protects: bytes, ends and resets
// of connections are held back, and go on when the cut heals.
var faultHolderCutoff = Fault{
	Name: HolderCutoff, Doc: "the network between the holder and its servers holds everything back, then heals",
	On: OnHolder, Shape: ShapeHold, Proxied: true,
	Params: []Param{{Name: "cut_ms", Doc: "how long; by default the TTL, a tick of the server and 1 s", Min: 1, Max: 600_000}},
	Watch:  watchFor("cut_ms"),
	Steps:  func(s *Stage) Steps { return cut(s.Play().Holder) },
}

// cut are the steps that cut a party off. The evidence is a connection of the harness's own through the same
// proxies, which is held as well: a client that is idle sends nothing.
func cut(who *Party) Steps {
	heal := func(context.Context) error {
		if who != nil && who.Net != nil {
			who.Net.Heal()
		}
		return nil
	}
	return Steps{
		Inject: func(context.Context) error { who.Net.Hold(); return nil },
		Felt: func(ctx context.Context) (string, error) {
			if err := ping(ctx, who); err != nil {
				return "", err
			}
			return "the proxies hold back " + held(who.Net.Stats()), nil
		},
		Recover: heal,
		Cleanup: heal,
	}
}

// ping connects through the proxies, and returns when they are seen to hold something back.
func ping(ctx context.Context, who *Party) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", who.Net.Addr(who.servers[0]))
	if err != nil {
		return fmt.Errorf("connect through the proxy: %w", err)
	}
	defer c.Close()
	return who.Net.AwaitHeld(ctx)
}

// held is what proxies hold back, in words.
func held(s proxy.Stats) string {
	return fmt.Sprintf("%d bytes and %d new connections", s.HeldRequests+s.HeldReplies, s.Waiting)
}
