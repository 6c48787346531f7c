package chaos

import (
	"fmt"
	"math/rand/v2"

	"lockbench/backends"
	"lockbench/chaos/actor"
	"lockbench/lock"
)

// Policies of in-process and distributed cells. See package actor for what a section does under each.
const (
	Careful   = actor.Careful
	Careless  = actor.Careless
	Protected = actor.Protected
	Plain     = "plain" // in-process locks: nothing to check
)

// Cell is one lock under one fault and one policy.
type Cell struct {
	Lock     lock.Info
	Topology backends.Topology
	Fault    Fault
	Policy   string
	Skip     string // why it cannot be run; empty: it can
	Failed   string // why its servers did not come up; empty: they did
	Rounds   int    // that must count; 0: those of the run
	Given    bool   // its servers are the user's own
	Control  bool   // the harness's own check
	Want     string // its verdict
}

// Name is the cell in one word.
func (c *Cell) Name() string {
	return fmt.Sprintf("%s/%s/%s/%s", c.Lock.Name, c.Topology.Name, c.Fault.Name, c.Policy)
}

// fenced reports whether the lock gives tokens.
func (c *Cell) fenced() bool {
	r := c.Lock.Remote
	return c.Lock.Kind == lock.KindLease && (r.Fences || r.AlwaysFences)
}

// silent reports whether the witness's stores have no part in it.
func (c *Cell) silent() bool { return c.Policy == Protected }

// random is the source of one injection of the cell's fault. It depends on the run's seed, the fault, the topology
// and the round alone, so that a cell sees the same whatever else is run.
func random(seed uint64, fault, topology string, round int) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a, 64 bit
	for _, b := range []byte(fault + "/" + topology) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h+uint64(round)))
}
