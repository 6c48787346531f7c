package rw

import "lockbench/lock"

// Infos returns the locks of this package.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:   "rw-phase-fair",
			Family: "rw",
			Doc:    "phase-fair ticket lock: a reader waits for at most one writer, a writer for one phase of readers a place",
			Source: "B. B. Brandenburg and J. H. Anderson, Spin-Based Reader-Writer Synchronization for Multiprocessor Real-Time Systems, Real-Time Systems 46(1), 2010, algorithm PF-T",
			New:    newPhaseFair,
		},
	}
}
