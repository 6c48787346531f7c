package backends

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/client"
)

// ErrNoPeers is wrapped by the errors of Isolate and Rejoin, with the reason, where there is no network
// between servers that could be cut.
var ErrNoPeers = errors.New("not supported")

// noPeers says why a node cannot be cut off; empty: it can.
func (c *Cluster) noPeers() string {
	switch {
	case !c.top.peers:
		return fmt.Sprintf("the servers of %s do not talk to each other", c.top.Name)
	case c.peers == nil:
		return "servers on the host's network cannot be cut off from each other: use the network bridge"
	}
	return ""
}

// Isolate cuts the server off from its peers, in both directions: packets are lost, no connection is
// closed. Clients reach it as before. It may be running, paused or dead, and stays isolated when it is started again. One that is
// isolated already stays so. ErrNoPeers is wrapped where that cannot be had.
func (n *Node) Isolate(ctx context.Context) error {
	on, err := n.joined(ctx)
	if err == nil && on {
		_, err = n.c.eng.cli.NetworkDisconnect(ctx, n.c.peers.name, client.NetworkDisconnectOptions{Container: n.container})
	}
	if err != nil {
		return n.err("isolate", err)
	}
	n.setOff(true)
	return nil
}

// Rejoin connects it to its peers again, at the address that it had. What was sent meanwhile is sent again by TCP,
// after a pause that grows with the time of isolation, unless a server has given the connection up.
func (n *Node) Rejoin(ctx context.Context) error {
	on, err := n.joined(ctx)
	if err == nil && !on {
		err = n.c.join(ctx, n, n.c.peers)
	}
	if err != nil {
		return n.err("rejoin", err)
	}
	n.setOff(false)
	return nil
}

// Isolated reports whether Isolate came after the last Rejoin.
func (n *Node) Isolated() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.off
}

func (n *Node) setOff(off bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = off
}

// joined asks Docker whether the container is on the network of peers: what is remembered here
// may be wrong after a call whose context ended.
func (n *Node) joined(ctx context.Context) (bool, error) {
	if why := n.c.noPeers(); why != "" {
		return false, fmt.Errorf("%w: %s", ErrNoPeers, why)
	}
	r, err := n.c.eng.cli.ContainerInspect(ctx, n.container, client.ContainerInspectOptions{})
	if err != nil {
		return false, fmt.Errorf("inspect container %s: %w", n.container, err)
	}
	if r.Container.NetworkSettings == nil {
		return false, nil
	}
	_, on := r.Container.NetworkSettings.Networks[n.c.peers.name]
	return on, nil
}
