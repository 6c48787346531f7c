package peertest

import (
	"context"
	"strings"
	"testing"

	"lockbench/lock"
)

func containsSecret(s, secret string) bool { return strings.Contains(s, secret) }

// Cost is what an uncontended pair costs.
type Cost struct {
	Commands                   int64
	AcquireTrips, ReleaseTrips int
	Attempts                   int
}

// Pair returns the cost of an uncontended acquisition and release on a client that has
// made all its connections: the least of some, because keep-alives come in between.
func Pair(t *testing.T, c *Client, o lock.AcquireOptions) Cost {
	t.Helper()
	c.Put(c.Get("pair", o))
	var least Cost
	start := c.Meter.Commands.Load()
	const pairs = 20
	for i := range pairs {
		before := c.Meter.Commands.Load()
		at, rt := lock.NewTrace(), lock.NewTrace()
		l, err := c.Acquire(lock.WithTrace(t.Context(), at), "pair", o)
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		if err := l.Release(lock.WithTrace(context.WithoutCancel(t.Context()), rt)); err != nil {
			t.Fatalf("release: %v", err)
		}
		got := Cost{c.Meter.Commands.Load() - before, at.Trips(), rt.Trips(), at.Attempts()}
		if i == 0 || got.Commands < least.Commands {
			least = got
		}
	}
	t.Logf("an uncontended pair: %+v; %d commands in %d pairs", least, c.Meter.Commands.Load()-start, pairs)
	return least
}
