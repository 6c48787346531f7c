//go:build race

package locktest

import "time"

// Under the race detector a spin loop is nearly always inside the detector,
// where a goroutine cannot be preempted: with more spinning workers than
// processors one handover can take seconds. So there are fewer workers, and
// the guard is more patient.
const (
	raceEnabled  = true
	mostWorkers  = 4
	defaultGuard = time.Minute
)
