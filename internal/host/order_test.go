package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrder(t *testing.T) {
	twoSockets := From(intelTwoSockets()).Topology
	vm := From(amdVM()).Topology
	// One package, four L3 domains of two cores each.
	var chiplets []CPU
	for id := range 8 {
		chiplets = append(chiplets, CPU{ID: id, L3: id / 2 * 2, Core: id})
	}
	// The mask leaves out CPU 0: its sibling 4 is the only thread of its core.
	masked := Info{Topology: twoSockets, AllowedCPUs: []int{1, 4, 5, 6}}.Usable()
	for _, tc := range []struct {
		name             string
		topo             []CPU
		n                int
		compact, scatter []int
	}{
		{"2 sockets, all", twoSockets, 8, []int{0, 4, 1, 5, 2, 6, 3, 7}, []int{0, 2, 1, 3, 4, 6, 5, 7}},
		{"2 sockets, some", twoSockets, 3, []int{0, 4, 1}, []int{0, 2, 1}},
		{"2 sockets, more workers than CPUs", twoSockets, 10, []int{0, 4, 1, 5, 2, 6, 3, 7, 0, 4}, []int{0, 2, 1, 3, 4, 6, 5, 7, 0, 2}},
		{"masked", masked, 4, []int{4, 1, 5, 6}, []int{4, 6, 1, 5}},
		{"chiplets", chiplets, 6, []int{0, 1, 2, 3, 4, 5}, []int{0, 2, 4, 6, 1, 3}},
		{"VM", vm, 2, []int{0, 1}, []int{0, 1}},
		{"no CPUs", nil, 2, nil, nil},
		{"no workers", vm, 0, nil, nil},
	} {
		before := append([]CPU(nil), tc.topo...)
		if got := Compact(tc.topo, tc.n); !cmp.Equal(got, tc.compact) {
			t.Errorf("%s: Compact(%d): got %v, want %v", tc.name, tc.n, got, tc.compact)
		}
		if got := Scatter(tc.topo, tc.n); !cmp.Equal(got, tc.scatter) {
			t.Errorf("%s: Scatter(%d): got %v, want %v", tc.name, tc.n, got, tc.scatter)
		}
		if !cmp.Equal(before, tc.topo) {
			t.Errorf("%s: the topology was changed", tc.name)
		}
	}
}
