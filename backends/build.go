package backends

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"

	"lockbench/lock"
)

// build is a cluster while its nodes are planned.
type build struct {
	network string
	free    []int        // port numbers
	target  *lock.Target // what clients need: filled by the plan
	clock   bool         // Options.Clock
}

// portsPerNode is how many a node takes at most: etcd two, ZooKeeper three.
const portsPerNode = 3

// port takes a free one.
func (b *build) port() int {
	p := b.free[0]
	b.free = b.free[1:]
	return p
}

// bind is the address that a node's servers listen on: in a network of its own it is
// all of them, and what is published is on 127.0.0.1.
func (b *build) bind() string {
	if b.network == NetworkHost {
		return localhost
	}
	return "0.0.0.0"
}

// name is the name by which the node of that name is known to its peers.
func (b *build) name(node string) string {
	if b.network == NetworkHost {
		return localhost
	}
	return node
}

// serve notes an address that clients use, and that servers announce as theirs.
func (b *build) serve(node string, port int) string {
	addr := hostPort(localhost, port)
	if b.network != NetworkHost {
		if b.target.Reach == nil {
			b.target.Reach = map[string]string{}
		}
		b.target.Reach[hostPort(b.name(node), port)] = addr
	}
	return addr
}

// spec says how a node is started, any number of times.
type spec struct {
	name    string // within the cluster, and on its networks
	cmd     []string
	env     map[string]string
	files   map[string]string // path in the container -> text, put there when it is made
	publish []int             // ports for clients
	addr    string            // where clients reach it
	clock   bool              // its wall clock can be shifted
}

// names of what a cluster is made of; the parts of a name are letters, digits, - and _.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, s)
}

// create makes a container, which does not run yet.
func (c *Cluster) create(ctx context.Context, n *Node) error {
	req := testcontainers.ContainerRequest{
		Image:  c.image,
		Name:   n.container,
		Cmd:    n.spec.cmd,
		Env:    n.spec.env,
		Labels: maps.Clone(c.o.Owner),
		// Docker puts everything that an image exposes on all addresses if it is only told to
		// publish: each port is named, with its address.
		ExposedPorts: []string{},
		HostConfigModifier: func(h *container.HostConfig) {
			if c.facts.Network == NetworkHost {
				h.NetworkMode = "host"
				return
			}
			h.ExtraHosts = c.hosts()
			h.PortBindings = network.PortMap{}
			for _, p := range n.spec.publish {
				h.PortBindings[port(p)] = []network.PortBinding{{HostIP: netip.MustParseAddr(localhost), HostPort: strconv.Itoa(p)}}
			}
		},
	}
	if req.Labels == nil {
		req.Labels = map[string]string{}
	}
	for _, p := range n.spec.publish {
		req.ExposedPorts = append(req.ExposedPorts, fmt.Sprintf("%d/tcp", p))
	}
	if c.facts.Network != NetworkHost {
		// Older engines take one network when a container is made, and the others afterwards.
		req.Networks = []string{n.clients.name}
		req.EndpointSettingsModifier = func(e map[string]*network.EndpointSettings) { e[n.clients.name] = endpoint(n.clients, n) }
	}
	for _, path := range slices.Sorted(maps.Keys(n.spec.files)) {
		req.Files = append(req.Files, testcontainers.ContainerFile{
			Reader: strings.NewReader(n.spec.files[path]), ContainerFilePath: path, FileMode: 0o666})
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("make container %s: %w", n.container, err)
	}
	// Docker may go on making what a caller no longer waits for, and then it would be there after Close.
	ctx, cancel := apart(ctx)
	defer cancel()
	_, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: req, ProviderType: testcontainers.ProviderDefault, Logger: tclog.NewNoopLogger()})
	if err != nil {
		return fmt.Errorf("make container %s: %w", n.container, err)
	}
	if c.peers != nil && !n.Isolated() {
		return c.join(ctx, n, c.peers)
	}
	return nil
}

func port(p int) network.Port { return network.MustParsePort(strconv.Itoa(p) + "/tcp") }
