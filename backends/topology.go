package backends

import (
	"slices"

	"lockbench/internal/near"
	"lockbench/lock"
)

// Topology is a kind of cluster that Open can start.
type Topology struct {
	Name        string // as users type it
	Service     string // lock.ServiceRedis, ...
	Nodes       int    // servers in all
	Persistence string // what a server keeps across a crash, in a few words
	Doc         string // one line

	image string // key of Options.Images; empty: no container
	// plan says how its nodes are started.
	plan func(b *build) []*spec
	// restartable says why a member cannot come back without its data; empty: it can.
	needsData string
}

// What a member of a quorum cannot do: its votes are in its data, and a member that forgot
// them can vote twice. Both services want it removed from the membership first.
const votes = "a member of a quorum that lost its data cannot rejoin under its old name: its votes were in it"

var topologies = []Topology{
	{Name: "redis", Service: lock.ServiceRedis, Nodes: 1, Persistence: "none",
		Doc: "one Redis, nothing on disk", image: imageRedis, plan: planRedis},
}

// Topologies returns what Open can start, sorted by name.
func Topologies() []Topology {
	out := slices.Clone(topologies)
	slices.SortFunc(out, func(a, b Topology) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return out
}

// TopologyNamed returns the topology of that name, or an error that lists near ones.
func TopologyNamed(name string) (Topology, error) {
	var names []string
	for _, t := range topologies {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Topology{}, &near.UnknownError{What: "topology", Name: name, Near: near.Names(name, names)}
}

// DefaultTopology returns the name of a service's topology when none is asked for; empty
// for a service that is not known.
func DefaultTopology(service string) string {
	return map[string]string{
		lock.ServiceRedis:     "redis",
		lock.ServiceRedlock:   "redlock-3",
		lock.ServiceEtcd:      "etcd-1",
		lock.ServiceZooKeeper: "zookeeper-1",
		lock.ServicePostgres:  "postgres",
		lock.ServiceLoopback:  "loopback",
	}[service]
}
