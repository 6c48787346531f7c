package backends_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/backends"
	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/loopback"
	"lockbench/lock"
)

func names(t testing.TB, c *backends.Cluster, prefix string) []string {
	t.Helper()
	got, err := c.Names(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantNames(t testing.TB, c *backends.Cluster, prefix string, want ...string) {
	t.Helper()
	if got := names(t, c, prefix); !slices.Equal(got, want) {
		t.Errorf("names under %q:\n got %q\nwant %q", prefix, got, want)
	}
}

// TestNames: what is under a prefix is listed, and nothing else.
func TestNames(t *testing.T) {
	for _, topology := range []string{"redis", "redis-sentinel", "etcd-3", "zookeeper-1"} {
		t.Run(topology, func(t *testing.T) {
			c := backendtest.Shared(t, topology)
			target, run := backendtest.Fill(c)
			t.Cleanup(func() { must(t, c.Clean(context.WithoutCancel(t.Context()), run)) })
			slash := ""
			if target.Service == lock.ServiceZooKeeper {
				slash = "/"
			}
			wantNames(t, c, run+"a/")
			s := open(t, target)
			s.mustPut(t, run+"a/k1", run+"a/k2", run+"b/k1", run+"a[b]/k")
			wantNames(t, c, run+"a/", slash+run+"a/k1", slash+run+"a/k2")
			wantNames(t, c, run+"a[b]/", slash+run+"a[b]/k")
			wantNames(t, c, run+"c/")
			for i := range 1000 {
				s.mustPut(t, fmt.Sprintf("%sm/%04d", run, i))
			}
			names(t, c, run+"m/") // the server has seen nothing like it yet
			start := time.Now()
			if got := names(t, c, run+"m/"); len(got) != 1000 || got[999] != slash+run+"m/0999" {
				t.Errorf("%d names, the last %q; want 1000", len(got), got[max(0, len(got)-1)])
			}
			t.Logf("1000 names listed in %v", time.Since(start))
			for _, bad := range []string{"", "lockbench", "other/"} {
				if _, err := c.Names(t.Context(), bad); err == nil {
					t.Errorf("prefix %q: no error", bad)
				}
			}
		})
	}
}

// TestNamesOfEach: all servers of a quorum are looked at, each by name.
func TestNamesOfEach(t *testing.T) {
	c := backendtest.Shared(t, "redlock-3")
	target, run := backendtest.Fill(c)
	var want []string
	for i, n := range c.Nodes() {
		key := fmt.Sprintf("%sk%d", run, i)
		must(t, direct(t, n).Set(t.Context(), key, "x", time.Minute).Err())
		want = append(want, target.Addrs[i]+" "+key)
	}
	slices.Sort(want)
	wantNames(t, c, run, want...)
	must(t, c.Clean(t.Context(), run))
	wantNames(t, c, run)
}

// TestNamesSay: leases and sessions that keep names alive are told.
func TestNamesSay(t *testing.T) {
	t.Run("etcd", func(t *testing.T) {
		c := backendtest.Shared(t, "etcd-1")
		target, run := backendtest.Fill(c)
		cli, err := clientv3.New(clientv3.Config{Endpoints: target.Addrs, DialTimeout: storeTimeout})
		must(t, err)
		defer cli.Close()
		l, err := cli.Grant(t.Context(), 60)
		must(t, err)
		for _, key := range []string{"k1", "k2"} {
			_, err = cli.Put(t.Context(), run+key, "x", clientv3.WithLease(l.ID))
			must(t, err)
		}
		wantNames(t, c, run, fmt.Sprintf("lease %x", int64(l.ID)), run+"k1", run+"k2")
		_, err = cli.Revoke(t.Context(), l.ID)
		must(t, err)
		wantNames(t, c, run)
	})
	t.Run("zookeeper", func(t *testing.T) {
		c := backendtest.Shared(t, "zookeeper-1")
		target, run := backendtest.Fill(c)
		t.Cleanup(func() { must(t, c.Clean(context.WithoutCancel(t.Context()), run)) })
		open(t, target).mustPut(t, run+"k")
		cli, _, err := zk.Connect(target.Addrs, 10*time.Second, zk.WithLogger(noLog{}))
		must(t, err)
		node, err := cli.Create("/"+run+"k/x-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		must(t, err)
		wantNames(t, c, run, "/"+run+"k", fmt.Sprintf("%s (ephemeral, session 0x%x)", node, cli.SessionID()))
		cli.Close()
		wantNames(t, c, run, "/"+run+"k")
	})
	t.Run("loopback", func(t *testing.T) {
		c := backendtest.Shared(t, "loopback")
		target, run := backendtest.Fill(c)
		i := slices.IndexFunc(loopback.Infos(), func(i lock.Info) bool { return i.Name == "control-ttl" })
		cli, err := loopback.Infos()[i].Dial(t.Context(), target)
		must(t, err)
		defer cli.Close()
		le, err := cli.(lock.Leaser).Acquire(t.Context(), "k", lock.AcquireOptions{TTL: time.Minute})
		must(t, err)
		if got := names(t, c, run); len(got) != 1 || !strings.HasPrefix(got[0], target.Prefix+"k held by ") {
			t.Errorf("held: got %q", got)
		}
		must(t, le.Release(t.Context()))
		wantNames(t, c, run)
	})
}

// session opens a PostgreSQL session that calls itself app.
func session(t testing.TB, target lock.Target, app string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable&application_name=%s",
		target.User, target.Password, target.Addrs[0], target.Database, url.QueryEscape(app)))
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func exec(t testing.TB, c *pgx.Conn, sql string) {
	t.Helper()
	_, err := c.Exec(t.Context(), sql)
	must(t, err)
}

func TestNamesPostgres(t *testing.T) {
	c := backendtest.Shared(t, "postgres")
	target, run := backendtest.Fill(c)
	app := strings.TrimSuffix(run, "/")
	idle, holder, other := session(t, target, app), session(t, target, app), session(t, target, run+"x/c1")
	exec(t, idle, "SELECT 1")
	wantNames(t, c, run)
	const number = -4611686018427387905 // both halves of it matter
	exec(t, holder, fmt.Sprintf("SELECT pg_advisory_lock(%d)", number))
	exec(t, holder, "SELECT pg_advisory_lock(1, 2)")
	pid := func(c *pgx.Conn) string { return strconv.Itoa(int(c.PgConn().PID())) }
	held := []string{app + " " + pid(holder) + " holds advisory lock " + strconv.Itoa(number), app + " " + pid(holder) + " holds advisory lock 1,2"}
	wantNames(t, c, run+"a/", held...)
	exec(t, other, "BEGIN")
	wantNames(t, c, run+"a/", held...)
	wantNames(t, c, run+"x/", append(held, run+"x/c1 "+pid(other)+" is in a transaction: idle in transaction")...)
	done := make(chan error, 1)
	go func() {
		_, err := idle.Exec(context.Background(), fmt.Sprintf("SELECT pg_advisory_lock(%d)", number))
		done <- err
	}()
	eventually(t, "the waiter is listed", func() error {
		want := app + " " + pid(idle) + " awaits advisory lock " + strconv.Itoa(number)
		if got := names(t, c, run+"a/"); !slices.Contains(got, want) {
			return fmt.Errorf("%q is not in %q", want, got)
		}
		return nil
	})
	must(t, holder.Close(t.Context()))
	must(t, <-done)
}

// TestTerminate: the backends of one name end, and no others.
func TestTerminate(t *testing.T) {
	c := backendtest.Shared(t, "postgres")
	target, run := backendtest.Fill(c)
	a1, a2, b := session(t, target, run+"a"), session(t, target, run+"a"), session(t, target, run+"ab")
	count := func(c *backends.Cluster, app string, want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d backends of %s", want, app), func() error {
			if got, err := c.Backends(t.Context(), app); err != nil || got != want {
				return fmt.Errorf("%d, %v", got, err)
			}
			return nil
		})
	}
	count(c, run+"a", 2)
	// A handle that is younger than the sessions: somebody else's, of the same name.
	given, err := backends.Open(t.Context(), "postgres", backends.Options{Given: map[string]string{lock.ServicePostgres: fmt.Sprintf(
		"postgres://%s:%s@%s/%s", target.User, target.Password, target.Addrs[0], target.Database)}})
	must(t, err)
	count(given, run+"a", 0)
	if pids, err := given.Terminate(t.Context(), run+"a"); len(pids) != 0 || err != nil {
		t.Fatalf("a younger handle ended %v, %v", pids, err)
	}
	a3 := session(t, target, run+"a")
	count(given, run+"a", 1)
	pids, err := given.Terminate(t.Context(), run+"a")
	must(t, err)
	if want := []int{int(a3.PgConn().PID())}; !slices.Equal(pids, want) {
		t.Errorf("ended %v, want %v", pids, want)
	}
	count(c, run+"a", 2)
	exec(t, a1, "SELECT 1")
	pids, err = c.Terminate(t.Context(), run+"a")
	must(t, err)
	want := []int{int(a1.PgConn().PID()), int(a2.PgConn().PID())}
	if slices.Sort(pids); !slices.Equal(pids, slices.Sorted(slices.Values(want))) {
		t.Errorf("ended %v, want %v", pids, want)
	}
	count(c, run+"a", 0)
	count(c, run+"ab", 1)
	exec(t, b, "SELECT 1")
	if _, err := a1.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a session that was ended answers")
	}
	if _, err := c.Terminate(t.Context(), ""); err == nil {
		t.Error("no name: no error")
	}
	if _, err := backendtest.Shared(t, "loopback").Terminate(t.Context(), "x"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("loopback: %v, want ErrUnsupported", err)
	}
}
