package backends

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lockbench/lock"
)

// Cluster is the servers of one topology, ready to serve.
//
//	Open: planned -> networks -> containers made -> started -> every node answers -> the cluster answers
//	        \________________________ any failure: everything is removed __________________________/
//	        a port was taken meanwhile: all of it again with other ports, three times
//
// Its methods may be called from several goroutines.
type Cluster struct {
	top    Topology
	o      Options
	target lock.Target
	facts  Facts
	nodes  []*Node
	opened time.Time // when opening began

	eng      *engine
	image    string
	networks []*bridge
	peers    *bridge // also in networks; nil: the servers have no business with each other, or are on the host's network

	mu     sync.Mutex
	forget []func() // what was registered, in order
	closed bool
	stop   func() error // of servers that run in this process
}

// Facts are what a record says of a cluster.
type Facts struct {
	Service     string
	Topology    string
	Network     string            // NetworkHost, NetworkBridge, NetworkGiven
	Version     string            // as the servers say it; of a mixed cluster: all, sorted
	Persistence string            // in a few words; "unknown" for given servers
	Images      map[string]string // key -> name of the image that runs; empty: none does
	Nodes       int               // servers
	// MinTTL and MaxTTL bound what the service grants as asked; 0: no bound.
	MinTTL, MaxTTL time.Duration
}

// readyTimeout bounds how long a node may take to answer. Seconds are usual; this is for
// machines that do much else.
const readyTimeout = 60 * time.Second

// attempts is how often a cluster is tried when its ports turn out to be taken.
const attempts = 3

// Open starts the topology, or reaches it if o.Given names a URL for its service. The caller
// closes what it returns. Errors with something to be done about them are an *Error.
func Open(ctx context.Context, topology string, o Options) (*Cluster, error) {
	top, err := TopologyNamed(topology)
	if err != nil {
		return nil, err
	}
	for key := range o.Images {
		if _, err := imageOf(key); err != nil {
			return nil, err
		}
	}
	if raw := o.Given[top.Service]; raw != "" && raw != "tc" {
		return openGiven(ctx, top, raw, o)
	}
	if top.plan == nil {
		return openLoopback(top)
	}
	eng, err := connect(ctx, o.log)
	if err != nil {
		return nil, err
	}
	net, err := eng.network(o.Network)
	if err != nil {
		return nil, err
	}
	image, err := eng.image(ctx, top.image, o.Images[top.image], o.log)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		c := &Cluster{top: top, o: o, eng: eng, image: image, opened: time.Now(),
			facts: Facts{Service: top.Service, Topology: top.Name, Network: net, Persistence: top.Persistence,
				Images: map[string]string{top.image: image}, Nodes: top.Nodes,
				MinTTL: top.srv.lowest, MaxTTL: top.srv.highest}}
		err := c.start(ctx)
		if err == nil {
			return c, nil
		}
		if cerr := c.Close(ctx); cerr != nil {
			return nil, errors.Join(err, cerr)
		}
		if n == attempts || ctx.Err() != nil || !portTaken(err) {
			return nil, c.explain(err)
		}
		o.log(fmt.Sprintf("%s: a port was taken meanwhile, trying others", top.Name))
	}
}

// portTaken finds the message of servers, of Docker and of the kernel in an error with logs.
func portTaken(err error) bool {
	s := strings.ToLower(err.Error())
	return strings.Contains(s, "address already in use") || strings.Contains(s, "port is already allocated") ||
		strings.Contains(s, "could not create server tcp listening socket")
}

// explain adds what the user can do.
func (c *Cluster) explain(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	tip := fmt.Sprintf("image %s was used: --image %s=NAME names another", c.image, c.top.image)
	if !c.eng.local() {
		tip = "Docker is not on this machine, but servers are published on 127.0.0.1 only: use a local Docker, or --backend " + c.top.Service + "=URL"
	}
	return &Error{fmt.Errorf("start %s: %w", c.top.Name, err), tip}
}

func (c *Cluster) start(ctx context.Context) error {
	pick := c.o.pick
	if pick == nil {
		pick = freePorts
	}
	free, err := pick(portsPerNode * c.top.Nodes)
	if err != nil {
		return err
	}
	c.target = lock.Target{Service: c.top.Service, Topology: c.top.Name}
	specs := c.top.plan(&build{network: c.facts.Network, free: free, target: &c.target, clock: c.o.Clock}, c.top)
	run := c.o.RunID
	if run == "" {
		run = "run"
	}
	base := strings.Join([]string{"lockbench", sanitize(run), c.top.Name, token(4)}, "-")
	for i, s := range specs {
		n := &Node{Name: s.name, Addr: s.addr, c: c, spec: s, container: base + "-" + s.name, index: i}
		if err := c.register(KindContainer, n.container); err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
	}
	if c.facts.Network == NetworkBridge {
		if err := c.makeNetworks(ctx, base, c.nodes); err != nil {
			return err
		}
	}
	// Side by side: members of a quorum wait for each other, and must not go on waiting for one that failed.
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	for _, n := range c.nodes {
		g.Go(func() error {
			if err := c.create(gctx, n); err != nil {
				return err
			}
			return n.start(gctx, true)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return c.settle(ctx)
}

// settle waits until the servers serve together, and asks what they are.
func (c *Cluster) settle(ctx context.Context) error {
	if err := poll(ctx, func() error { return c.top.srv.ready(ctx, c.target) }); err != nil {
		return c.withLogs(ctx, fmt.Errorf("the servers do not serve: %w", err))
	}
	var err error
	c.facts.Version, err = c.version(ctx)
	return err
}

// withLogs adds the last lines of each node to an error.
func (c *Cluster) withLogs(ctx context.Context, err error) error {
	var text strings.Builder
	for _, n := range c.nodes {
		if l := n.tail(ctx); l != "" {
			fmt.Fprintf(&text, "\nlast lines of %s:\n%s", n.Name, l)
		}
	}
	return fmt.Errorf("%w%s", err, text.String())
}

// version asks every server, and joins what differs.
func (c *Cluster) version(ctx context.Context) (string, error) {
	var all []string
	for _, addr := range c.addrs() {
		v, err := c.top.srv.version(ctx, c.target, addr)
		if err != nil {
			return "", fmt.Errorf("ask %s for its version: %w", addr, err)
		}
		all = append(all, v)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", "), nil
}

// addrs are those of all servers that are known.
func (c *Cluster) addrs() []string {
	if len(c.nodes) == 0 {
		return c.target.Addrs
	}
	var out []string
	for _, n := range c.nodes {
		out = append(out, n.Addr)
	}
	return out
}

// each does something with all nodes at once.
func (c *Cluster) each(do func(*Node) error) error {
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		wg.Go(func() { errs[i] = do(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *Cluster) register(kind, name string) error {
	if c.o.Register == nil {
		return nil
	}
	forget, err := c.o.Register(kind, name)
	if err != nil {
		return fmt.Errorf("register %s %s: %w", kind, name, err)
	}
	if forget != nil {
		c.forget = append(c.forget, forget)
	}
	return nil
}

// Target returns what a client needs, in a copy of the caller's own. Prefix, TTL,
// Workers and DialTimeout are left to it.
func (c *Cluster) Target() lock.Target {
	t := c.target
	t.Addrs = slices.Clone(t.Addrs)
	t.Reach = maps.Clone(t.Reach)
	if t.TLS != nil {
		tls := *t.TLS
		t.TLS = &tls
	}
	return t
}

// Nodes returns the servers that are in containers, in the order of their names' numbers;
// none of a given cluster.
func (c *Cluster) Nodes() []*Node { return slices.Clone(c.nodes) }

// Facts returns what is known of the cluster.
func (c *Cluster) Facts() Facts {
	f := c.facts
	f.Images = maps.Clone(f.Images)
	return f
}

// Check returns nil if all servers answer, and those that elect a leader have one.
func (c *Cluster) Check(ctx context.Context) error {
	if err := c.top.srv.ready(ctx, c.target); err != nil {
		return fmt.Errorf("check %s: %w", c.top.Name, err)
	}
	return nil
}

// Clean removes every name under prefix, which begins with "lockbench/".
func (c *Cluster) Clean(ctx context.Context, prefix string) error {
	_, err := clean(ctx, c.top.srv, c.target, prefix)
	return err
}

// Close removes the containers and networks. It may be called again, and after ctx has ended.
func (c *Cluster) Close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if c.stop != nil {
		c.closed = true
		return c.stop()
	}
	if c.eng == nil {
		c.closed = true
		return nil
	}
	ctx, cancel := apart(ctx)
	defer cancel()
	err := c.each(func(n *Node) error { return errors.Join(n.putAway(ctx), c.eng.remove(ctx, n.container)) })
	err = errors.Join(err, c.removeNetworks(ctx))
	if err != nil {
		return fmt.Errorf("close %s: %w", c.top.Name, err) // still registered: the watchdog tries again
	}
	for _, f := range c.forget {
		f()
	}
	c.closed = true
	return nil
}
