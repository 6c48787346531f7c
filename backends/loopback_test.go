package backends_test

import (
	"context"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/loopback"
	"lockbench/lock"
)

// TestLoopback needs no Docker: a lock is held across Clean of another prefix, and gone after that of
// its own, and the server with Close.
func TestLoopback(t *testing.T) {
	c, err := backends.Open(t.Context(), "loopback", backends.Options{})
	must(t, err)
	must(t, c.Check(t.Context()))
	target, run := backendtest.Fill(c)
	for _, info := range loopback.Infos() {
		if info.Name != "control-perfect" {
			continue
		}
		client, err := info.Dial(t.Context(), target)
		must(t, err)
		defer func() { _ = client.Close() }()
		o := lock.AcquireOptions{TTL: target.TTL, Try: true, Wait: lock.WaitPolicy{Min: time.Millisecond, Max: time.Millisecond}}
		_, err = client.(lock.Leaser).Acquire(t.Context(), "k", o)
		must(t, err)
		must(t, c.Clean(t.Context(), "lockbench/other/"))
		if _, err := client.(lock.Leaser).Acquire(t.Context(), "k", o); err == nil {
			t.Error("acquired twice: Clean of another prefix removed the holder")
		}
		must(t, c.Clean(t.Context(), run))
		_, err = client.(lock.Leaser).Acquire(t.Context(), "k", o)
		must(t, err)
	}
	if _, ok := c.CPU(t.Context()); ok || len(c.Nodes()) != 0 {
		t.Error("it has nodes, or CPU time of its own")
	}
	must(t, c.Close(t.Context()))
	must(t, c.Close(t.Context()))
	if err := c.Check(context.Background()); err == nil {
		t.Error("Check after Close: no error")
	}
}
