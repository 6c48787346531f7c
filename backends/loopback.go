package backends

import (
	"context"
	"fmt"

	"lockbench/impls/distributed/loopback"
	"lockbench/lock"
)

// loopbackVersion is what records carry: the server is part of this program.
const loopbackVersion = "built in"

// openLoopback starts this project's own lock server in this process.
func openLoopback(top Topology) (*Cluster, error) {
	s, err := loopback.Listen()
	if err != nil {
		return nil, &Error{fmt.Errorf("start the lock server: %w", err), "it listens on 127.0.0.1: is there a loopback interface?"}
	}
	top.srv = &server{
		serves:  func(ctx context.Context, _ lock.Target, addr string) error { return dialable(ctx, addr) },
		version: func(context.Context, lock.Target, string) (string, error) { return loopbackVersion, nil },
		clean:   func(_ context.Context, _ lock.Target, prefix string) (int, error) { return s.Clean(prefix), nil },
		names:   func(_ context.Context, _ lock.Target, prefix string) ([]string, error) { return s.Names(prefix), nil },
	}
	return &Cluster{
		top:    top,
		target: lock.Target{Service: top.Service, Topology: top.Name, Addrs: []string{s.Addr()}},
		facts: Facts{Service: top.Service, Topology: top.Name, Network: NetworkHost, Version: loopbackVersion,
			Persistence: top.Persistence, Images: map[string]string{}, Nodes: top.Nodes},
		stop: s.Close,
	}, nil
}
