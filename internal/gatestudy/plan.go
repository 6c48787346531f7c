package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// A session is a recording: pairs of old against new programs.
type session struct {
	name     string
	title    string
	old, new []program
	workers  int
	pairs    int
	slowdown float64 // planted in new, a share of the time an operation
	target   float64 // share of slowdowns that is to be found
}

// A program is a build of internal/gatestudy/program.
type program struct {
	name     string
	slowdown float64
	units    uint32 // of extra work on every lock, without a slowdown
	layout   int    // seed of the order of functions, 0 = the linker's own
	copyOf   string // it is the file of the program of this name; "" = a build of its own
}

// The parts of the study. partLive is no recording.
const (
	partSame      = "same"
	partLayouts   = "layouts"
	partContended = "contended"
	partLive      = "live"
)

// slowdowns are the planted ones, with the share of them that is to be found.
func slowdowns() []program {
	return []program{{name: "slow20", slowdown: 0.20}, {name: "slow10", slowdown: 0.10}, {name: "slow5", slowdown: 0.05}}
}

// foundTarget is the share of slowdowns of this name that is to be found.
func foundTarget(name string) float64 {
	return map[string]float64{"slow20": 0.99, "slow10": 0.95, "slow5": 0.80}[name]
}

// alarmTarget is the largest share of gates that may fail without a slowdown.
const alarmTarget = 0.01

// probePairs are those of a probe: slowdowns need not be exact, because their
// true size is measured.
const probePairs = 32

func partNames() []string {
	names := []string{partSame, partLayouts}
	for _, p := range slowdowns() {
		names = append(names, p.name)
	}
	return append(names, partContended, partLive)
}

// base has wrapped locks without extra work.
func base() program { return program{name: "base"} }

// again is the same file as base, at another path, of another length: where a
// program's file is moves what the kernel puts on its stack (T. Mytkowicz et
// al., "Producing wrong data without doing anything obviously wrong!", ASPLOS
// 2009, section 4), and no gate in use compares a file with itself.
func again() program { return program{name: "base-again-at-a-longer-path", copyOf: base().name} }

// sessions are the recordings, in their order, after the probes.
func (o options) sessions() []session {
	var old, new []program
	for i := range o.layouts {
		seed := int(o.seed)*1000 + 2*i
		old = append(old, program{name: fmt.Sprintf("layout-old%d", i+1), layout: seed + 1})
		new = append(new, program{name: fmt.Sprintf("layout-new%d", i+1), layout: seed + 2})
	}
	b, same := []program{base()}, []program{again()}
	all := []session{
		{name: partSame, title: "the same program", old: b, new: same, workers: o.workers, pairs: o.pairs},
		{name: partLayouts, title: "builds with different layout", old: old, new: new, workers: o.workers, pairs: o.pairs},
	}
	for i, p := range slowdowns() {
		all = append(all, session{name: p.name, title: fmt.Sprintf("%.0f %% slower", 100*p.slowdown), old: b, new: []program{p},
			workers: o.workers, pairs: o.slow[i], slowdown: p.slowdown, target: foundTarget(p.name)})
	}
	return append(all, session{name: partContended, title: "the same program, as many workers as cores", old: b, new: same,
		workers: max(2, runtime.NumCPU()), pairs: o.contend})
}

// probes are the recordings that slowdowns are computed from.
func (o options) probes() []session {
	var out []session
	for _, u := range probeUnits() {
		p := program{name: fmt.Sprintf("probe%d", u), units: u}
		out = append(out, session{name: p.name, title: fmt.Sprintf("%d units of extra work", u), old: []program{base()}, new: []program{p},
			workers: o.workers, pairs: probePairs})
	}
	return out
}

// liveGates are the sessions that are gated live, in the order in which they
// are: half of them without a slowdown.
func (o options) liveGates() []session {
	by := map[string]session{}
	for _, s := range o.sessions() {
		by[s.name] = s
	}
	cycle := []string{partSame, "slow20", partLayouts, "slow10", partSame, "slow5", partLayouts, "slow20", partSame, "slow10", partLayouts, "slow5"}
	var out []session
	for i := range o.live {
		out = append(out, by[cycle[i%len(cycle)]])
	}
	return out
}

// livePairs is how many pairs a live gate is expected to use, for the time
// that is left.
const livePairs = 48

// estimate is how long parts will take, a round of all cells taking so long.
func (o options) estimate(parts []session, live int, round time.Duration) time.Duration {
	pairs := live * livePairs
	for _, s := range parts {
		pairs += s.pairs
	}
	return time.Duration(pairs) * round
}

// wanted are the sessions that -only asks for.
func (o options) wanted() []session {
	return slices.DeleteFunc(o.sessions(), func(s session) bool { return !o.wants(s.name) })
}
