package chaos

import (
	"context"
	"lockbench/chaos/actor"
	"time"
)

// faultHolderPause stops the holder's process between its check and its write, as a long garbage collection, a
// debugger or a suspended machine do.
var faultHolderPause = Fault{
	Name: HolderPause, Doc: "the holder's process stands still between its check and its write (SIGSTOP), longer than the TTL",
	On: OnHolder, Shape: ShapeHold, Point: actor.PointWrite,
	Params: []Param{{Name: "pause_ms", Doc: "how long; by default the TTL, a tick of the server and 1 s", Min: 1, Max: 600_000}},
	Watch:  watchFor("pause_ms"),
	Steps:  func(s *Stage) Steps { return stop(s.Play().Holder) },
}

// watchFor is how long a fault lasts that has a parameter for it.
func watchFor(param string) func(*Stage) time.Duration {
	return func(s *Stage) time.Duration {
		return time.Duration(s.Param(param, float64(s.Times.Hold.Milliseconds())) * float64(time.Millisecond))
	}
}

// stop are the steps that stop a party's process for a while. The evidence is its state in the kernel.
func stop(who *Party) Steps {
	return Steps{
		Inject:    func(context.Context) error { return who.Stop() },
		Felt:      who.Stopped,
		Recover:   func(context.Context) error { return who.Continue() },
		Recovered: who.Running,
		Cleanup: func(context.Context) error {
			if who == nil {
				return nil
			}
			return who.Continue()
		},
	}
}
