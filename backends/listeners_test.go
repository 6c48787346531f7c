package backends_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"lockbench/backends"
	"lockbench/backends/backendtest"
)

func docker(t testing.TB) *client.Client {
	t.Helper()
	cli, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

func inspect(t testing.TB, cli *client.Client, n *backends.Node) container.InspectResponse {
	t.Helper()
	r, err := cli.ContainerInspect(t.Context(), n.Container(), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Container
}

// TestListeners reads where every server of every topology listens, from the kernel.
func TestListeners(t *testing.T) {
	for _, top := range backends.Topologies() {
		t.Run(top.Name, func(t *testing.T) {
			c := backendtest.Shared(t, top.Name)
			if len(c.Nodes()) != top.Nodes && len(c.Nodes()) != 0 {
				t.Errorf("%d nodes, want %d", len(c.Nodes()), top.Nodes)
			}
			cli := docker(t)
			for _, n := range c.Nodes() {
				if c.Facts().Network == backends.NetworkBridge {
					published(t, inspect(t, cli, n), n)
					continue
				}
				got := listeners(t, cli, n)
				for _, a := range got {
					if !a.Addr().Unmap().IsLoopback() {
						t.Errorf("%s listens on %s, which is not loopback", n.Name, a)
					}
				}
				own := netip.MustParseAddrPort(n.Addr)
				if !slices.ContainsFunc(got, func(a netip.AddrPort) bool { return a.Port() == own.Port() }) {
					t.Errorf("%s listens on %v, want %s among them: the test looks at the wrong sockets", n.Name, got, own)
				}
			}
		})
	}
}

// published checks the bindings of a container on a bridge.
func published(t *testing.T, r container.InspectResponse, n *backends.Node) {
	t.Helper()
	found := false
	for port, bindings := range r.NetworkSettings.Ports {
		for _, b := range bindings {
			if !b.HostIP.IsLoopback() {
				t.Errorf("%s: port %s is published on %s, which is not loopback", n.Name, port, b.HostIP)
			}
			found = found || net.JoinHostPort(b.HostIP.String(), b.HostPort) == n.Addr
		}
	}
	if !found {
		t.Errorf("%s: %s is not published: %v", n.Name, n.Addr, r.NetworkSettings.Ports)
	}
}

// listeners returns the listening TCP sockets of a container's processes.
func listeners(t *testing.T, cli *client.Client, n *backends.Node) []netip.AddrPort {
	t.Helper()
	top, err := cli.ContainerTop(t.Context(), n.Container(), client.ContainerTopOptions{})
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(top.Titles, "PID")
	var out []netip.AddrPort
	for _, p := range top.Processes {
		of, err := socketsOf(p[column])
		if errors.Is(err, os.ErrPermission) && os.Getenv(backendtest.RequireEnv) != "1" {
			t.Skipf("the container's processes cannot be looked at: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, of...)
	}
	return out
}

func socketsOf(pid string) ([]netip.AddrPort, error) {
	inodes := map[string]bool{}
	fds, err := os.ReadDir(filepath.Join("/proc", pid, "fd"))
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join("/proc", pid, "fd", fd.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	var out []netip.AddrPort
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join("/proc", pid, "net", table))
		if err != nil {
			return nil, err
		}
		all, err := listening(string(text))
		if err != nil {
			return nil, err
		}
		for inode, a := range all {
			if inodes[inode] {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// listening parses /proc/net/tcp: sockets in state LISTEN, by inode.
func listening(text string) (map[string]netip.AddrPort, error) {
	out := map[string]netip.AddrPort{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != "0A" {
			continue
		}
		host, port, _ := strings.Cut(f[1], ":")
		b, err := hex.DecodeString(host)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		for i := 0; i+3 < len(b); i += 4 { // words in the machine's order: little-endian
			slices.Reverse(b[i : i+4])
		}
		addr, ok := netip.AddrFromSlice(b)
		n, err := strconv.ParseUint(port, 16, 16)
		if !ok || err != nil {
			return nil, fmt.Errorf("line %q: no address", line)
		}
		out[f[9]] = netip.AddrPortFrom(addr, uint16(n))
	}
	return out, nil
}

// TestListening checks the check: it tells loopback from the rest.
func TestListening(t *testing.T) {
	const tail = " 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
	got, err := listening("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:1F90" + tail + "11 1\n" +
		"   1: 00000000:0016" + tail + "12 1\n" +
		"   2: 0000000000000000FFFF00000100007F:0050" + tail + "13 1\n" +
		"   3: 00000000000000000000000000000000:0051" + tail + "14 1\n" +
		"   4: 0100007F:1F91 00000000:0000 01 00000000:00000000 00:00000000 00000000     0        0 15 1\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		text     string
		loopback bool
	}{"11": {"127.0.0.1:8080", true}, "12": {"0.0.0.0:22", false}, "13": {"[::ffff:127.0.0.1]:80", true}, "14": {"[::]:81", false}}
	if len(got) != len(want) {
		t.Errorf("got %v, want %d listeners", got, len(want))
	}
	for inode, w := range want {
		if a := got[inode]; a.String() != w.text || a.Addr().Unmap().IsLoopback() != w.loopback {
			t.Errorf("inode %s: got %s, loopback %v, want %s, %v", inode, a, a.Addr().Unmap().IsLoopback(), w.text, w.loopback)
		}
	}
}
