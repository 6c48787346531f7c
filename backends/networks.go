package backends

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"
)

// Networks of a cluster on bridges.
//
//	client -- clients-1 -- node 1 --+
//	client -- clients-2 -- node 2 --+-- peers
//	client -- clients-3 -- node 3 --+
//
// Servers know each other by names that lead to addresses on peers and nowhere else. A node that is taken off
// that network can reach none of them, nor they it: its own network has no other node, and Docker lets nothing
// pass from bridge to bridge. One network for the clients of all would be a way around. Servers that do not talk to each other have one network in all.
//
// Names are in each container's hosts file, with addresses that never change. Docker's name server would not do: a
// node that is cut off would ask it in vain, and Redis waits for such answers with all that it does.

// bridge is a network in Docker.
type bridge struct {
	name  string
	peers bool // it leads nowhere else
	net   netip.Prefix
}

// at returns the address of a cluster's node on it, by its index. The first address is Docker's own.
func (b *bridge) at(index int) netip.Addr {
	a := b.net.Addr().Next()
	for range index + 1 {
		a = a.Next()
	}
	return a
}

// Subnets are cut from the range that is set apart for measurements (RFC 2544, appendix C; RFC 6890): nobody else
// should be there. Docker's own pools have room for some 30 networks, which a dozen clusters use up; this range
// has room for 8192. 13 nodes fit into each, more than any topology has.
var subnets = netip.MustParsePrefix("198.18.0.0/15")

const (
	subnetBits = 28
	// subnetTries is how many are tried until one is found that no other network has.
	subnetTries = 64
)

// picker hands out subnets, from a random one on: other processes make networks, too.
type picker struct {
	mu   sync.Mutex
	next uint32
}

func newPicker() *picker { return &picker{next: rand.Uint32()} }

func (p *picker) pick() netip.Prefix {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	first := subnets.Addr().As4()
	n := binary.BigEndian.Uint32(first[:]) + p.next%(1<<(subnetBits-subnets.Bits()))<<(32-subnetBits)
	var out [4]byte
	binary.BigEndian.PutUint32(out[:], n)
	return netip.PrefixFrom(netip.AddrFrom4(out), subnetBits)
}

// makeNetworks makes the networks of a cluster, side by side, and tells each node its own.
func (c *Cluster) makeNetworks(ctx context.Context, base string, nodes []*Node) error {
	add := func(part string, peers bool) (*bridge, error) {
		b := &bridge{name: base + "-" + part, peers: peers}
		if err := c.register(KindNetwork, b.name); err != nil {
			return nil, err
		}
		c.networks = append(c.networks, b)
		return b, nil
	}
	var err error
	if !c.top.peers {
		all, err := add("clients", false)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			n.clients = all
		}
	} else {
		for i, n := range nodes {
			if n.clients, err = add(fmt.Sprintf("clients-%d", i+1), false); err != nil {
				return err
			}
		}
		if c.peers, err = add("peers", true); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("make networks: %w", err)
	}
	// As in create; Docker makes one network after the other.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	p := newPicker()
	var g errgroup.Group
	for _, b := range c.networks {
		g.Go(func() error { return c.makeNetwork(ctx, b, p.pick) })
	}
	return g.Wait()
}

// makeNetwork makes a network in the first subnet that is free.
func (c *Cluster) makeNetwork(ctx context.Context, b *bridge, pick func() netip.Prefix) error {
	var last error
	for range subnetTries {
		b.net = pick()
		_, err := c.eng.cli.NetworkCreate(ctx, b.name, client.NetworkCreateOptions{Driver: "bridge", Internal: b.peers, Labels: labelled(c.o.Owner),
			IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: b.net}}}})
		if err == nil {
			return nil
		}
		// Docker's allocator and its driver for bridges say it in different words.
		if !strings.Contains(err.Error(), "overlap") {
			return fmt.Errorf("make network %s: %w", b.name, err)
		}
		last = err
	}
	return &Error{fmt.Errorf("make network %s: no free subnet in %s, %d were tried: %w", b.name, subnets, subnetTries, last),
		"docker network ls shows who has them; docker network prune removes those that nobody uses"}
}

// hosts are the names by which the nodes know each other, as Docker writes them into a container's hosts file.
func (c *Cluster) hosts() []string {
	var out []string
	for _, n := range c.nodes {
		b := c.peers
		if b == nil {
			b = n.clients
		}
		out = append(out, n.Name+":"+b.at(n.index).String())
	}
	return out
}

// join connects a container to a network, with its address there.
func (c *Cluster) join(ctx context.Context, n *Node, b *bridge) error {
	_, err := c.eng.cli.NetworkConnect(ctx, b.name, client.NetworkConnectOptions{Container: n.container, EndpointConfig: endpoint(b, n)})
	if err != nil {
		return fmt.Errorf("connect %s to network %s: %w", n.container, b.name, err)
	}
	return nil
}

func endpoint(b *bridge, n *Node) *network.EndpointSettings {
	return &network.EndpointSettings{IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: b.at(n.index)}}
}

// removeNetworks removes those that are there, although ctx may have ended.
func (c *Cluster) removeNetworks(ctx context.Context) error {
	ctx, cancel := apart(ctx)
	defer cancel()
	errs := make([]error, len(c.networks))
	var wg sync.WaitGroup
	for i, b := range c.networks {
		wg.Go(func() {
			if _, err := c.eng.cli.NetworkRemove(ctx, b.name, client.NetworkRemoveOptions{}); err != nil && !notFound(err) {
				errs[i] = fmt.Errorf("remove network %s: %w", b.name, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
