package inproc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/internal/near"
)

// Faults of in-process locks.
const (
	GoroutineExit  = "goroutine-exit"   // the holder's goroutine ends without Unlock (runtime.Goexit)
	PanicInSection = "panic-in-section" // the holder panics, and the panic is recovered above the section
	StalledHolder  = "stalled-holder"   // the holder sleeps in the section, then goes on
)

// Parameters of the faults.
const (
	// ParamDeferred, of PanicInSection: 1: Unlock is deferred; 0: it stands at the section's end and is not reached.
	ParamDeferred = "deferred"
	// ParamStall, of StalledHolder: how long the holder sleeps.
	ParamStall = "stall_ms"
	// ParamWindow: how long the waiters of a lock that is not given back are watched.
	ParamWindow = "window_ms"
)

// A Param is what a fault can be given, its default and its range.
type Param struct {
	Name, Doc         string
	Default, Min, Max float64
}

var window = Param{ParamWindow, "how long waiters are watched that nobody lets in", 500, 50, 60_000}

// params are the faults with their parameters.
var params = map[string][]Param{
	GoroutineExit:  {window},
	PanicInSection: {{ParamDeferred, "1: Unlock is deferred; 0: it is not", 0, 0, 1}, window},
	StalledHolder:  {{ParamStall, "how long the holder sleeps inside", 300, 50, 60_000}, window},
}

// Faults returns the names of the faults, sorted.
func Faults() []string { return slices.Sorted(maps.Keys(params)) }

// Params returns the parameters of a fault; none if there is no such fault.
func Params(fault string) []Param { return slices.Clone(params[fault]) }

// resolve returns all parameters of the fault: those given, and defaults for the others.
func resolve(fault string, given map[string]float64) (map[string]float64, error) {
	have, ok := params[fault]
	if !ok {
		return nil, &near.UnknownError{What: "fault of in-process locks", Name: fault, Near: near.Names(fault, Faults())}
	}
	all := map[string]float64{}
	var names []string
	for _, p := range have {
		all[p.Name] = p.Default
		names = append(names, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("fault %s has no parameter %q: it has %s", fault, name, strings.Join(names, ", "))
		}
		v, p := given[name], have[i]
		if !(v >= p.Min && v <= p.Max) { // false for NaN, too
			return nil, fmt.Errorf("fault %s: %s is %v: want %v to %v", fault, name, v, p.Min, p.Max)
		}
		if name == ParamDeferred && v != 0 && v != 1 {
			return nil, fmt.Errorf("fault %s: %s is %v: want 0 or 1", fault, name, v)
		}
		all[name] = v
	}
	return all, nil
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// patient is how long a waiter with a limit waits: it shall have left well before the others get in,
// or the observation ends.
func patient(fault string, p map[string]float64) time.Duration {
	limit := millis(p[ParamWindow]) / 5
	if fault == StalledHolder {
		limit = min(limit, millis(p[ParamStall])/3)
	}
	return limit
}
