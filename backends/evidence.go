package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
)

// What Node.State returns.
const (
	StateRunning = "running"
	StatePaused  = "paused"
	StateDead    = "dead" // also one that was made and never started
)

// State asks Docker, and not the server, what becomes of its process.
func (n *Node) State(ctx context.Context) (string, error) {
	s, err := n.state(ctx)
	switch {
	case err != nil:
		return "", err
	case s.Paused: // it counts as running, too
		return StatePaused, nil
	case s.Running:
		return StateRunning, nil
	}
	return StateDead, nil
}

// Ping returns nil if the server answers by itself, whatever becomes of its peers: members of a quorum
// that have lost it answer. It fails after at most 4 s, or with ctx.
func (n *Node) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ask := n.c.top.srv.answers
	if ask == nil {
		ask = n.c.top.srv.serves
	}
	if err := ask(ctx, n.c.target, n.Addr); err != nil {
		return n.err("ping", err)
	}
	return nil
}

// Data reports whether the server holds clients' data: a sentinel does not.
func (n *Node) Data() bool {
	return n.c.target.Master == "" || !slices.Contains(n.c.target.Addrs, n.Addr)
}

// ErrNoInner is wrapped, with the reason, where a container has no address that this machine reaches.
var ErrNoInner = errors.New("not supported")

// Inner returns the host:port at which this machine reaches the server in its container, past the program that
// publishes its port. What connects there is seen by the server with its own address and port, which Drop takes.
// It does not change when the server is started again. Linux alone has it, with a Docker of its own, on bridges.
func (n *Node) Inner(context.Context) (string, error) {
	if ok, why := n.c.eng.hostNetwork(); !ok {
		return "", n.err("reach the inside of", fmt.Errorf("%w: %s", ErrNoInner, why))
	}
	if n.clients == nil {
		return "", n.err("reach the inside of", fmt.Errorf("%w: it is on the host's network: use the network bridge", ErrNoInner))
	}
	_, port, err := net.SplitHostPort(n.Addr) // published with the number that it has inside
	if err != nil {
		return "", n.err("reach the inside of", err)
	}
	return net.JoinHostPort(n.clients.at(n.index).String(), port), nil
}
