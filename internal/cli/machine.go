package cli

import (
	"runtime"

	"lockbench/internal/engine"
	"lockbench/internal/host"
)

// machine returns what plans need to know of the host. Where the topology is
// not known, processors are taken in their order.
func machine(h host.Info) engine.Machine {
	topo := h.Usable()
	m := engine.Machine{Compact: host.Compact(topo, len(topo)), Scatter: host.Scatter(topo, len(topo)), Masks: runtime.GOOS == "linux",
		Topologies: topologies()}
	if len(topo) == 0 {
		cpus := h.AllowedCPUs
		for i := 0; len(cpus) < runtime.NumCPU(); i++ {
			cpus = append(cpus, i)
		}
		m.Compact, m.Scatter = cpus, cpus
	}
	return m
}

// invariant reports whether the processor's counter runs at one rate: on amd64
// as the processor says, on arm64 by definition (Arm ARM, D11.1).
func invariant(h host.Info) bool {
	return runtime.GOARCH == "arm64" || h.InvariantTSC != nil && *h.InvariantTSC
}
