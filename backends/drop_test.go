package backends_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/backends/backendtest"
)

// talk is a connection to a Redis server in its container.
type talk struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func inner(t *testing.T, n *backends.Node) *talk {
	t.Helper()
	addr, err := n.Inner(t.Context())
	must(t, err)
	c, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &talk{t, c, bufio.NewReader(c)}
}

// ping says whether the server answers within a time; what it answers later is still to be read.
func (k *talk) ping(within time.Duration) error {
	if _, err := k.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	return k.pong(within)
}

func (k *talk) pong(within time.Duration) error {
	must(k.t, k.SetReadDeadline(time.Now().Add(within)))
	_, err := k.r.ReadString('\n')
	return err
}

func (k *talk) at() netip.AddrPort { return k.LocalAddr().(*net.TCPAddr).AddrPort() }

// TestDrop: one client vanishes, another does not; the kernel counts; undo brings it back; a server that was started
// again has no rules.
func TestDrop(t *testing.T) {
	cluster := backendtest.Fresh(t, "redis", bridged)
	n := cluster.Nodes()[0]
	gone, other := inner(t, n), inner(t, n)
	must(t, gone.ping(storeTimeout))
	undo, err := n.Drop(t.Context(), []netip.AddrPort{gone.at()})
	if backends.IsMissing(err) {
		backendtest.Missing(t, "the tools", err)
	}
	must(t, err)
	if err := gone.ping(300 * time.Millisecond); err == nil {
		t.Error("a client whose packets are dropped got an answer")
	}
	must(t, other.ping(storeTimeout))
	if k, err := n.Dropped(t.Context()); err != nil || k == 0 {
		t.Errorf("Dropped: got %d, %v, want more than none", k, err)
	}
	// All of an address besides: that is everybody here.
	all, err := n.Drop(t.Context(), []netip.AddrPort{netip.AddrPortFrom(other.at().Addr(), 0)})
	must(t, err)
	if err := other.ping(300 * time.Millisecond); err == nil {
		t.Error("a client whose address is dropped got an answer")
	}
	must(t, all(t.Context()))
	must(t, other.pong(storeTimeout)) // TCP has sent it again
	must(t, undo(t.Context()))
	must(t, undo(t.Context())) // again: nothing to do
	must(t, gone.pong(storeTimeout))
	if k, err := n.Dropped(t.Context()); err != nil || k != 0 {
		t.Errorf("Dropped without rules: got %d, %v, want none", k, err)
	}

	undo, err = n.Drop(t.Context(), []netip.AddrPort{other.at()})
	must(t, err)
	must(t, n.Kill(t.Context()))
	must(t, undo(t.Context()))
	if _, err := n.Drop(t.Context(), []netip.AddrPort{other.at()}); !errors.Is(err, backends.ErrNoDrop) {
		t.Errorf("Drop in a dead server's network: got %v, want ErrNoDrop", err)
	}
	if err := n.Ping(t.Context()); err == nil {
		t.Error("Ping of a dead server: no error")
	}
	must(t, n.Restart(t.Context()))
	must(t, undo(t.Context()))
	must(t, inner(t, n).ping(storeTimeout)) // at the same address
}

// TestDropPaused: a frozen server's packets are dropped, too. One container of tools is enough for all of it, and goes with
// the network: when the server is started anew, or the cluster closed.
func TestDropPaused(t *testing.T) {
	needDocker(t)
	o, label := own(t)
	var l log
	o.Network, o.Register = backends.NetworkBridge, l.register(t, label)
	cluster, err := backends.Open(t.Context(), "redis", o)
	must(t, err)
	t.Cleanup(func() { must(t, cluster.Close(context.Background())) })
	before := left(t, label)
	n := cluster.Nodes()[0]
	k := inner(t, n)
	must(t, n.Pause(t.Context()))
	undo, err := n.Drop(t.Context(), []netip.AddrPort{k.at()})
	if backends.IsMissing(err) {
		backendtest.Missing(t, "the tools", err)
	}
	must(t, err)
	if err := k.ping(100 * time.Millisecond); err == nil {
		t.Error("a paused server answered")
	}
	eventually(t, "a packet is dropped", func() error {
		if got, err := n.Dropped(t.Context()); err != nil || got == 0 {
			return errors.Join(err, errors.New("none was"))
		}
		return nil
	})
	must(t, undo(t.Context()))
	must(t, n.Resume(t.Context()))
	must(t, k.pong(storeTimeout))
	if got := left(t, label); len(got) != len(before)+1 || len(l.names) != len(got) {
		t.Errorf("there are %v, registered %v, before there were %v: want one more", got, l.names, before)
	}
	must(t, n.Kill(t.Context()))
	must(t, n.Restart(t.Context()))
	if got := left(t, label); strings.Join(got, " ") != strings.Join(before, " ") || len(l.names) != len(before) {
		t.Errorf("after a restart there are %v, registered %v, before there were %v", got, l.names, before)
	}
	undo, err = n.Drop(t.Context(), []netip.AddrPort{inner(t, n).at()}) // in the new network
	must(t, err)
	must(t, undo(t.Context()))
	must(t, cluster.Close(t.Context()))
	if got := left(t, label); len(got) != 0 || len(l.names) != 0 {
		t.Errorf("after the end there are %v, registered %v", got, l.names)
	}
}

// TestDropRefused: what cannot be had says why.
func TestDropRefused(t *testing.T) {
	some := []netip.AddrPort{netip.MustParseAddrPort("198.18.0.1:5")}
	host := backendtest.Shared(t, "redis")
	if host.Facts().Network == backends.NetworkHost {
		n := host.Nodes()[0]
		if _, err := n.Drop(t.Context(), some); !errors.Is(err, backends.ErrNoDrop) || !strings.Contains(err.Error(), "use the network bridge") {
			t.Errorf("Drop on the host's network: got %v, want ErrNoDrop and what to do", err)
		}
		if addr, err := n.Inner(t.Context()); !errors.Is(err, backends.ErrNoInner) {
			t.Errorf("Inner on the host's network: got %q, %v, want ErrNoInner", addr, err)
		}
	}
	cluster := backendtest.Fresh(t, "redis", bridged, func(o *backends.Options) {
		o.Images = map[string]string{"tools": "lockbench/there-is-no-such-image:0"}
	})
	n := cluster.Nodes()[0]
	for _, c := range []struct {
		name   string
		remote []netip.AddrPort
		want   error
	}{
		{"no image", some, backends.ErrMissing},
		{"no client", nil, backends.ErrNoDrop},
		{"IPv6", []netip.AddrPort{netip.MustParseAddrPort("[fd00::1]:5")}, backends.ErrNoDrop},
	} {
		if _, err := n.Drop(t.Context(), c.remote); !errors.Is(err, c.want) || !errors.Is(err, backends.ErrNoDrop) {
			t.Errorf("%s: Drop(%v): got %v, want %v", c.name, c.remote, err, c.want)
		}
	}
}
