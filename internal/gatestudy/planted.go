package main

import (
	"fmt"
	"math"
	"slices"

	"lockbench/impls/planted"
	"lockbench/results"
	"lockbench/results/stat"
)

// Extra work is independent of the section, so that a processor that executes
// out of order works on both at once: some 30 units of the work are over
// before the section could have begun without them (measured: 35 units of 0.94
// ns made an operation of 208 ns 13 ns longer, 100 units 59 ns). So how much
// slower so many units make a lock is measured, not computed.

// probeUnits are the sizes that are measured: they make an operation with a
// section of 200 ns some 5 to 25 % slower.
func probeUnits() []uint32 { return []uint32{35, 60, 90} }

// A response is how a lock responds to extra work: units u make an operation
// (a + b u) of its time longer.
type response struct {
	lock string
	a, b float64
}

// hidden is how many units cost nothing.
func (r response) hidden() float64 { return max(0, -r.a/r.b) }

// units are those of a slowdown. An error is a response that nothing can be
// computed from.
func (r response) units(slowdown float64) (uint32, error) {
	n := math.Round((slowdown - r.a) / r.b)
	if !(r.b > 0 && n >= 1 && n <= planted.MaxExtra) { // NaN is none of it
		return 0, fmt.Errorf("%s: units u make it %.4g + %.4g u slower: no number of units from 1 to %d makes that %g %%",
			unprefixed(r.lock), r.a, r.b, planted.MaxExtra, 100*slowdown)
	}
	return uint32(n), nil
}

// responses fits what the probes say, one recording a size, by least squares.
// The sizes are ratios of processor time, which other programs disturb less than
// elapsed time.
func responses(probes []*recording) ([]response, error) {
	m, err := results.LookupMetric(otherMetric)
	if err != nil {
		return nil, err
	}
	units := probeUnits()
	var out []response
	for i, c := range probes[0].cells {
		var xs, ys []float64
		for k, p := range probes {
			ratios := p.cells[i].ratios(m)
			if len(ratios) == 0 {
				return nil, fmt.Errorf("%s: no pair of %s was kept", p.name, c.Name)
			}
			xs = append(xs, float64(units[k]))
			ys = append(ys, math.Expm1(stat.SignedRank(ratios, 1-confidence).Center))
		}
		a, b := line(xs, ys)
		out = append(out, response{c.Lock, a, b})
	}
	return out, nil
}

// line is the least-squares line a + b x.
func line(xs, ys []float64) (a, b float64) {
	n := float64(len(xs))
	var sx, sy, sxx, sxy float64
	for i, x := range xs {
		sx, sy, sxx, sxy = sx+x, sy+ys[i], sxx+x*x, sxy+x*ys[i]
	}
	b = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return (sy - b*sx) / n, b
}

// extras are the units of a program by lock, without the prefix.
func (st *study) extras(p program) (map[string]uint32, error) {
	out := map[string]uint32{}
	for _, name := range st.o.locks {
		out[name] = p.units
		if p.slowdown == 0 {
			continue
		}
		i := slices.IndexFunc(st.ops, func(r response) bool { return unprefixed(r.lock) == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no measured response of %s", name)
		}
		n, err := st.ops[i].units(p.slowdown)
		if err != nil {
			return nil, err
		}
		out[name] = n
	}
	return out, nil
}

func unprefixed(lock string) string { return lock[min(len(lock), len(planted.Prefix)):] }
