package chaos

import (
	"fmt"
	"strings"
	"time"

	"lockbench/backends"
	"lockbench/internal/claims"
	"lockbench/lock"
)

// Choice is what a matrix is made of.
type Choice struct {
	Locks            []lock.Info
	Faults, Policies []string
	// Topologies returns those of a service, the one for faults on clients first.
	Topologies func(service string) []string
	// Named: the user has named the topologies, so all of them get all faults.
	Named bool
	Given map[string]string // services whose servers are the user's
}

// Cells are all cells of a choice, in the order of faults, then of locks. What cannot be is there with its reason, but
// for faults of another kind of lock, and for topologies that are there for what the first one cannot have.
func Cells(c Choice) []*Cell {
	var out []*Cell
	for _, name := range c.Faults {
		f, err := Named(name)
		if err != nil {
			continue // the caller got it from the catalogue
		}
		for _, l := range c.Locks {
			if (l.Kind == lock.KindLock) != (f.On == OnProcess) {
				continue
			}
			if l.Kind == lock.KindLock {
				cell := &Cell{Lock: l, Topology: backends.Topology{Name: InProcess}, Fault: f, Policy: Plain}
				if l.Unavailable != "" {
					cell.Skip = l.Unavailable
				}
				out = append(out, cell)
				continue
			}
			out = append(out, c.remote(l, f)...)
		}
	}
	return out
}

// InProcess is the topology of locks that need no server.
const InProcess = "in-process"

// remote are the cells of a distributed lock and a fault.
func (c Choice) remote(l lock.Info, f Fault) []*Cell {
	var out []*Cell
	for _, service := range l.Remote.Services {
		for i, name := range c.Topologies(service) {
			t, err := backends.TopologyNamed(name)
			if err != nil || t.Nodes < l.Remote.MinNodes {
				continue
			}
			given := c.Given[service] != ""
			if given && i > 0 {
				continue // there is one server of the user's
			}
			// The topologies after the first are for faults on servers, and Sentinel's is its own world.
			if i > 0 && !c.Named && f.On != OnServers && name != "redis-sentinel" {
				continue
			}
			for _, policy := range policies(l) {
				if !contains(c.Policies, policy) {
					continue
				}
				cell := &Cell{Lock: l, Topology: t, Fault: f, Policy: policy, Given: given}
				cell.Skip = skip(f, Subject{Lock: l, Service: service, Topology: name, Nodes: t.Nodes, Given: given, Policy: policy})
				out = append(out, cell)
			}
		}
	}
	return out
}

// policies are those that a lock's sections can have.
func policies(l lock.Info) []string {
	switch {
	case l.Kind != lock.KindLease:
		return []string{Protected}
	case l.Remote.Guards:
		return []string{Careful, Careless, Protected}
	}
	return []string{Careful, Careless}
}

// skip says why a cell cannot be; empty: it can.
func skip(f Fault, s Subject) string {
	switch {
	case s.Lock.Unavailable != "":
		return s.Lock.Unavailable
	case s.Lock.Kind == lock.KindOptimistic && (f.Shape == ShapeUnlock || f.Shape == ShapeWait):
		return "there is no lock: nobody waits, and nothing is released"
	case s.Lock.Kind != lock.KindLease && s.Lock.Kind != lock.KindGuarded && f.NoRenew:
		return "there is no lease to renew"
	case f.Skip != nil:
		return f.Skip(s)
	}
	return ""
}

// RoundsOf is how many rounds of a cell must count.
func (o *Options) RoundsOf(c *Cell) int {
	if c.Rounds > 0 {
		return c.Rounds
	}
	return o.Rounds
}

// Validate finds what cannot be run at once.
func (o *Options) Validate() error {
	n := 0
	for _, c := range o.Cells {
		if c.Skip == "" && c.Fault.On != OnProcess {
			n += o.RoundsOf(c)
		}
	}
	if n > claims.MaxKeys/2 { // rounds that do not count are run again
		return fmt.Errorf("%d rounds in all: at most %d can be run at once", n, claims.MaxKeys/2)
	}
	return nil
}

// What a round takes beside the fault's own time, and a cluster to come and go; from measurements on two cores.
const (
	roundOverhead   = 1200 * time.Millisecond
	serverOverhead  = 2500 * time.Millisecond
	briefRound      = 2 * time.Second // a server is started
	clusterOverhead = 5 * time.Second
	processOverhead = 700 * time.Millisecond
)

// Estimate is about how long a run takes.
func (o *Options) Estimate() time.Duration {
	var clients, inproc time.Duration
	servers := map[string]time.Duration{}
	for _, c := range o.Cells {
		if c.Skip != "" {
			continue
		}
		n := time.Duration(o.RoundsOf(c))
		switch c.Fault.On {
		case OnProcess:
			inproc += n * processOverhead
		case OnServers:
			t := TimesOf(c.Topology.Service, o.TTL, 0, c.Fault)
			key := c.Topology.Name + "/" + c.Fault.Name
			round := t.Hold + t.TTL
			if c.Fault.Brief {
				round = briefRound
			}
			servers[key] = max(servers[key], clusterOverhead+n*(serverOverhead+round))
		default:
			t := TimesOf(c.Topology.Service, o.TTL, 0, c.Fault)
			clients += n * time.Duration(o.weigh(c)) * (roundOverhead + t.Hold)
		}
	}
	var serial, longest time.Duration
	for key, d := range servers {
		topology, _, _ := strings.Cut(key, "/")
		serial += d * time.Duration(o.heft(topology))
		longest = max(longest, d)
	}
	side := max(serial/time.Duration(o.Clusters), longest)
	return max(clients/time.Duration(o.budget()), side, inproc) + clusterOverhead
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
