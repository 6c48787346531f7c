package host

import (
	"cmp"
	"slices"
)

// Compact returns n CPUs so that workers share as much as they can: first the
// SMT siblings of a core, then the cores of a last level cache, of a node and of
// a package, then the next package. With more workers than CPUs the order begins
// anew: workers share CPUs. nil without CPUs.
func Compact(topo []CPU, n int) []int {
	cpus := slices.Clone(topo)
	slices.SortFunc(cpus, byPlace)
	return take(cpus, n)
}

// byPlace orders CPUs so that neighbours share most.
func byPlace(a, b CPU) int {
	return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Node, b.Node), cmp.Compare(a.L3, b.L3),
		cmp.Compare(a.Core, b.Core), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.ID, b.ID))
}

// Scatter returns n CPUs so that workers share as little as they can: in turn
// from each package, within it from each node, and from each last level cache; a
// second SMT sibling is used only when every core has a worker. With more
// workers than CPUs the order begins anew. nil without CPUs.
func Scatter(topo []CPU, n int) []int {
	cpus := slices.Clone(topo)
	slices.SortFunc(cpus, byPlace)
	// A mask may leave out a core's first sibling, so that siblings are
	// numbered among the CPUs that are there.
	used := map[int]int{}
	for i := range cpus {
		cpus[i].Thread = used[cpus[i].Core]
		used[cpus[i].Core]++
	}
	var out []CPU
	for _, sameThread := range group(cpus, func(c CPU) int { return c.Thread }) {
		out = append(out, deal(sameThread,
			func(c CPU) int { return c.Package },
			func(c CPU) int { return c.Node },
			func(c CPU) int { return c.L3 },
		)...)
	}
	return take(out, n)
}

// deal splits cpus by the first key and takes from the parts in turn; the parts
// are dealt by the keys that remain.
func deal(cpus []CPU, keys ...func(CPU) int) []CPU {
	if len(keys) == 0 {
		return cpus
	}
	parts := group(cpus, keys[0])
	for i := range parts {
		parts[i] = deal(parts[i], keys[1:]...)
	}
	var out []CPU
	for round := 0; len(out) < len(cpus); round++ {
		for _, p := range parts {
			if round < len(p) {
				out = append(out, p[round])
			}
		}
	}
	return out
}

// group splits cpus by key, in ascending order of it.
func group(cpus []CPU, key func(CPU) int) [][]CPU {
	at := map[int][]CPU{}
	var keys []int
	for _, c := range cpus {
		k := key(c)
		if at[k] == nil {
			keys = append(keys, k)
		}
		at[k] = append(at[k], c)
	}
	slices.Sort(keys)
	var out [][]CPU
	for _, k := range keys {
		out = append(out, at[k])
	}
	return out
}

func take(cpus []CPU, n int) []int {
	if len(cpus) == 0 || n <= 0 {
		return nil
	}
	out := make([]int, n)
	for i := range out {
		out[i] = cpus[i%len(cpus)].ID
	}
	return out
}
