package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/internal/cell"
	"lockbench/internal/near"
	"lockbench/lock"
	"lockbench/workloads"
)

// RemoteSpec is the part of a spec that only distributed locks need.
type RemoteSpec struct {
	Clients []int `json:"clients" yaml:"clients"` // client processes; each has the cell's workers

	TTL            time.Duration `json:"ttl_ns" yaml:"ttl"`
	Renew          bool          `json:"renew" yaml:"renew"`
	Fence          bool          `json:"fence" yaml:"fence"`
	WaitMin        time.Duration `json:"wait_min_ns" yaml:"wait-min"`
	WaitMax        time.Duration `json:"wait_max_ns" yaml:"wait-max"`
	Jitter         float64       `json:"jitter" yaml:"jitter"`
	AcquireTimeout time.Duration `json:"acquire_timeout_ns" yaml:"acquire-timeout"`
	OnTimeout      string        `json:"on_timeout" yaml:"on-timeout"`
	Depth          int           `json:"reentrant" yaml:"reentrant"` // acquisitions of one owner in each other

	Duration time.Duration `json:"duration_ns" yaml:"-"` // of the one interval
	Warmup   time.Duration `json:"warmup_ns" yaml:"-"`

	Topologies []string          `json:"topologies,omitempty" yaml:"topologies"` // empty: each service's first
	Backends   map[string]string `json:"backends,omitempty" yaml:"backends"`     // service -> tc or URL, without passwords
	Images     map[string]string `json:"images,omitempty" yaml:"images"`
	Network    string            `json:"network,omitempty" yaml:"network"` // host or bridge; empty: host where it can be
}

// DefaultRemote is how distributed locks are measured without flags. Back-off and
// time-outs are of the order of round trips on a local network; the TTL is what most
// libraries begin with.
func DefaultRemote() RemoteSpec {
	return RemoteSpec{
		Clients: []int{1}, TTL: 10 * time.Second, Renew: true, WaitMin: time.Millisecond, WaitMax: 64 * time.Millisecond, Jitter: 0.5,
		AcquireTimeout: 5 * time.Second, OnTimeout: cell.OnTimeoutFail, Depth: 1,
		Duration: 400 * time.Millisecond, Warmup: 100 * time.Millisecond,
	}
}

// Limits of distributed cells.
const (
	MaxClients = 64
	MaxDepth   = 16
)

// GivenTopology is that of servers given by URL: nobody but their owner knows what is
// behind it.
const GivenTopology = "given"

// validateRemote checks the part of a spec that distributed locks need.
func (s Spec) validateRemote(m Machine) error {
	r := s.Remote
	span := func(name string, d time.Duration, least time.Duration, what string) error {
		if d < least || d > MaxInterval {
			return usage(fmt.Errorf("%s: %v: want %v to %v", name, d, least, MaxInterval), what)
		}
		return nil
	}
	for _, err := range []error{
		span("ttl", r.TTL, 10*time.Millisecond, "it is how long a lease lasts without renewal, such as 10s"),
		span("wait-min", r.WaitMin, 10*time.Microsecond, "it is the first delay of a lock that polls, such as 1ms"),
		span("wait-max", r.WaitMax, r.WaitMin, "it is the longest delay of a lock that polls, at least --wait-min"),
		span("acquire-timeout", r.AcquireTimeout, time.Millisecond, "it is how long an acquisition may wait, such as 5s"),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case !(r.Jitter >= 0 && r.Jitter <= 1):
		return usage(fmt.Errorf("jitter: %v: want 0 to 1", r.Jitter), "it is the random share of a delay")
	case !slices.Contains([]string{cell.OnTimeoutFail, cell.OnTimeoutRetry, cell.OnTimeoutFallback}, r.OnTimeout):
		return usage(fmt.Errorf("on-timeout: %q: want fail, retry or fallback", r.OnTimeout), "fail goes on to the next operation, retry tries the same one again, fallback runs the section without the lock")
	case r.Depth < 1 || r.Depth > MaxDepth:
		return usage(fmt.Errorf("reentrant: %d: want 1 to %d", r.Depth, MaxDepth), "it is how often an owner acquires the same key inside itself")
	case len(r.Clients) == 0:
		return usage(errors.New("clients: none"), "it is the number of client processes, such as 1 or 1,4,8")
	case r.Network != "" && r.Network != "host" && r.Network != "bridge":
		return usage(fmt.Errorf("network: %q: want host or bridge", r.Network), "host has no proxy between client and server")
	}
	for _, n := range r.Clients {
		if n < 1 || n > MaxClients {
			return usage(fmt.Errorf("clients: %d: want 1 to %d", n, MaxClients), "it is the number of client processes")
		}
	}
	var names []string
	for _, t := range m.Topologies {
		names = append(names, t.Name)
	}
	for _, name := range r.Topologies {
		if m.Topologies != nil && !slices.Contains(names, name) {
			return &UsageError{Err: &near.UnknownError{What: "topology", Name: name}, Hint: did(near.Names(name, names)) + "topologies: " + strings.Join(names, ", ")}
		}
	}
	services := m.services()
	for _, service := range slices.Sorted(maps.Keys(r.Backends)) {
		if m.Topologies != nil && !slices.Contains(services, service) {
			return &UsageError{Err: &near.UnknownError{What: "backend", Name: service}, Hint: did(near.Names(service, services)) + "backends: " + strings.Join(services, ", ")}
		}
	}
	return nil
}

// changed names an option that is not at its default; empty: none. Lengths are of
// in-process cells, too.
func (r RemoteSpec) changed() string {
	d := DefaultRemote()
	for name, differs := range map[string]bool{
		"clients": !slices.Equal(r.Clients, d.Clients), "ttl": r.TTL != d.TTL, "renew": r.Renew != d.Renew, "fence": r.Fence != d.Fence,
		"wait-min": r.WaitMin != d.WaitMin, "wait-max": r.WaitMax != d.WaitMax, "jitter": r.Jitter != d.Jitter,
		"acquire-timeout": r.AcquireTimeout != d.AcquireTimeout, "on-timeout": r.OnTimeout != d.OnTimeout, "reentrant": r.Depth != d.Depth,
		"network": r.Network != d.Network,
	} {
		if differs {
			return name
		}
	}
	return ""
}

// did begins a hint with the names that may have been meant.
func did(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(names, ", ") + "? "
}

// checkPlaces finds topologies and backends that none of the locks uses.
func (s Spec) checkPlaces(locks []lock.Info, m Machine) error {
	if !slices.ContainsFunc(locks, func(i lock.Info) bool { return i.Remote != nil }) {
		if what := s.Remote.changed(); what != "" {
			return usage(fmt.Errorf("%s: none of the locks is distributed", what), "see: lockbench list locks")
		}
	}
	uses := func(service string) bool {
		return slices.ContainsFunc(locks, func(i lock.Info) bool { return i.Remote != nil && slices.Contains(i.Remote.Services, service) })
	}
	for _, t := range m.Topologies {
		if slices.Contains(s.Remote.Topologies, t.Name) && !uses(t.Service) {
			return usage(fmt.Errorf("topology %s: none of the locks runs on it", t.Name), "see: lockbench list locks, and lockbench backends list")
		}
	}
	for _, service := range slices.Sorted(maps.Keys(s.Remote.Backends)) {
		if !uses(service) {
			return usage(fmt.Errorf("backend %s: none of the locks runs on it", service), "see: lockbench list locks")
		}
	}
	return nil
}

// Topology is a way to set up a service.
type Topology struct {
	Name, Service string
	Nodes         int
}

func (m Machine) services() []string {
	var out []string
	for _, t := range m.Topologies {
		if !slices.Contains(out, t.Service) {
			out = append(out, t.Service)
		}
	}
	return out
}

// topologies returns those that a lock is to be measured on: of those asked for the
// ones of its services, else the first of its first service.
func (s Spec) topologies(i lock.Info, m Machine) []Topology {
	if i.Control {
		return []Topology{{Name: lock.ServiceNone, Service: lock.ServiceNone}}
	}
	service := i.Remote.Services[0]
	if url := s.Remote.Backends[service]; url != "" && url != "tc" {
		return []Topology{{Name: GivenTopology, Service: service}}
	}
	var out []Topology
	for _, t := range m.Topologies {
		if slices.Contains(s.Remote.Topologies, t.Name) && slices.Contains(i.Remote.Services, t.Service) {
			out = append(out, t)
		}
	}
	for _, t := range m.Topologies {
		if len(out) == 0 && t.Service == service {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		out = append(out, Topology{Name: service, Service: service})
	}
	return out
}

// Place is where a distributed cell runs.
type Place struct {
	Topology Topology
	Clients  int
	usual    bool // the topology is the one that the service has by default
}

// remoteCells makes the cells of a distributed lock: one a topology and number of
// clients.
func (p *Plan) remoteCells(i lock.Info, w workloads.Spec, workers, cores int, m Machine) []*Cell {
	var out []*Cell
	for _, t := range p.Spec.topologies(i, m) {
		first := slices.IndexFunc(m.Topologies, func(o Topology) bool { return o.Service == t.Service })
		usual := t.Name != GivenTopology && (first < 0 || m.Topologies[first].Name == t.Name)
		for _, clients := range distinct(p.Spec.Remote.Clients) {
			c := &Cell{Lock: i, Workload: w, Workers: workers, Cores: cores, Dispatch: cell.DispatchRemote,
				Place: &Place{Topology: t, Clients: clients, usual: usual}}
			if m.Masks {
				c.CPUs = slices.Clone(m.Scatter[:cores])
				slices.Sort(c.CPUs)
			}
			c.Skip = p.Spec.remoteSkip(c)
			c.Name = c.remoteName(p.Spec, m)
			out = append(out, c)
		}
	}
	return out
}

// remoteSkip says why a distributed cell cannot be run; empty: it can.
func (s Spec) remoteSkip(c *Cell) string {
	w, i, x := c.Workload, c.Lock, c.Lock.Remote
	optimistic := i.Kind == lock.KindOptimistic
	switch {
	case i.Unavailable != "":
		return i.Unavailable
	case w.Reads > 0:
		return "has no read sections"
	case len(w.Phases) > 0:
		return "load phases are for in-process locks"
	case s.Pin != PinNone:
		return "client processes are not pinned"
	case s.Remote.Fence && !x.Fences && !x.AlwaysFences && !i.Control:
		return "has no fencing token"
	case s.Remote.Depth > 1 && !x.Reentrant && !i.Control:
		return "is not reentrant"
	case optimistic && w.Order != "":
		return "holds no lock: a transfer would write one key after the other"
	case optimistic && (w.Try > 0 || w.Timed > 0 || s.Remote.Depth > 1):
		return "holds no lock: there is nothing to try, to wait for or to reenter"
	case w.Order != "" && i.Control:
		return "excludes nobody: balances would be lost"
	case c.Place.Topology.Nodes > 0 && c.Place.Topology.Nodes < x.MinNodes:
		return fmt.Sprintf("needs at least %d servers, %s has %d", x.MinNodes, c.Place.Topology.Name, c.Place.Topology.Nodes)
	case w.Keys.Kind == "own" && c.Workers*c.Place.Clients > workloads.MaxLocks:
		return fmt.Sprintf("own keys of %d workers: at most %d", c.Workers*c.Place.Clients, workloads.MaxLocks)
	}
	return ""
}

// remoteName is like name; what differs from how distributed locks are measured
// without flags is part of it, so that only like is compared with like.
func (c *Cell) remoteName(s Spec, m Machine) string {
	n := fmt.Sprintf("%s/workload=%s/workers=%d", c.Lock.Name, c.Workload.Name, c.Workers*c.Place.Clients)
	add := func(key string, v any) { n += fmt.Sprintf("/%s=%v", key, v) }
	d, r := DefaultRemote(), s.Remote
	if c.Place.Clients > 1 {
		add("clients", c.Place.Clients)
	}
	if c.Cores != m.Cores() {
		add("cores", c.Cores)
	}
	if !c.Place.usual {
		add("topology", c.Place.Topology.Name)
	}
	if r.TTL != d.TTL {
		add("ttl", r.TTL)
	}
	if r.Renew != d.Renew {
		add("renew", r.Renew)
	}
	if r.Fence != d.Fence {
		add("fence", r.Fence)
	}
	if r.WaitMin != d.WaitMin || r.WaitMax != d.WaitMax || r.Jitter != d.Jitter {
		add("wait", fmt.Sprintf("%v-%v-%v", r.WaitMin, r.WaitMax, r.Jitter))
	}
	if r.AcquireTimeout != d.AcquireTimeout {
		add("acquire-timeout", r.AcquireTimeout)
	}
	if r.OnTimeout != d.OnTimeout {
		add("on-timeout", r.OnTimeout)
	}
	if r.Depth != d.Depth {
		add("reentrant", r.Depth)
	}
	return n
}
