package classic

import (
	"runtime"

	"lockbench/lock/arch"
)

// spinTurns is how many turns of a spin loop lie between two yields. A turn
// is a load and a Pause of 10 to 40 ns, so it takes a few microseconds: longer
// than a handover between two running workers, far shorter than the 10 ms
// after which Go preempts a goroutine by force.
const spinTurns = 128

// relax is one turn of waiting; spins counts from 0 in each wait.
func relax(spins int) {
	if spins%spinTurns == spinTurns-1 {
		runtime.Gosched()
	} else {
		arch.Pause()
	}
}
