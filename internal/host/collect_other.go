//go:build !linux && !darwin

package host

import "runtime"

// Collect knows only what the runtime knows on this system.
func Collect() Info {
	i := Info{OS: runtime.GOOS, Arch: runtime.GOARCH, LogicalCPUs: runtime.NumCPU()}
	for id := range i.LogicalCPUs {
		i.Topology = append(i.Topology, CPU{ID: id, Core: id, L3: -1})
	}
	i.absent("host", "lockbench reads the hosts of Linux and macOS only")
	return i
}

// CPUTicks is not to be had on this system: ok is false.
func CPUTicks() (t Ticks, ok bool) { return Ticks{}, false }
