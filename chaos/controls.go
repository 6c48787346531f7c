package chaos

import (
	"lockbench/backends"
	"lockbench/lock"
	"lockbench/results"
)

// controlRounds is how many rounds of each control must count.
const controlRounds = 3

// control is a cell whose verdict is known beforehand, by the construction of its lock server.
type control struct {
	lock, fault, policy, want string
}

// controls run in every run, through the same client processes, proxies and stores: what must be caught, and
// what must not be.
var controls = []control{
	{"control-naive", StaleUnlock, Careful, results.VerdictUnsafe},
	{"control-ttl", HolderCutoff, Careless, results.VerdictFence},
	{"control-ttl", HolderPause, Careless, results.VerdictFence},
	{"control-ttl", HolderKill, Careful, results.VerdictSafe},
	{"control-perfect", None, Careless, results.VerdictSafe},
	{"control-perfect", HolderPause, Careless, results.VerdictSafe},
	{"control-perfect", StaleUnlock, Careful, results.VerdictSafe},
}

// Controls are the harness's own checks, of the catalogue's controls.
func Controls(catalogue []lock.Info) []*Cell {
	top, err := backends.TopologyNamed("loopback")
	if err != nil {
		return nil
	}
	var out []*Cell
	for _, c := range controls {
		f, err := Named(c.fault)
		if err != nil {
			continue
		}
		for _, l := range catalogue {
			if l.Name == c.lock {
				out = append(out, &Cell{Lock: l, Topology: top, Fault: f, Policy: c.policy, Control: true, Want: c.want, Rounds: controlRounds})
			}
		}
	}
	return out
}
