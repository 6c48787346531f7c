package backends

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Rules that drop packets are in the network namespace of the server's container, and end with it: nothing on the
// host is changed. Each Drop has a chain of its own,
//
//	INPUT, OUTPUT -> lockbench-1a2b3c4d: from a client: drop; to a client: drop
//
// whose counters say how many packets were dropped. Where the kernel does not have what the newer iptables needs, the
// older one is used; each sees its own rules alone.

// dropChain begins the names of chains; at most 28 characters are allowed.
const dropChain = "lockbench-"

// iptables are the programs, the newer first. Each has a -save and a -restore beside it.
const iptables = "iptables-nft iptables-legacy"

// ErrNoDrop is wrapped where no packets can be dropped: no image of tools (ErrMissing, too), no such right, no such kernel.
var ErrNoDrop = errors.New("packets cannot be dropped")

// Drop makes all packets vanish that come from the clients or go to them, whatever the state of their connections. A client is
// what the server sees as the other end of a connection: one that came by Inner, by the client's own address. Port 0
// stands for all of an address. Nobody is told: both ends go on sending. The rules end with undo, which may be called
// again, or when the server is killed; a server that is paused may have them, too. ErrNoDrop is wrapped, with the reason, where this cannot be had.
func (n *Node) Drop(ctx context.Context, remote []netip.AddrPort) (undo func(context.Context) error, err error) {
	chain := dropChain + token(4)
	rules, err := dropRules(chain, remote)
	if err == nil {
		// One commit: there is no moment at which one direction is open.
		_, err = n.inside(ctx, fmt.Sprintf("for i in %s; do echo '%s' | $i-restore -n && exit 0; done; exit 1", iptables, rules))
	}
	if err != nil {
		return nil, n.err("drop packets of", fmt.Errorf("%w: %w", ErrNoDrop, err))
	}
	return func(ctx context.Context) error {
		if s, err := n.State(ctx); err == nil && s == StateDead {
			return nil // the namespace is gone
		}
		if _, err := n.inside(ctx, undropScript(chain)); err != nil {
			return n.err("stop dropping packets of", err)
		}
		return nil
	}, nil
}

// Dropped returns how many packets the rules of Drop have dropped that are there now, as the kernel counts them.
func (n *Node) Dropped(ctx context.Context) (packets int64, err error) {
	text, err := n.inside(ctx, fmt.Sprintf("for i in %s; do $i-save -c -t filter && ok=1; done; test -n \"$ok\"", iptables))
	if err == nil {
		packets, err = dropCount(text)
	}
	if err != nil {
		return 0, n.err("count the dropped packets of", err)
	}
	return packets, nil
}

// dropRules is what iptables-restore reads.
func dropRules(chain string, remote []netip.AddrPort) (string, error) {
	if len(remote) == 0 {
		return "", errors.New("no client is named")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*filter\n:%s - [0:0]\n", chain)
	for _, r := range remote {
		addr := r.Addr().Unmap()
		if !addr.Is4() {
			return "", fmt.Errorf("client %s: the networks of clusters are IPv4", r)
		}
		from, to := "", ""
		if r.Port() != 0 {
			from, to = fmt.Sprintf(" -p tcp --sport %d", r.Port()), fmt.Sprintf(" -p tcp --dport %d", r.Port())
		}
		fmt.Fprintf(&b, "-A %s -s %s/32%s -j DROP\n-A %s -d %s/32%s -j DROP\n", chain, addr, from, chain, addr, to)
	}
	fmt.Fprintf(&b, "-I INPUT -j %s\n-I OUTPUT -j %s\nCOMMIT", chain, chain)
	return b.String(), nil
}

// undropScript removes a chain where it is. It is gone already if the server was started again.
func undropScript(chain string) string {
	rules := fmt.Sprintf("*filter\n-D INPUT -j %s\n-D OUTPUT -j %s\n-F %s\n-X %s\nCOMMIT", chain, chain, chain, chain)
	return fmt.Sprintf("for i in %s; do if $i-save -t filter | grep -q '^:%s '; then echo '%s' | $i-restore -n || exit 1; fi; done", iptables, chain, rules)
}

// dropCount adds up the packets of the rules that drop, in what iptables-save -c writes: "[packets:bytes] -A chain ... -j DROP".
func dropCount(text string) (int64, error) {
	var sum int64
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		counters, rule, ok := strings.Cut(line, "] ")
		if !ok || !strings.HasPrefix(counters, "[") || !strings.HasPrefix(rule, "-A "+dropChain) || !strings.HasSuffix(rule, " -j DROP") {
			continue
		}
		packets, _, _ := strings.Cut(counters[1:], ":")
		v, err := strconv.ParseInt(packets, 10, 64)
		if err != nil || v < 0 || sum+v < sum {
			return 0, fmt.Errorf("rule %q: no number of packets", line)
		}
		sum += v
	}
	return sum, nil
}
