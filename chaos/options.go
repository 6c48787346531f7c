package chaos

import (
	"context"
	"os/exec"
	"runtime"
	"time"

	"lockbench/backends"
	"lockbench/lock"
	"lockbench/results"
)

// Expected is what theory says of a cell.
type Expected struct {
	Verdict string // results.VerdictSafe, ...
	Bound   string // formula of the recovery, in words; empty: none
	Never   bool   // the bound is that nobody gets in by itself
	// BoundMS evaluates it; nil: there is none.
	BoundMS func(t Times, params map[string]float64) (float64, error)
	Theory  string // why, and whose word that is
	// Seen is the verdict that was found instead, and Note explains it; empty: none was.
	Seen, Note string
}

// Options of a run.
type Options struct {
	RunID    string
	Cells    []*Cell
	Controls []*Cell // the harness's own checks; see Controls
	Rounds   int     // probative ones a cell; >= 1
	Seed     uint64
	// Parallel is how many rounds of faults on clients run at a time, each of three client processes; one of Redlock counts
	// for each server, and one that lasts longer than those of Redis for less; >= 1.
	Parallel int
	Clusters int           // clusters at a time, one of ZooKeeper counting for each server; >= 1
	TTL      time.Duration // of all leases; 0: the service's usual one
	// Set are parameters of faults: fault -> name -> value.
	Set map[string]map[string]float64

	// ClientArgv and LockArgv are this program and its hidden verbs for children.
	ClientArgv, LockArgv []string
	// Start starts a child that dies with this process. Hold and HoldPath tell the watchdog of a process and of a
	// path; they may be nil.
	Start    func(*exec.Cmd) error
	Hold     func(pid int) (forget func(), err error)
	HoldPath func(path string) (forget func(), err error)
	TempDir  string
	// CounterDir is where counterexamples are written; empty: nowhere.
	CounterDir string

	// Open brings a topology up, with clocks that can be shifted if asked for.
	Open func(ctx context.Context, topology string, clock bool) (*backends.Cluster, error)
	// Expect looks an expectation up.
	Expect func(lock, topology, fault, policy string) (Expected, bool)

	// Verdict, Event, Log and Progress are told what happens, by one goroutine at a time.
	Verdict  func(results.ChaosVerdict)
	Event    func(results.Event)
	Log      func(string)
	Progress func(done, total int)
}

// Defaults of a run.
const (
	DefaultRounds   = 10
	DefaultClusters = 4
	// A round costs some 0.4 s of processor within two seconds, in its clients, its proxies and its server.
	parallelPerCPU, maxParallel = 6, 24
)

// DefaultParallel is how many rounds run at a time on this machine: so many that they hardly wait for a processor. More
// are faster until requests time out; clients then connect anew, which costs more than the requests.
func DefaultParallel() int { return min(maxParallel, parallelPerCPU*runtime.NumCPU()) }

// The budget of rounds at a time is in eighths of a round that lasts as long as one of Redis.
const (
	eighths    = 8
	usualRound = roundOverhead + 2*time.Second
)

// weigh is what a round of the cell counts for in this run. One that lasts longer costs no more, most of it is
// waiting, so it counts for less of each second. In majorities of independent servers each request goes to all of them.
// Never more than the whole budget, so that any round can run at all.
func (o *Options) weigh(c *Cell) int64 {
	t := TimesOf(c.Topology.Service, o.TTL, 0, c.Fault)
	w := int64(eighths * usualRound / max(usualRound, roundOverhead+t.Hold))
	if c.Topology.Service == lock.ServiceRedlock {
		w *= int64(c.Topology.Nodes)
	}
	return min(max(w, 1), o.budget())
}

// heft is what a cluster of the topology counts for among those at a time: of ZooKeeper each server does, which is a virtual
// machine that takes seconds of a processor to start, while others want to answer in time.
func (o *Options) heft(topology string) int64 {
	t, err := backends.TopologyNamed(topology)
	if err != nil || t.Service != lock.ServiceZooKeeper {
		return 1
	}
	return int64(min(t.Nodes, o.Clusters))
}

// budget is what rounds of faults on clients may weigh together at a time.
func (o *Options) budget() int64 { return eighths * int64(o.Parallel) }

// ttls are the usual TTLs of leases by service: those of CHAOS.md, short enough that a round takes seconds.
var ttls = map[string]time.Duration{"redis": time.Second, "redlock": time.Second, "etcd": 2 * time.Second, "zookeeper": 2 * time.Second,
	"postgres": time.Second, "loopback": time.Second}

// ticks are how much later than the TTL a service may notice its end: etcd's lessor looks every 500 ms, ZooKeeper
// rounds up to its tickTime, which is 500 ms in this program's clusters.
var ticks = map[string]time.Duration{"etcd": 500 * time.Millisecond, "zookeeper": 500 * time.Millisecond}

// holdPostgres is how long pauses and cuts last where no TTL says so.
const holdPostgres = 3 * time.Second

// TimesOf are the times of rounds on a service. least is the shortest TTL that it grants; asked, and the fault's own,
// replace the usual one.
func TimesOf(service string, asked, least time.Duration, f Fault) Times {
	t := Times{TTL: ttls[service], Tick: ticks[service]}
	if asked > 0 {
		t.TTL = asked
	}
	t.TTL = max(t.TTL, least)
	if len(f.TTLOf) == 0 || contains(f.TTLOf, service) {
		t.TTL = max(t.TTL, f.TTL)
	}
	t.Hold = t.TTL + t.Tick + time.Second
	if service == "postgres" {
		t.Hold = max(holdPostgres, t.Hold)
	}
	return t
}
