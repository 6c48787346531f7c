package zookeeper

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/backends/backendtest"
	"lockbench/lock"
)

// mode asks a server for its role.
func mode(t *testing.T, addr string) string {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return ""
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "srvr"); err != nil {
		return ""
	}
	text, _ := io.ReadAll(c)
	_, after, _ := strings.Cut(string(text), "Mode: ")
	role, _, _ := strings.Cut(after, "\n")
	return role
}

// TestEnsemble pauses the follower that a holder is connected to, and then kills the leader.
func TestEnsemble(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three servers of its own")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*hang)
	defer cancel()
	cluster := backendtest.Fresh(t, "zookeeper-3")
	var leader, follower *backends.Node
	for _, n := range cluster.Nodes() {
		switch mode(t, n.Addr) {
		case "leader":
			leader = n
		case "follower":
			follower = n
		}
	}
	if leader == nil || follower == nil {
		t.Fatal("no leader, or no follower")
	}
	g, _ := backendtest.Fill(cluster)
	g.TTL = long
	// This one begins at the follower, and may go anywhere.
	at := func(n *backends.Node) (*client, *session) {
		for {
			c := fresh(t, g)
			if s := current(t, c); s.conn.Server() == n.Addr {
				return c, s
			}
			c.Close()
		}
	}
	a, s := at(follower)
	held := acquire(t, a, "k")
	again := s.reconnected()
	if err := follower.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	get(t, "another server", again)
	if err := held.Apply(ctx, 1); err != nil {
		t.Errorf("apply with the server paused: %v", err)
	}
	release(t, held)
	if err := follower.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	await(t, "the follower is back", func() bool { return mode(t, follower.Addr) == "follower" })

	// The election may cost the holder its lease, by its own clock; the
	// lock goes on, and excludes.
	held = acquire(t, a, "k")
	first, _ := held.Token()
	b := fresh(t, g)
	waiter := begin(ctx, b, "k")
	await(t, "the waiter", func() bool { return len(queue(t, a, "k")) == 2 })
	if err := leader.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	err := held.Apply(ctx, 1)
	t.Logf("apply across the election: %v", err)
	want := int64(1)
	if err == nil {
		want++
	}
	select {
	case <-held.Lost():
		t.Log("the lease was lost in the election")
	default:
	}
	t.Logf("release: %v", held.Release(ctx))
	r := get(t, "the waiter", waiter)
	if r.err != nil {
		t.Logf("the waiter's session has ended, too: %v", r.err)
		r = get(t, "the lock", begin(ctx, b, "k"))
		if r.err != nil {
			t.Fatal(r.err)
		}
	}
	next := r.l.(lock.Guarded)
	if token, _ := next.Token(); token <= first {
		t.Errorf("tokens %d, then %d", first, token)
	}
	if err := next.Apply(ctx, 1); err != nil {
		t.Errorf("the next holder's write: %v", err)
	}
	if v, err := b.Value(ctx, "k"); err != nil || v < want+1 || v > 3 {
		t.Errorf("value %d, %v: want %d", v, err, want+1)
	}
	release(t, next)
}
