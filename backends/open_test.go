package backends_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"

	"lockbench/backends"
	"lockbench/backends/backendtest"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

// left returns the names of the containers and networks with a label.
func left(t testing.TB, label string) []string {
	t.Helper()
	cli := docker(t)
	f := make(client.Filters).Add("label", label)
	cs, err := cli.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	ns, err := cli.NetworkList(context.Background(), client.NetworkListOptions{Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range cs.Items {
		out = append(out, strings.TrimPrefix(c.Names[0], "/"))
	}
	for _, n := range ns.Items {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

// needDocker ends a test that expects an error of its own where there is no Docker at all.
func needDocker(t testing.TB) { backendtest.Shared(t, "redis") }

// log of registrations.
type log struct {
	mu    sync.Mutex
	names []string
}

func (l *log) register(t *testing.T, label string) func(kind, name string) (func(), error) {
	return func(kind, name string) (func(), error) {
		if slices.Contains(left(t, label), name) {
			t.Errorf("%s %s is there before it is registered", kind, name)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.names = append(l.names, name)
		return func() {
			if slices.Contains(left(t, label), name) {
				t.Errorf("%s %s is there after it was forgotten", kind, name)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.names = slices.DeleteFunc(l.names, func(n string) bool { return n == name })
		}, nil
	}
}

// own returns options with a label of the test's own.
func own(t *testing.T) (o backends.Options, label string) {
	o = backendtest.Options(t.Log)
	value := fmt.Sprintf("%d/%s", os.Getpid(), t.Name())
	o.Owner[backendtest.OwnerLabel] = value
	return o, backendtest.OwnerLabel + "=" + value
}

// TestLeavesNothing: all that is made is registered, labelled, and gone after Close, though
// the caller's context has ended.
func TestLeavesNothing(t *testing.T) {
	needDocker(t)
	for _, c := range []struct {
		topology, network string
		networks          int // on bridges
	}{{"redlock-3", "", 1}, {"redlock-3", backends.NetworkBridge, 1}, {"etcd-3", backends.NetworkBridge, 4}} {
		t.Run(c.topology+" network="+c.network, func(t *testing.T) {
			o, label := own(t)
			var l log
			o.Network, o.Register = c.network, l.register(t, label)
			ctx, cancel := context.WithCancel(t.Context())
			cluster, err := backends.Open(ctx, c.topology, o)
			must(t, err)
			slices.Sort(l.names)
			want := 3
			if cluster.Facts().Network == backends.NetworkBridge {
				want += c.networks
			}
			if got := left(t, label); !slices.Equal(got, l.names) || len(got) != want {
				t.Errorf("there are %v, registered %v, want %d of each", got, l.names, want)
			}
			cancel()
			must(t, cluster.Close(ctx))
			must(t, cluster.Close(ctx))
			if got := left(t, label); len(got) > 0 || len(l.names) > 0 {
				t.Errorf("after Close there are %v, registered %v", got, l.names)
			}
		})
	}
}

// TestOpenFails: whatever goes wrong, nothing stays.
func TestOpenFails(t *testing.T) {
	needDocker(t)
	refuse := errors.New("refused")
	for _, c := range []struct {
		name, topology string
		change         func(o *backends.Options, cancel func())
		want           string
	}{
		{"unknown topology", "redis-17", func(*backends.Options, func()) {}, "unknown topology"},
		{"unknown image", "redis", func(o *backends.Options, _ func()) { o.Images = map[string]string{"redisse": "x"} }, "unknown image"},
		{"unknown network", "redis", func(o *backends.Options, _ func()) { o.Network = "token-ring" }, "unknown network"},
		{"no such image", "redis", func(o *backends.Options, _ func()) {
			o.Images = map[string]string{"redis": "lockbench/there-is-no-such-image:0"}
		}, "cannot be pulled"},
		{"registration refused", "redlock-3", func(o *backends.Options, _ func()) {
			n := 0
			o.Register = func(string, string) (func(), error) {
				if n++; n == 3 {
					return nil, refuse
				}
				return func() {}, nil
			}
		}, "refused"},
		{"cancelled", "redlock-3", func(o *backends.Options, cancel func()) {
			o.Register = func(string, string) (func(), error) { cancel(); return nil, nil }
		}, "canceled"},
		{"wrong image", "redis", func(o *backends.Options, _ func()) {
			o.Images = map[string]string{"redis": backendtest.Shared(t, "etcd-1").Facts().Images["etcd"]}
		}, "redis-server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, label := own(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.change(&o, cancel)
			cluster, err := backends.Open(ctx, c.topology, o)
			if err == nil {
				must(t, cluster.Close(ctx))
				t.Fatal("no error")
			}
			var h interface{ Hint() string }
			if !strings.Contains(err.Error(), c.want) || !errors.As(err, &h) || h.Hint() == "" {
				t.Errorf("got %v (%v), want %q and a hint", err, h, c.want)
			}
			if got := left(t, label); len(got) > 0 {
				t.Errorf("left behind: %v", got)
			}
		})
	}
}

// TestPortsTaken: somebody listens where a server should. Others are tried.
func TestPortsTaken(t *testing.T) {
	needDocker(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	_, text, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	taken, err := strconv.Atoi(text)
	must(t, err)
	for _, c := range []struct{ topology, network string }{
		{"redis", ""}, {"redis", backends.NetworkBridge}, {"redlock-3", ""}, {"etcd-3", ""}, {"zookeeper-1", ""}, {"postgres", ""}} {
		t.Run(c.topology+" network="+c.network, func(t *testing.T) {
			t.Parallel()
			o, label := own(t)
			o.Network = c.network
			calls := 0
			backends.Pick(&o, func(n int) ([]int, error) {
				ports, err := backends.FreePorts(n)
				if calls++; calls == 1 && err == nil {
					ports[0] = taken
				}
				return ports, err
			})
			cluster, err := backends.Open(t.Context(), c.topology, o)
			must(t, err)
			must(t, cluster.Check(t.Context()))
			if calls != 2 {
				t.Errorf("ports were picked %d times, want 2", calls)
			}
			if got, want := len(left(t, label)), len(cluster.Nodes()); c.network == "" && cluster.Facts().Network == backends.NetworkHost && got != want {
				t.Errorf("%d containers, want %d: the first try left something", got, want)
			}
			must(t, cluster.Close(t.Context()))
		})
	}
}

// TestFreePorts: numbers differ, are free, and are out of the range of outgoing connections.
func TestFreePorts(t *testing.T) {
	ports, err := backends.FreePorts(50)
	must(t, err)
	for i, p := range ports {
		if p >= backends.EphemeralLow() || slices.Contains(ports[:i], p) {
			t.Errorf("port %d: too high or twice in %v", p, ports)
		}
	}
}

// TestDoctor says what is here, without an error.
func TestDoctor(t *testing.T) {
	needDocker(t)
	found := map[string]backends.Check{}
	for _, c := range backends.Doctor(t.Context(), map[string]string{"etcd": "lockbench/there-is-no-such-image:0"}) {
		found[c.What] = c
		if !c.OK && c.Hint == "" {
			t.Errorf("%+v: no hint", c)
		}
	}
	if c := found["Docker"]; !c.OK || !strings.Contains(c.Detail, "API") {
		t.Errorf("Docker: got %+v", c)
	}
	if c := found["image redis"]; !c.OK {
		t.Errorf("image redis: got %+v, but it runs", c)
	}
	if c := found["image etcd"]; c.OK || !strings.Contains(c.Hint, "--image etcd=NAME") {
		t.Errorf("image etcd: got %+v, want what to do", c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := backends.Doctor(ctx, nil); len(got) == 0 {
		t.Error("Doctor of a context that has ended says nothing")
	}
}

func TestTargetIsACopy(t *testing.T) {
	c := backendtest.Shared(t, "redis")
	a := c.Target()
	a.Addrs[0] = "elsewhere"
	if b := c.Target(); b.Addrs[0] == "elsewhere" {
		t.Error("a caller's change is seen by the next")
	}
}
