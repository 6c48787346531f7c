package chaos

import (
	"context"
	"errors"
	"fmt"
	"lockbench/backends"
	"lockbench/lock"
	"slices"
	"strings"
	"time"
)

// What faults on servers share.

// servers is on whose nodes such a fault may work.
func servers(s Subject) string {
	switch {
	case s.Given:
		return "the servers are given: faults reach only what this run has started"
	case s.Service == lock.ServiceLoopback:
		return "the server is in this process"
	}
	return ""
}

// only skips all topologies but some.
func only(why string, topologies ...string) func(Subject) string {
	return func(s Subject) string {
		if r := servers(s); r != "" {
			return r
		}
		if !slices.Contains(topologies, s.Topology) {
			return why
		}
		return ""
	}
}

// data are the nodes that hold data: sentinels do not.
func data(c *backends.Cluster) []*backends.Node {
	return slices.DeleteFunc(c.Nodes(), func(n *backends.Node) bool { return !n.Data() })
}

// victims are n nodes of a cluster, drawn from the stage's source; where one leads, followers come first, so that
// the fault is not that of its leader as well.
func victims(ctx context.Context, s *Stage, n int) ([]*backends.Node, error) {
	all := data(s.Cluster)
	s.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if len(all) > 1 && s.Cluster.Target().Service != lock.ServiceRedlock {
		leader, err := s.Cluster.Leader(ctx)
		if err != nil {
			return nil, fmt.Errorf("find the leader: %w", err)
		}
		slices.SortStableFunc(all, func(a, b *backends.Node) int { return isOne(a == leader) - isOne(b == leader) })
	}
	if n > len(all) {
		return nil, fmt.Errorf("%d of %d servers", n, len(all))
	}
	return all[:n], nil
}

// find notes the servers that a fault is to hit. Without an error there is one at least, and none of them is nil; with one
// there is nothing to clean up.
func find(ctx context.Context, which func(context.Context) ([]*backends.Node, error), to *[]*backends.Node) error {
	nodes, err := which(ctx)
	if err != nil {
		return err
	}
	if len(nodes) == 0 || slices.Contains(nodes, nil) {
		return errors.New("there is no server to hit")
	}
	*to = nodes
	return nil
}

func isOne(b bool) int {
	if b {
		return 1
	}
	return 0
}

// each does something with nodes, side by side.
func each(nodes []*backends.Node, do func(*backends.Node) error) error {
	var g errGroup
	for _, n := range nodes {
		g.Go(func() error { return do(n) })
	}
	return g.Wait()
}

// states waits until Docker says of all nodes that they are in a state, and returns that in words.
func states(ctx context.Context, nodes []*backends.Node, want string) (string, error) {
	var said []string
	for _, n := range nodes {
		for {
			got, err := n.State(ctx)
			if err == nil && got == want {
				said = append(said, n.Name+" is "+got)
				break
			}
			if serr := sleep(ctx, 10*time.Millisecond); serr != nil {
				return "", errors.Join(fmt.Errorf("%s is %q", n.Name, got), err)
			}
		}
	}
	return strings.Join(said, ", "), nil
}

// restartAll starts dead nodes again with their data: side by side, because members of a quorum wait for each other.
func restartAll(ctx context.Context, nodes []*backends.Node) error {
	return each(nodes, func(n *backends.Node) error {
		if got, err := n.State(ctx); err == nil && got == "running" {
			return nil
		}
		return n.Restart(ctx)
	})
}

// watchServers is how long is looked while servers are away that elect another leader: an election, of a second or two, and what follows.
func watchServers(s *Stage) time.Duration { return s.Times.Hold + 2*time.Second }

// inner are a target's servers at their own addresses.
func inner(ctx context.Context, c *backends.Cluster, t lock.Target) (lock.Target, error) {
	at := map[string]string{}
	for _, n := range c.Nodes() {
		a, err := n.Inner(ctx)
		if err != nil {
			return t, err
		}
		at[n.Addr] = a
	}
	for i, a := range t.Addrs {
		if b, ok := at[a]; ok {
			t.Addrs[i] = b
		}
	}
	for k, a := range t.Reach {
		if b, ok := at[a]; ok {
			t.Reach[k] = b
		}
	}
	return t, nil
}
