package redis

import (
	"context"
	"testing"
	"time"

	"lockbench/backends/backendtest"
	"lockbench/lock"
)

// Through Sentinel: the primary is found, locked on, and, when it has died, the promoted
// replica is found by the same client.
func TestSentinel(t *testing.T) {
	c := backendtest.Fresh(t, "redis-sentinel")
	tg, _ := backendtest.Fill(c)
	if tg.Master == "" {
		t.Fatal("the target names no group")
	}
	l1, _ := dialTo(t, "redis-pubsub", tg)
	l2, _ := dialTo(t, "redis-pubsub", tg)
	l := acquire(t, l1, "k", opts(10*time.Second))
	out, tr := make(chan result, 1), lock.NewTrace()
	defer start(l2, 1, seldom(10*time.Second), tr, out)()
	parked(t, 1, tr)
	giveBack(t, l)
	if r := <-out; r.err != nil {
		t.Fatal(r.err)
	} else {
		giveBack(t, r.l)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := c.Nodes()[0].Kill(ctx); err != nil {
		t.Fatal(err)
	}
	for {
		l, err := l1.Acquire(ctx, "after", opts(10*time.Second))
		if err == nil {
			giveBack(t, l)
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("no lock after the primary's death: %v", err)
		}
		t.Logf("not yet: %v", err)
		time.Sleep(200 * time.Millisecond)
	}
}
