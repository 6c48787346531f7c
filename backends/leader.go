package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrNoLeader is wrapped by errors that say that there is none now. Where there can be none, the error is another.
var ErrNoLeader = errors.New("no leader")

// leaderless says why there can be no leader; empty: there can.
func (c *Cluster) leaderless() string {
	switch {
	case len(c.nodes) == 0:
		return fmt.Sprintf("the servers of %s are not in containers of this program", c.top.Name)
	case len(c.nodes) > 1 && c.top.srv.leader == nil:
		return fmt.Sprintf("the servers of %s are equals", c.top.Name)
	}
	return ""
}

// Leader returns the server that leads, as most of the members say that run: of etcd and ZooKeeper
// the member that they follow, of redis-sentinel the primary that the sentinels know, of a server alone itself. It may
// have died just now, or be cut off, and the members do not know yet; AwaitLeader looks at that, too. ErrNoLeader is wrapped
// while they have none.
func (c *Cluster) Leader(ctx context.Context) (*Node, error) {
	if why := c.leaderless(); why != "" {
		return nil, fmt.Errorf("ask for the leader: not supported: %s", why)
	}
	if len(c.nodes) == 1 {
		return c.nodes[0], nil
	}
	up, err := c.up(ctx)
	if err != nil {
		return nil, err
	}
	addr, err := c.top.srv.leader(ctx, c.target, up)
	if err != nil {
		return nil, fmt.Errorf("ask for the leader: %w", err)
	}
	for _, n := range c.nodes {
		if n.Addr == addr {
			return n, nil
		}
	}
	return nil, fmt.Errorf("ask for the leader: %w: %s is none of the servers", ErrNoLeader, addr)
}

// up returns those of the target's addresses whose servers run: one that is paused would be waited for.
func (c *Cluster) up(ctx context.Context) ([]string, error) {
	running := make([]bool, len(c.nodes))
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		wg.Go(func() {
			var s string
			s, errs[i] = n.State(ctx)
			running[i] = s == StateRunning
		})
	}
	wg.Wait()
	var out []string
	for i, n := range c.nodes {
		if running[i] && slices.Contains(c.target.Addrs, n.Addr) {
			out = append(out, n.Addr)
		}
	}
	return out, errors.Join(errs...)
}

// Followers returns the others that vote, or, of redis-sentinel, that hold the data: also those that are dead,
// in the order of Nodes. There are none beside a server alone.
func (c *Cluster) Followers(ctx context.Context) ([]*Node, error) {
	l, err := c.Leader(ctx)
	if err != nil {
		return nil, err
	}
	var out []*Node
	for _, n := range c.nodes {
		if n != l && n.Data() {
			out = append(out, n)
		}
	}
	return out, nil
}

// watchEvery is how long is waited between two looks at a cluster that somebody measures meanwhile: each look
// takes servers and this process some milliseconds.
const watchEvery = 100 * time.Millisecond

// AwaitLeader waits until the members have a leader that runs, is not cut off from them and is not the one
// that is named; nil: any. When ctx ends it returns the reason why there was none.
func (c *Cluster) AwaitLeader(ctx context.Context, not *Node) (*Node, error) {
	if why := c.leaderless(); why != "" {
		return nil, fmt.Errorf("wait for a leader: not supported: %s", why)
	}
	var found *Node
	err := pollEach(ctx, watchEvery, func() error {
		l, err := c.Leader(ctx)
		if err != nil {
			return err
		}
		if l == not {
			return fmt.Errorf("%w but %s", ErrNoLeader, l.Name)
		}
		state, err := l.State(ctx)
		if err != nil {
			return err
		}
		if state != StateRunning || l.Isolated() && len(c.nodes) > 1 {
			return fmt.Errorf("%w but %s, which is %s or cut off", ErrNoLeader, l.Name, state)
		}
		found = l
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for a leader of %s: %w", c.top.Name, err)
	}
	return found, nil
}

// Await waits until all servers serve together, as Check says. When ctx ends it returns what was amiss.
func (c *Cluster) Await(ctx context.Context) error {
	if err := pollEach(ctx, watchEvery, func() error { return c.Check(ctx) }); err != nil {
		return fmt.Errorf("wait for the servers: %w", err)
	}
	return nil
}

// vote counts what members name, and returns what more than half of all do.
func vote(named []string, all int) (string, error) {
	count := map[string]int{}
	for _, v := range named {
		if count[v]++; v != "" && 2*count[v] > all {
			return v, nil
		}
	}
	return "", fmt.Errorf("%w: of %d members %d answer, and name %q", ErrNoLeader, all, len(named), named)
}

// askAll asks each address for something, side by side, and returns the answers of those that
// answer, in order.
func askAll[T any](ctx context.Context, addrs []string, ask func(ctx context.Context, addr string) (T, error)) []T {
	answers, ok := make([]T, len(addrs)), make([]bool, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() {
			v, err := ask(ctx, addr)
			answers[i], ok[i] = v, err == nil // a member that cannot say is one that does not vote
		})
	}
	wg.Wait()
	var out []T
	for i, v := range answers {
		if ok[i] {
			out = append(out, v)
		}
	}
	return out
}
