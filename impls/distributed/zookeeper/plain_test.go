package zookeeper

import (
	"context"
	"errors"
	"strings"
	"testing"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// The mistake, acted out: the reply to a create is lost, and the client waits for the node that it made by it.
// So does everybody else, until the session ends. The lock with a GUID finds its node.
func TestPlainWaitsForItself(t *testing.T) {
	for _, c := range []struct {
		name  string
		plain bool
	}{{"zookeeper", false}, {"zookeeper-plain", true}} {
		t.Run(c.name, func(t *testing.T) {
			g := target(t, one, long)
			s, via := operate(t, g)
			a, b := dial(t, via), fresh(t, g)
			if c.plain {
				a.Client = lease.New(plain{a.d}, a.d.t.Meter)
			}
			release(t, acquireLease(t, a, "k")) // its parents are there
			did := s.cutAt(opCreate, a.d.dir("k")+"/", false)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			waiting := begin(ctx, a, "k")
			get(t, "the cut", did)
			if !c.plain {
				r := get(t, "the grant", waiting)
				if r.err != nil {
					t.Fatal(r.err)
				}
				release(t, r.l)
				return
			}
			awaitQueue(t, b, "k", 2)
			names := queue(t, b, "k")
			for _, name := range names {
				if !strings.HasPrefix(name, plainPrefix) {
					t.Errorf("node %q says whose it is", name)
				}
			}
			select {
			case r := <-waiting:
				t.Fatalf("got %v, %v: want it to wait for its own node", r.l, r.err)
			default:
			}
			leave()
			if r := get(t, "who left", waiting); !errors.Is(r.err, context.Canceled) {
				t.Fatalf("got %v, %v, want it cancelled", r.l, r.err)
			}
			// It cleans up what it knows of. The other stays, and keeps all others out.
			awaitQueue(t, b, "k", 1)
			if left := queue(t, b, "k")[0]; left != min(names[0], names[1]) {
				t.Errorf("%s is left of %q, want the first", left, names)
			}
			other := fresh(t, g)
			other.Client = lease.New(plain{other.d}, other.d.t.Meter)
			o := options()
			o.Try = true
			if l, err := other.Acquire(t.Context(), "k", o); !errors.Is(err, lock.ErrNotAcquired) {
				t.Errorf("another client: got %v, %v, want it refused", l, err)
			}
			if err := a.Close(); err != nil { // ends the session
				t.Fatal(err)
			}
			release(t, acquireLease(t, other, "k"))
		})
	}
}

// acquireLease is acquire for locks without a protected write.
func acquireLease(t *testing.T, c *client, key string) lock.Lease {
	t.Helper()
	r := get(t, "the grant", begin(t.Context(), c, key))
	if r.err != nil {
		t.Fatalf("acquire: %v", r.err)
	}
	return r.l
}
