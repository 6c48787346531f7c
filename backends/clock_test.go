package backends_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/backends"
	"lockbench/backends/backendtest"
)

func withClock(o *backends.Options) { o.Clock = true }

// direct is a client of one server of a cluster.
func direct(t testing.TB, n *backends.Node) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: n.Addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// off is how far a server's clock is from this machine's, to the minute.
func off(t testing.TB, n *backends.Node) time.Duration {
	t.Helper()
	at, err := n.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(at).Round(time.Minute)
}

// TestShift shifts one server's clock while it runs, and looks at what its leases make of it.
func TestShift(t *testing.T) {
	for _, topology := range []string{"redis", "redis-aof", "redlock-3", "redis-sentinel"} {
		t.Run(topology, func(t *testing.T) {
			cluster := backendtest.Fresh(t, topology, withClock)
			n := cluster.Nodes()[0]
			c := direct(t, n)
			shift := func(d time.Duration) {
				t.Helper()
				if err := n.Shift(t.Context(), d); err != nil {
					if errors.Is(err, backends.ErrNoClock) {
						t.Skip(err)
					}
					t.Fatal(err)
				}
				if got := off(t, n); got != d.Round(time.Minute) {
					t.Fatalf("shifted by %s, the server's clock is off by %s", d, got)
				}
			}
			left := func(key string, want time.Duration) {
				t.Helper()
				ttl, err := c.PTTL(t.Context(), key).Result()
				if err != nil {
					t.Fatal(err)
				}
				if ttl > 0 {
					ttl = ttl.Round(time.Minute) // the test itself takes seconds
				}
				if ttl != want {
					t.Errorf("%s lasts for another %s, want %s", key, ttl, want)
				}
			}
			const gone = -2 // as PTTL says it
			set := func(key string, ttl time.Duration) { must(t, c.Set(t.Context(), key, "x", ttl).Err()) }

			set("a", time.Minute)
			left("a", time.Minute)
			shift(61 * time.Minute)
			left("a", gone)
			set("b", 10*time.Minute)
			shift(0)
			left("b", 71*time.Minute)
			shift(-60*time.Minute - time.Nanosecond)
			left("b", 131*time.Minute)
			set("c", 10*time.Minute)
			shift(60 * time.Minute)
			left("b", 11*time.Minute)
			left("c", gone)
			for _, other := range cluster.Nodes()[1:] {
				if _, err := other.Clock(t.Context()); errors.Is(err, backends.ErrNoClock) {
					continue // a sentinel
				}
				if got := off(t, other); got != 0 {
					t.Errorf("the clock of %s is off by %s, too", other.Name, got)
				}
			}
			if topology == "redis-aof" {
				must(t, n.Restart(t.Context()))
				left("b", 11*time.Minute)
				if got := off(t, n); got != time.Hour {
					t.Errorf("after Restart the clock is off by %s, want 1h", got)
				}
			}
			if topology == "redis" {
				must(t, n.RestartEmpty(t.Context()))
				if got := off(t, n); got != 0 {
					t.Errorf("after RestartEmpty the clock is off by %s", got)
				}
				shift(5 * time.Minute)
			}
		})
	}
}

// TestNoClock: servers without one say so, and why.
func TestNoClock(t *testing.T) {
	for _, topology := range []string{"redis", "etcd-1", "zookeeper-1", "postgres"} {
		t.Run(topology, func(t *testing.T) {
			n := backendtest.Shared(t, topology).Nodes()[0]
			if err := n.Shift(t.Context(), time.Hour); !errors.Is(err, backends.ErrNoClock) {
				t.Errorf("Shift: %v, want ErrNoClock", err)
			}
			_, err := n.Clock(t.Context())
			if topology == "redis" && err != nil || topology != "redis" && !errors.Is(err, backends.ErrNoClock) {
				t.Errorf("Clock: %v", err)
			}
		})
	}
	t.Run("sentinel", func(t *testing.T) {
		for _, n := range backendtest.Shared(t, "redis-sentinel").Nodes()[2:] {
			if err := n.Shift(t.Context(), time.Hour); !errors.Is(err, backends.ErrNoClock) {
				t.Errorf("Shift of %s: %v, want ErrNoClock", n.Name, err)
			}
		}
	})
}
