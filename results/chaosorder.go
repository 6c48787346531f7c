package results

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Cells are done in an order that differs from run to run. Reports have one that does not.

// A chaosOrder has the rank of names: as the run asked for them, and then by the alphabet.
type chaosOrder struct {
	Locks      []string `json:"locks"`
	Faults     []string `json:"faults"`
	Topologies []string `json:"topologies"`
}

// orderOf reads the header's spec, which is a struct in the program that measures and a map when it comes from a
// file. A spec of another kind has no order.
func orderOf(spec any) chaosOrder {
	var o chaosOrder
	b, err := json.Marshal(spec)
	if err != nil || json.Unmarshal(b, &o) != nil {
		return chaosOrder{}
	}
	return o
}

func compareNames(order []string, a, b string) int {
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// columns compares places in a matrix: by servers, then the project's own locks before those of other libraries.
func (o chaosOrder) columns(a, b *ChaosVerdict) int {
	peer := func(v *ChaosVerdict) int { return min(1, len(v.Peer)) }
	return cmp.Or(compareNames(o.Topologies, a.Topology, b.Topology), strings.Compare(a.Network, b.Network),
		cmp.Compare(peer(a), peer(b)), compareNames(o.Locks, a.Lock, b.Lock))
}

// rows compares by whom the fault hits, then the fault, then careful before careless.
func (o chaosOrder) rows(a, b *ChaosVerdict) int {
	return cmp.Or(cmp.Compare(slices.Index(hits, a.On), slices.Index(hits, b.On)), compareNames(o.Faults, a.Fault, b.Fault),
		cmp.Compare(slices.Index(policies, a.Policy), slices.Index(policies, b.Policy)), strings.Compare(a.Policy, b.Policy))
}

// The order of rows. Words that a later version may have come first.
var (
	hits     = []string{"nothing", "holder", "next", "servers", "process"}
	policies = []string{"careful", "careless", "guarded", "plain"}
)
