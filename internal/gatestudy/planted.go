package main

import (
	"fmt"
	"math"
	"slices"

	"lockbench/impls/planted"
)

// extraUnits is how many units of work make an operation of perOp ns slower
// by the share, a unit taking unit ns: the holder works them inside the section,
// so that the time an operation grows by them whoever waits.
func extraUnits(share, perOp, unit float64) (uint32, error) {
	n := math.Round(share * perOp / unit)
	if !(n >= 1 && n <= planted.MaxExtra) { // NaN is neither
		return 0, fmt.Errorf("a slowdown of %g %% of %.4g ns in units of %.4g ns is %g units: want 1 to %d", 100*share, perOp, unit, n, planted.MaxExtra)
	}
	return uint32(n), nil
}

// An operation is what the pilot says of a lock.
type operation struct {
	lock  string
	perOp float64 // ns, median
	unit  float64 // ns a unit of work
}

// operations takes the time an operation of each lock from the pilot.
func operations(pilot *recording) ([]operation, error) {
	var out []operation
	for _, c := range pilot.cells {
		var ns []float64
		for _, r := range c.rounds {
			for _, p := range r.Pairs {
				ns = append(ns, p.Old.WallNSPerOp, p.New.WallNSPerOp)
			}
		}
		if len(ns) == 0 {
			return nil, fmt.Errorf("%s: no pair of %s was kept", pilot.name, c.Name)
		}
		slices.Sort(ns)
		out = append(out, operation{c.Lock, ns[len(ns)/2], pilot.run.Calibration.UnitNS})
	}
	return out, nil
}

// extras are the units of a slowdown by lock, without the prefix.
func extras(ops []operation, share float64) (map[string]uint32, error) {
	out := map[string]uint32{}
	for _, op := range ops {
		if share == 0 {
			continue
		}
		n, err := extraUnits(share, op.perOp, op.unit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op.lock, err)
		}
		out[unprefixed(op.lock)] = n
	}
	return out, nil
}

func unprefixed(lock string) string { return lock[min(len(lock), len(planted.Prefix)):] }
