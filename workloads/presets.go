package workloads

import (
	"strings"
	"time"

	"lockbench/internal/near"
)

// Presets returns the named workloads, in the order in which they are listed.
// A section of 100 units takes about 130 ns on a 3 GHz processor.
func Presets() []Preset {
	return []Preset{
		{"uncontended", "one worker, empty section: what an acquisition costs when nobody competes",
			"workers=1"},
		{"max-contention", "all cores, empty section, no think time: nothing but handing over",
			"workers=all"},
		{"moderate", "all cores, sections of 100 units, exponential think time of 300",
			"workers=all section=100 think=exp:300 read-lines=1 write-lines=1"},
		{"long-sections", "all cores, exponential sections and think times of 10,000 units: does waiting burn the processor?",
			"workers=all section=exp:10000 think=exp:10000 read-lines=1 write-lines=1"},
		{"oversubscribed", "four workers a core: a spinning FIFO lock collapses, because its next holder is not running",
			"workers=4x section=100 think=exp:300 read-lines=1 write-lines=1"},
		{"hog", "worker 0 holds the lock 200 times as long as the others: who starves?",
			"workers=all section=100 think=exp:300 hog=20000"},
		{"bursty", "load up, down, up: 25, 100, 25, 100 % of 4 workers a core: does throughput come back? Wants --duration 400ms or more",
			"workers=4x section=100 think=exp:300 phases=25:1,100:1,25:1,100:1"},
		{"read-mostly", "all cores, 95 % read sections of 200 units over 4 lines",
			"workers=all section=200 think=exp:300 reads=95 read-lines=3 write-lines=1"},
		{"striped-zipf", "all cores on 16 locks, chosen with Zipf's law (exponent 1.1)",
			"workers=all section=100 think=exp:300 locks=16 choice=zipf:1.1 read-lines=1 write-lines=1"},
		{"open-loop", "200,000 Poisson arrivals a second, whether or not the lock keeps up; latency counts from the planned arrival",
			"workers=all section=100 arrivals=poisson:200000"},
		{"transfer", "distributed locks: two of four keys an operation, and the sum of the balances must stay; --order as-given deadlocks",
			"workers=4 section=100us keys=uniform:4 order=sorted"},
	}
}

// Preset is a named workload and its knobs, as users would type them.
type Preset struct{ Name, Doc, Knobs string }

// defaultTimedWait is how long timed acquisitions wait unless told otherwise:
// some hundred handoffs.
const defaultTimedWait = 50 * time.Microsecond

// Get returns the preset of that name, or an error that lists near names.
func Get(name string) (Spec, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p.Spec(), nil
		}
		names = append(names, p.Name)
	}
	return Spec{}, &near.UnknownError{What: "workload", Name: name, Near: near.Names(name, names)}
}

// Spec returns the preset as a spec. A preset that does not parse is a bug
// and panics; the tests make every one.
func (p Preset) Spec() Spec {
	s := Spec{Name: p.Name, Locks: 1, Workers: Count{N: 1}, TimedWait: defaultTimedWait}
	for _, kv := range strings.Fields(p.Knobs) {
		k, v, _ := strings.Cut(kv, "=")
		if err := s.Set(k, v); err != nil {
			panic("workloads: preset " + p.Name + ": " + err.Error())
		}
	}
	s.Name, s.Base = p.Name, p.Name
	return s
}
