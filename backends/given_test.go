package backends_test

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/backends"
	"lockbench/backends/backendtest"
	"lockbench/lock"
)

// urlOf returns the URL of a cluster, as its user would write it.
func urlOf(c *backends.Cluster) string {
	t := c.Target()
	hosts := strings.Join(t.Addrs, ",")
	switch {
	case t.Master != "":
		return "redis-sentinel://" + hosts + "?master=" + t.Master
	case t.Service == lock.ServiceEtcd:
		return "etcd://" + hosts
	case t.Service == lock.ServiceZooKeeper:
		return "zk://" + hosts
	case t.Service == lock.ServicePostgres:
		return fmt.Sprintf("postgres://%s:%s@%s/%s", t.User, t.Password, hosts, t.Database)
	}
	return "redis://" + hosts
}

func given(service, raw string) backends.Options {
	return backends.Options{Given: map[string]string{service: raw}}
}

// TestGiven reaches servers by URL, and cleans them: what is under the prefix, and no more.
func TestGiven(t *testing.T) {
	for _, topology := range []string{"redis", "redis-sentinel", "redlock-3", "etcd-3", "zookeeper-3", "postgres"} {
		t.Run(topology, func(t *testing.T) {
			theirs := backendtest.Shared(t, topology)
			service := theirs.Facts().Service
			c, err := backends.Open(t.Context(), backends.DefaultTopology(service), given(service, urlOf(theirs)))
			must(t, err)
			f := c.Facts()
			if f.Topology != topology || f.Network != backends.NetworkGiven || f.Version != theirs.Facts().Version || len(f.Images) > 0 || len(c.Nodes()) > 0 {
				t.Errorf("facts: got %+v, want those of a given %s of version %s", f, topology, theirs.Facts().Version)
			}
			must(t, c.Check(t.Context()))
			if _, ok := c.CPU(t.Context()); ok {
				t.Error("the CPU time of a given server is not to be known")
			}
			s := open(t, c.Target())
			s.mustPut(t, "lockbench/g1/a/x", "lockbench/g1/a/y/z", "lockbench/g1/b/x", "lockbench/g12/a/x", "lockbench/g*/a/x", "theirs/g1/a")
			must(t, c.Clean(t.Context(), "lockbench/g1/a/"))
			s.mustHave(t, false, "lockbench/g1/a/x", "lockbench/g1/a/y/z")
			s.mustHave(t, true, "lockbench/g1/b/x", "lockbench/g12/a/x", "lockbench/g*/a/x", "theirs/g1/a")
			must(t, c.Clean(t.Context(), "lockbench/g*/"))
			s.mustHave(t, false, "lockbench/g*/a/x")
			must(t, c.Clean(t.Context(), "lockbench/g1/"))
			s.mustHave(t, false, "lockbench/g1/b/x")
			s.mustHave(t, true, "lockbench/g12/a/x", "theirs/g1/a")
			for _, prefix := range []string{"", "/", "lockbench", "theirs/"} {
				if err := c.Clean(t.Context(), prefix); err == nil {
					t.Errorf("Clean(%q): no error", prefix)
				}
			}
			n, err := backends.CleanURL(t.Context(), service, urlOf(theirs))
			must(t, err)
			if n == 0 {
				t.Error("CleanURL removed nothing")
			}
			s.mustHave(t, false, "lockbench/g12/a/x")
			s.mustHave(t, true, "theirs/g1/a")
			if n, err := backends.CleanURL(t.Context(), service, urlOf(theirs)); n != 0 || err != nil {
				t.Errorf("CleanURL again: got %d, %v, want nothing to do", n, err)
			}
			must(t, c.Close(t.Context()))
			must(t, theirs.Check(t.Context())) // Close of a given cluster closes nothing
		})
	}
}

// TestGivenRefused: what is wrong with a server is said, with a hint and without a password.
func TestGivenRefused(t *testing.T) {
	const secret = "hunter22"
	locked := backendtest.Fresh(t, "redis")
	must(t, redis.NewClient(&redis.Options{Addr: locked.Target().Addrs[0]}).ConfigSet(t.Context(), "requirepass", "other").Err())
	guarded := backendtest.Fresh(t, "etcd-1")
	enableAuth(t, guarded.Target().Addrs, "other")
	at := func(topology string) string { return backendtest.Shared(t, topology).Nodes()[0].Addr }
	redisAt, pgAt, zkAt, etcdAt := at("redis"), at("postgres"), at("zookeeper-1"), at("etcd-1")
	sentinels := backendtest.Shared(t, "redis-sentinel")
	ports, err := backends.FreePorts(1)
	must(t, err)
	nobody := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	for _, c := range []struct{ service, raw, hint string }{
		{"redis", "redis://:" + secret + "@" + nobody, "is the server up"},
		{"etcd", "etcd://me:" + secret + "@" + nobody, "is the server up"},
		{"zookeeper", "zk://me:" + secret + "@" + nobody, "is the server up"},
		{"postgres", "postgres://me:" + secret + "@" + nobody + "/d", "is the server up"},
		{"redis", "redis://:" + secret + "@nobody.invalid", "is the server up"},
		{"redis", "redis://:" + secret + "@" + locked.Nodes()[0].Addr, "password"},
		{"redis", "redis://" + locked.Nodes()[0].Addr, "password"},
		{"etcd", "etcd://root:" + secret + "@" + guarded.Nodes()[0].Addr, "password"},
		{"etcd", "etcd://" + guarded.Nodes()[0].Addr, "password"},
		{"postgres", "postgres://lockbench:" + secret + "@" + pgAt + "/lockbench", "password"},
		{"postgres", "postgres://lockbench:" + secret + "@" + pgAt + "/lockbench?sslmode=require", "is it really"},
		{"redis", "redis://:" + secret + "@" + pgAt, "is it really redis"},
		{"redis", "redis://:" + secret + "@" + zkAt, "is it really redis"},
		{"redis", "redis://" + etcdAt, "is it really redis"},
		{"redis", "rediss://:" + secret + "@" + redisAt + "?insecure=true", "TLS"},
		{"postgres", "postgres://me:" + secret + "@" + redisAt + "/d", "is it really postgres"},
		{"etcd", "etcd://me:" + secret + "@" + redisAt, "is it really etcd"},
		{"zookeeper", "zk://me:" + secret + "@" + redisAt, "is it really zookeeper"},
		{"redis", "redis://" + sentinels.Target().Addrs[0], "redis-sentinel://"},
		{"redis", "redis://" + sentinels.Nodes()[1].Addr, "name the primary"},
		{"redis", "redis-sentinel://" + sentinels.Target().Addrs[0] + "?master=other", "redis-sentinel://"},
		{"redlock", "redis://" + redisAt + "," + nobody, "3 or more"},
	} {
		name := backends.Scrub(c.raw)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, err := backends.Open(t.Context(), backends.DefaultTopology(c.service), given(c.service, c.raw))
			if err == nil {
				t.Fatalf("%s: no error: %+v", name, cluster.Facts())
			}
			var e *backends.Error
			if !errors.As(err, &e) || !strings.Contains(e.Hint(), c.hint) {
				t.Errorf("%s: got %v, want a hint with %q", name, err, c.hint)
			}
			if e != nil && strings.Contains(err.Error()+e.Hint(), secret) {
				t.Errorf("%s: the error says the password: %v (%s)", name, err, e.Hint())
			}
			if _, err := backends.CleanURL(t.Context(), c.service, c.raw); err == nil && c.hint != "name the primary" && c.hint != "redis-sentinel://" {
				t.Errorf("CleanURL(%s): no error", name)
			} else if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("CleanURL(%s): the error says the password: %v", name, err)
			}
		})
	}
}

// enableAuth makes an etcd ask for root's password.
func enableAuth(t *testing.T, addrs []string, password string) {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: addrs, DialTimeout: storeTimeout})
	must(t, err)
	defer func() { _ = c.Close() }()
	_, err = c.UserAdd(t.Context(), "root", password)
	must(t, err)
	_, err = c.UserGrantRole(t.Context(), "root", "root")
	must(t, err)
	_, err = c.AuthEnable(t.Context())
	must(t, err)
}

func TestSentinelNeedsItsURL(t *testing.T) {
	_, err := backends.Open(t.Context(), "redis-sentinel", given("redis", "redis://127.0.0.1:1"))
	var e *backends.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint(), "redis-sentinel://") {
		t.Errorf("got %v, want a hint to redis-sentinel://", err)
	}
}
