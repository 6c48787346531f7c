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
	srv   *server
	plan  func(b *build, top Topology) []*spec // how its nodes are started
	// needsData says why a member cannot come back without its data; empty: it can. It
	// is set exactly for those that serve by majority.
	needsData string
	// peers: its servers talk to each other.
	peers bool
}

// votes is what a member of a quorum cannot do without. A member that forgot what it voted for
// can vote twice; both services want it removed from the membership first (etcd: "Runtime
// reconfiguration"; ZooKeeper keeps accepted epochs in its data directory).
const votes = "a member of a quorum cannot rejoin without its data: its votes were in it"

// Persistence, in the words that records carry.
const (
	keepsNone  = "none"
	keepsAOF   = "aof, fsync every second"
	keepsFsync = "fsync before each reply"
)

// topologies are sorted by name.
var topologies = []Topology{
	{Name: "etcd-1", Service: lock.ServiceEtcd, Nodes: 1, Persistence: keepsFsync,
		Doc: "one etcd", image: imageEtcd, srv: &etcdServer, plan: planEtcd},
	{Name: "etcd-3", Service: lock.ServiceEtcd, Nodes: 3, Persistence: keepsFsync,
		Doc: "three members of one etcd cluster", image: imageEtcd, srv: &etcdServer, plan: planEtcd, needsData: votes, peers: true},
	{Name: "loopback", Service: lock.ServiceLoopback, Nodes: 1, Persistence: keepsNone,
		Doc: "this program's own lock server, in its own process: needs no Docker"},
	{Name: "postgres", Service: lock.ServicePostgres, Nodes: 1, Persistence: keepsFsync,
		Doc: "one PostgreSQL with fsync and synchronous_commit on", image: imagePostgres, srv: &postgresServer, plan: planPostgres},
	{Name: "redis", Service: lock.ServiceRedis, Nodes: 1, Persistence: keepsNone,
		Doc: "one Redis, nothing on disk", image: imageRedis, srv: &redisServer, plan: planRedis},
	{Name: "redis-aof", Service: lock.ServiceRedis, Nodes: 1, Persistence: keepsAOF,
		Doc: "one Redis with an append-only file, synced every second", image: imageRedis, srv: &redisServer, plan: planRedisAOF},
	{Name: "redis-sentinel", Service: lock.ServiceRedis, Nodes: 5, Persistence: keepsNone,
		Doc: "a primary, a replica and three sentinels that fail over", image: imageRedis, srv: &sentinelServer, plan: planSentinel, peers: true},
	{Name: "redlock-3", Service: lock.ServiceRedlock, Nodes: 3, Persistence: keepsNone,
		Doc: "three independent Redis", image: imageRedis, srv: &redisServer, plan: planRedis},
	{Name: "redlock-5", Service: lock.ServiceRedlock, Nodes: 5, Persistence: keepsNone,
		Doc: "five independent Redis", image: imageRedis, srv: &redisServer, plan: planRedis},
	{Name: "zookeeper-1", Service: lock.ServiceZooKeeper, Nodes: 1, Persistence: keepsFsync,
		Doc: "one ZooKeeper, standalone, tickTime 500", image: imageZooKeeper, srv: &zookeeperServer, plan: planZooKeeper},
	{Name: "zookeeper-3", Service: lock.ServiceZooKeeper, Nodes: 3, Persistence: keepsFsync,
		Doc: "three members of one ZooKeeper ensemble, tickTime 500", image: imageZooKeeper, srv: &zookeeperServer, plan: planZooKeeper, needsData: votes, peers: true},
}

// Topologies returns what Open can start, sorted by name.
func Topologies() []Topology { return slices.Clone(topologies) }

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
