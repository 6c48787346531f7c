package backends

import (
	"context"
	"time"
)

// Pick makes clusters of o use ports of the test's choice.
func Pick(o *Options, pick func(n int) ([]int, error)) { o.pick = pick }

// FreePorts is how they are picked otherwise.
var FreePorts = freePorts

// EphemeralLow is where the range of outgoing connections begins.
var EphemeralLow = ephemeralLow

// AskCPU is the way to the CPU time that is taken where the kernel's file cannot be read.
func (n *Node) AskCPU(ctx context.Context) (time.Duration, bool) { return n.askCPU(ctx) }

// PeersNetwork is the name of the network between the servers.
func (c *Cluster) PeersNetwork() string { return c.peers.name }
