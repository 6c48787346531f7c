package backends_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"lockbench/backends"
	"lockbench/backends/backendtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRestart: what is kept is what the topology says.
func TestRestart(t *testing.T) {
	for _, c := range []struct {
		topology string
		kept     bool
	}{{"redis", false}, {"redis-aof", true}, {"etcd-1", true}, {"zookeeper-1", true}, {"postgres", true}} {
		t.Run(c.topology, func(t *testing.T) {
			t.Parallel()
			cluster := backendtest.Fresh(t, c.topology)
			n := cluster.Nodes()[0]
			before := inspect(t, docker(t), n).ID
			open(t, cluster.Target()).mustPut(t, "lockbench/r/a")
			must(t, n.Kill(t.Context()))
			must(t, n.Kill(t.Context())) // again: nothing to do
			if conn, err := net.Dial("tcp", n.Addr); err == nil {
				_ = conn.Close()
				t.Errorf("%s answers after it was killed", n.Name)
			}
			if err := cluster.Check(t.Context()); err == nil {
				t.Error("Check of a dead server: no error")
			}
			must(t, n.Restart(t.Context()))
			must(t, cluster.Check(t.Context()))
			open(t, cluster.Target()).mustHave(t, c.kept, "lockbench/r/a")
			if after := inspect(t, docker(t), n).ID; after != before {
				t.Errorf("Restart made another container: %s, before %s", after, before)
			}
			open(t, cluster.Target()).mustPut(t, "lockbench/r/b")
			must(t, n.RestartEmpty(t.Context()))
			must(t, cluster.Check(t.Context()))
			open(t, cluster.Target()).mustHave(t, false, "lockbench/r/a", "lockbench/r/b")
			if text, err := n.Logs(t.Context()); err != nil || text == "" && !strings.HasPrefix(c.topology, "etcd") { // etcd tells warnings only
				t.Errorf("Logs: got %q, %v", text, err)
			}
			if v, err := n.Version(t.Context()); err != nil || v == "" || v != cluster.Facts().Version {
				t.Errorf("Version: got %q, %v, want %q", v, err, cluster.Facts().Version)
			}
		})
	}
}

// TestPause: a paused server is connected to and says nothing; one that is killed while
// it is paused comes back.
func TestPause(t *testing.T) {
	cluster := backendtest.Fresh(t, "redis-aof")
	n, s := cluster.Nodes()[0], open(t, cluster.Target())
	s.mustPut(t, "lockbench/p/a")
	must(t, n.Pause(t.Context()))
	conn, err := net.Dial("tcp", n.Addr)
	must(t, err)
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Error(err)
	}
	must(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	if k, err := conn.Read(make([]byte, 8)); err == nil {
		t.Errorf("a paused server answered with %d bytes", k)
	}
	must(t, n.Resume(t.Context()))
	must(t, conn.SetReadDeadline(time.Now().Add(storeTimeout)))
	if _, err := conn.Read(make([]byte, 8)); err != nil {
		t.Errorf("after Resume: %v", err)
	}
	must(t, conn.Close())
	must(t, n.Pause(t.Context()))
	must(t, n.Kill(t.Context()))
	must(t, n.Restart(t.Context()))
	open(t, cluster.Target()).mustHave(t, true, "lockbench/p/a")
	if err := n.Resume(t.Context()); err == nil {
		t.Error("Resume of a server that runs: no error")
	}
}

// TestQuorum kills all members of a quorum and brings them back one after the other.
func TestQuorum(t *testing.T) {
	for _, topology := range []string{"etcd-3", "zookeeper-3"} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			cluster := backendtest.Fresh(t, topology)
			open(t, cluster.Target()).mustPut(t, "lockbench/q/a")
			for _, n := range cluster.Nodes() {
				if err := n.RestartEmpty(t.Context()); !errors.Is(err, backends.ErrNeedsData) {
					t.Errorf("RestartEmpty of %s: got %v, want ErrNeedsData", n.Name, err)
				}
				must(t, n.Kill(t.Context()))
			}
			for _, n := range cluster.Nodes() {
				must(t, n.Restart(t.Context()))
			}
			must(t, cluster.Check(t.Context()))
			open(t, cluster.Target()).mustHave(t, true, "lockbench/q/a")
		})
	}
}

// TestFailover: go-redis finds the primary through the sentinels, also the next one; on both kinds of network.
func TestFailover(t *testing.T) {
	for _, network := range []string{"", backends.NetworkBridge} {
		t.Run("network="+network, func(t *testing.T) {
			t.Parallel()
			cluster := backendtest.Fresh(t, "redis-sentinel", func(o *backends.Options) { o.Network = network })
			s := open(t, cluster.Target())
			s.mustPut(t, "lockbench/f/a")
			must(t, cluster.Nodes()[0].Kill(t.Context()))
			eventually(t, "write after the failover", func() error { return s.put("lockbench/f/b") })
			must(t, cluster.Nodes()[0].Restart(t.Context()))
			// Sentinels make it a replica when it has been back for 8 s (sentinel.c: 4 hello periods).
			eventually(t, "the old primary follows", func() error { return cluster.Check(t.Context()) })
			s.mustHave(t, true, "lockbench/f/b")
			must(t, cluster.Clean(t.Context(), "lockbench/f/"))
			s.mustHave(t, false, "lockbench/f/a", "lockbench/f/b")
		})
	}
}

// TestBridge: the same servers with published ports.
func TestBridge(t *testing.T) {
	for _, topology := range []string{"redlock-3", "etcd-3", "zookeeper-3", "postgres"} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			cluster := backendtest.Fresh(t, topology, func(o *backends.Options) { o.Network = backends.NetworkBridge })
			if got := cluster.Facts().Network; got != backends.NetworkBridge {
				t.Errorf("network %q, want bridge", got)
			}
			for _, n := range cluster.Nodes() {
				published(t, inspect(t, docker(t), n), n)
			}
			open(t, cluster.Target()).mustPut(t, "lockbench/b/a")
			n := cluster.Nodes()[0]
			must(t, n.Kill(t.Context()))
			must(t, n.Restart(t.Context()))
			must(t, cluster.Check(t.Context()))
			open(t, cluster.Target()).mustHave(t, topology != "redlock-3", "lockbench/b/a")
		})
	}
}

// TestFsync: what a commit costs is not what a library between us and the server made of it.
func TestFsync(t *testing.T) {
	target := backendtest.Target(t, "postgres")
	c, err := pgx.Connect(t.Context(), "postgres://"+target.User+":"+target.Password+"@"+target.Addrs[0]+"/"+target.Database+"?sslmode=disable")
	must(t, err)
	defer func() { _ = c.Close(t.Context()) }()
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var v string
		must(t, c.QueryRow(t.Context(), "SHOW "+setting).Scan(&v))
		if v != "on" {
			t.Errorf("%s is %s, want on", setting, v)
		}
	}
}

// TestData: no data directory is in memory.
func TestData(t *testing.T) {
	for _, top := range backends.Topologies() {
		t.Run(top.Name, func(t *testing.T) {
			for _, n := range backendtest.Shared(t, top.Name).Nodes() {
				r := inspect(t, docker(t), n)
				if len(r.HostConfig.Tmpfs) > 0 {
					t.Errorf("%s has memory for a disk: %v", n.Name, r.HostConfig.Tmpfs)
				}
				for _, m := range r.Mounts {
					if m.Type == "tmpfs" {
						t.Errorf("%s has memory for a disk at %s", n.Name, m.Destination)
					}
				}
			}
		})
	}
}

// TestCPU: work is seen, by the kernel's file and by Docker.
func TestCPU(t *testing.T) {
	c := backendtest.Shared(t, "redis")
	n := c.Nodes()[0]
	work := func() {
		cli := redisOf(t, c.Target())
		for range 200 {
			must(t, cli.Do(t.Context(), "lolwut", "version", "5", "400", "4", "4").Err())
		}
	}
	for name, ask := range map[string]func(context.Context) (time.Duration, bool){"cluster": c.CPU, "docker": n.AskCPU} {
		before, ok := ask(t.Context())
		if !ok {
			t.Fatalf("%s: no CPU time", name)
		}
		work()
		after, ok := ask(t.Context())
		if !ok || after <= before {
			t.Errorf("%s: %v before the work, %v (%v) after", name, before, after, ok)
		}
	}
}
