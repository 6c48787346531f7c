package etcd

import (
	"os"
	"testing"

	"lockbench/backends"
	"lockbench/backends/backendtest"
	"lockbench/lock"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

// shared returns a target of the cluster that all tests share.
func shared(t testing.TB, topology string) lock.Target { return backendtest.Target(t, topology) }

// fresh returns a target of a cluster that the test may disturb, and its members, in
// the order of the target's addresses.
func fresh(t testing.TB, topology string) (lock.Target, []*backends.Node) {
	t.Helper()
	c := backendtest.Fresh(t, topology)
	tg, _ := backendtest.Fill(c)
	var nodes []*backends.Node
	for _, addr := range tg.Addrs {
		for _, n := range c.Nodes() {
			if n.Addr == addr {
				nodes = append(nodes, n)
			}
		}
	}
	if len(nodes) != len(tg.Addrs) {
		t.Fatalf("%d members have an address of %q", len(nodes), tg.Addrs)
	}
	return tg, nodes
}
