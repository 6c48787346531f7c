package cli

import (
	"fmt"
	"time"

	"lockbench/chaos"
	"lockbench/chaos/expect"
)

// Values of the names in bounds that no TTL says.
const (
	// boundElection is the longest time without a leader: ZooKeeper and etcd elect within some of their ticks of
	// 500 ms and heartbeats of 100 ms.
	boundElection = 2 * time.Second
	// boundDetection is after what time Sentinel has called a primary down, of 1 s here, and another one has
	// been promoted.
	boundDetection = 4 * time.Second
	// boundRestart is what a server in a container takes to serve again.
	boundRestart = 3 * time.Second
	// boundRelease is what the holder takes to notice that the fault has ended, to write, and to release.
	boundRelease = time.Second
	// boundExec is what docker exec takes until its command has run.
	boundExec = 500 * time.Millisecond
)

// chaosExpectations are those of chaos/expect.yaml.
func chaosExpectations() (func(lock, topology, fault, policy string) (chaos.Expected, bool), error) {
	table, err := expect.Load(chaos.ExpectYAML)
	if err != nil {
		return nil, &runtimeError{fmt.Errorf("read the expectations: %w", err)}
	}
	return func(lock, topology, fault, policy string) (chaos.Expected, bool) {
		if topology == chaos.InProcess {
			topology = ""
		}
		e, ok := table.Lookup(lock, topology, fault, policy)
		if !ok {
			return chaos.Expected{}, false
		}
		out := chaos.Expected{Verdict: e.Verdict, Seen: e.Seen, Note: e.Note, Theory: e.Why}
		if e.Source != "" {
			out.Theory += " [" + e.Source + "]"
		}
		if e.Bound != nil {
			out.Bound = e.Bound.String()
			out.Never = e.Bound.Never()
			if !out.Never {
				out.BoundMS = func(t chaos.Times, params map[string]float64) (float64, error) {
					return e.Bound.MS(boundValues(t, params))
				}
			}
		}
		return out, true
	}, nil
}

func boundValues(t chaos.Times, params map[string]float64) map[string]time.Duration {
	ms := func(name string, orElse time.Duration) time.Duration {
		if v, ok := params[name]; ok {
			return time.Duration(v * float64(time.Millisecond))
		}
		return orElse
	}
	return map[string]time.Duration{
		"T": t.TTL, "tick": t.Tick, "poll": chaos.PollMax,
		"pause": ms("pause_ms", t.Hold) + boundRelease, "heal": ms("cut_ms", ms("down_ms", t.Hold)) + boundRelease,
		"restart": boundRestart, "election": boundElection, "detection": boundDetection,
		"jump": ms("jump_ms", t.TTL), "exec": boundExec,
	}
}
