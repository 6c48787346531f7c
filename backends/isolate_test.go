package backends_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lockbench/backends"
	"lockbench/backends/backendtest"
)

func bridged(o *backends.Options) { o.Network = backends.NetworkBridge }

// TestIsolateLeader: the others elect another, the old one cannot decide anything, all serve after it is back.
func TestIsolateLeader(t *testing.T) {
	for _, topology := range []string{"etcd-3", "zookeeper-3"} {
		t.Run(topology, func(t *testing.T) {
			cluster := backendtest.Fresh(t, topology, bridged)
			open(t, cluster.Target()).mustPut(t, "lockbench/i/a")
			old, err := cluster.AwaitLeader(t.Context(), nil)
			must(t, err)
			must(t, old.Isolate(t.Context()))
			must(t, old.Isolate(t.Context())) // again: nothing to do
			if !old.Isolated() {
				t.Error("Isolated: got false after Isolate")
			}
			next, err := cluster.AwaitLeader(t.Context(), old)
			must(t, err)
			if next == old {
				t.Fatalf("%s leads, which is isolated", next.Name)
			}
			must(t, old.Ping(t.Context())) // clients reach it
			if err := cluster.Check(t.Context()); err == nil {
				t.Error("Check with a member that is cut off: no error")
			}
			target := cluster.Target()
			target.Addrs = []string{next.Addr}
			open(t, target).mustPut(t, "lockbench/i/b")
			must(t, old.Rejoin(t.Context()))
			must(t, old.Rejoin(t.Context()))
			must(t, cluster.Await(t.Context()))
			target.Addrs = []string{old.Addr}
			eventually(t, "the old leader catches up", func() error {
				ok, err := open(t, target).has("lockbench/i/b")
				if err == nil && !ok {
					err = errors.New("not there")
				}
				return err
			})
			restartIsolated(t, cluster)
		})
	}
}

// restartIsolated: a member that is cut off, paused and killed comes back cut off, and then serves at its old address.
func restartIsolated(t *testing.T, cluster *backends.Cluster) {
	n := cluster.Nodes()[2]
	must(t, n.Pause(t.Context()))
	must(t, n.Isolate(t.Context()))
	wantState(t, n, backends.StatePaused)
	must(t, n.Kill(t.Context()))
	wantState(t, n, backends.StateDead)
	must(t, n.Restart(t.Context()))
	wantState(t, n, backends.StateRunning)
	if _, on := inspect(t, docker(t), n).NetworkSettings.Networks[cluster.PeersNetwork()]; on || !n.Isolated() {
		t.Errorf("%s is connected to its peers after Restart, Isolated says %v", n.Name, n.Isolated())
	}
	must(t, n.Rejoin(t.Context()))
	must(t, cluster.Await(t.Context()))
}

func wantState(t testing.TB, n *backends.Node, want string) {
	t.Helper()
	if got, err := n.State(t.Context()); err != nil || got != want {
		t.Errorf("state of %s: got %q, %v, want %q", n.Name, got, err, want)
	}
}

// TestIsolatePrimary: a replica is promoted while the old primary, cut off, takes a write, which is lost when it is back.
func TestIsolatePrimary(t *testing.T) {
	cluster := backendtest.Fresh(t, "redis-sentinel", bridged)
	old, err := cluster.Leader(t.Context())
	must(t, err)
	replicas, err := cluster.Followers(t.Context())
	must(t, err)
	if len(replicas) != 1 || replicas[0] == old || !replicas[0].Data() || cluster.Nodes()[2].Data() {
		t.Fatalf("primary %s, replicas %v, Data of %s: %v", old.Name, replicas, cluster.Nodes()[2].Name, cluster.Nodes()[2].Data())
	}
	alone := cluster.Target()
	alone.Master, alone.Addrs = "", []string{old.Addr}
	peer := replicas[0]
	if out, err := reach(t, old, peer); err != nil || !strings.Contains(out, "PONG") {
		t.Fatalf("%s does not reach %s: %q, %v", old.Name, peer.Name, out, err)
	}
	must(t, old.Isolate(t.Context()))
	open(t, alone).mustPut(t, "lockbench/i/lost")
	if out, err := reach(t, old, peer); err == nil {
		t.Errorf("%s reaches %s though it is cut off: %q", old.Name, peer.Name, out)
	}
	next, err := cluster.AwaitLeader(t.Context(), old)
	must(t, err)
	if next != peer {
		t.Errorf("%s leads, want %s", next.Name, peer.Name)
	}
	open(t, alone).mustHave(t, true, "lockbench/i/lost")
	must(t, old.Rejoin(t.Context()))
	must(t, cluster.Await(t.Context()))
	open(t, cluster.Target()).mustHave(t, false, "lockbench/i/lost")
	eventually(t, "the old primary forgets", func() error {
		ok, err := open(t, alone).has("lockbench/i/lost")
		if err == nil && ok {
			err = errors.New("still there")
		}
		return err
	})
	// Without its data, and cut off: it is made anew, cut off.
	must(t, old.Isolate(t.Context()))
	must(t, old.RestartEmpty(t.Context()))
	if out, err := reach(t, old, peer); err == nil {
		t.Errorf("%s reaches %s after RestartEmpty: %q", old.Name, peer.Name, out)
	}
	must(t, old.Rejoin(t.Context()))
	must(t, cluster.Await(t.Context()))
}

// reach asks a peer from within a node, by every address that the peer has.
func reach(t *testing.T, from, to *backends.Node) (string, error) {
	_, port, _ := strings.Cut(to.Addr, ":")
	hosts := []string{to.Name}
	for _, e := range inspect(t, docker(t), to).NetworkSettings.Networks {
		if e.IPAddress.IsValid() {
			hosts = append(hosts, e.IPAddress.String())
		}
	}
	if len(hosts) != 3 {
		t.Fatalf("%s has addresses %v, want its name and two", to.Name, hosts)
	}
	var all string
	var last error
	for _, host := range hosts {
		out, err := from.Exec(t.Context(), nil, "timeout", "1", "redis-cli", "-h", host, "-p", port, "ping")
		if err == nil {
			all += host + ": " + out
		} else {
			last = err
		}
	}
	if all != "" {
		return all, nil
	}
	return "", last
}

// TestNoPeers: what cannot be cut says why.
func TestNoPeers(t *testing.T) {
	for _, c := range []struct{ topology, want string }{{"redlock-3", "do not talk to each other"}, {"etcd-3", "use the network bridge"}} {
		cluster := backendtest.Shared(t, c.topology)
		n := cluster.Nodes()[0]
		for name, do := range map[string]func(context.Context) error{"Isolate": n.Isolate, "Rejoin": n.Rejoin} {
			if err := do(t.Context()); !errors.Is(err, backends.ErrNoPeers) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s of %s: got %v, want ErrNoPeers and %q", name, c.topology, err, c.want)
			}
		}
		if n.Isolated() {
			t.Errorf("%s of %s is isolated", n.Name, c.topology)
		}
	}
}

// TestLeader: on the host's network, too.
func TestLeader(t *testing.T) {
	for _, c := range []struct {
		topology  string
		leader    bool
		followers int
	}{{"etcd-3", true, 2}, {"zookeeper-3", true, 2}, {"redis-sentinel", true, 1}, {"redis", true, 0}, {"postgres", true, 0}, {"redlock-3", false, 0}} {
		t.Run(c.topology, func(t *testing.T) {
			cluster := backendtest.Shared(t, c.topology)
			l, err := cluster.Leader(t.Context())
			if !c.leader {
				if err == nil || errors.Is(err, backends.ErrNoLeader) {
					t.Errorf("got %v, %v, want an error that is not ErrNoLeader", l, err)
				}
				return
			}
			must(t, err)
			f, err := cluster.Followers(t.Context())
			must(t, err)
			if len(f) != c.followers {
				t.Errorf("leader %s, got %d followers, want %d", l.Name, len(f), c.followers)
			}
			for _, n := range cluster.Nodes() {
				must(t, n.Ping(t.Context()))
			}
		})
	}
}
