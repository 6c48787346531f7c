// Package impls lists the built-in locks.
package impls

import (
	"fmt"
	"slices"

	"lockbench/impls/array"
	"lockbench/impls/broken"
	"lockbench/impls/classic"
	"lockbench/impls/clh"
	"lockbench/impls/futex"
	"lockbench/impls/hemlock"
	"lockbench/impls/mcs"
	"lockbench/impls/rw"
	"lockbench/impls/spin"
	"lockbench/impls/std"
	"lockbench/impls/ticket"
	"lockbench/lock"
)

// Catalog returns all built-in locks, in the order in which they are listed.
func Catalog() []lock.Info {
	return slices.Concat(
		std.Infos(),
		spin.Infos(),
		ticket.Infos(),
		array.Infos(),
		mcs.Infos(),
		clh.Infos(),
		hemlock.Infos(),
		futex.Infos(),
		rw.Infos(),
		classic.Infos(),
		Distributed(),
	)
}

// Broken returns the planted bugs: known to the harness by name, so that
// everybody can see them caught, but listed and matched by no pattern.
func Broken() []lock.Info { return broken.Infos() }

// Merge returns the given lists as one and panics on an invalid line or a
// name that is taken.
func Merge(lists ...[]lock.Info) []lock.Info {
	all := slices.Concat(lists...)
	seen := map[string]bool{}
	for _, i := range all {
		if err := i.Validate(); err != nil {
			panic(fmt.Sprintf("lockbench: invalid lock: %v", err))
		}
		if seen[i.Name] {
			panic(fmt.Sprintf("lockbench: two locks are named %q", i.Name))
		}
		seen[i.Name] = true
	}
	return all
}
