package clh

import "lockbench/lock"

const family = "clh"

// Infos returns the locks of this package, simplest first.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:   "clh",
			Family: family,
			Doc:    "implicit queue lock, spinning on the predecessor's node",
			Source: "T. S. Craig, Building FIFO and Priority-Queuing Spin Locks from Atomic Swap, TR 93-02-02, University of Washington, 1993; P. Magnusson, A. Landin and E. Hagersten, Queue Locks on Cache Coherent Multiprocessors, IPPS 1994",
			FIFO:   true,
			New:    lock.Ctor(newCLH),
		},
		{
			Name:   "clh-yield",
			Family: family,
			Doc:    "clh, spinning for a while, then yielding the processor",
			Source: "A. R. Karlin, K. Li, M. S. Manasse and S. Owicki, Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor, SOSP 1991",
			FIFO:   true,
			New:    lock.Ctor(newYield),
		},
		{
			Name:   "clh-park",
			Family: family,
			Doc:    "clh, spinning for a while, then blocking in the predecessor's node",
			Source: "A. R. Karlin, K. Li, M. S. Manasse and S. Owicki, Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor, SOSP 1991",
			FIFO:   true,
			New:    lock.Ctor(newPark),
		},
		{
			Name:   "clh-abort",
			Family: family,
			Doc:    "clh with time-out: nodes are left in the queue, and the place can be resumed",
			Source: "M. L. Scott, Non-Blocking Timeout in Scalable Queue-Based Spin Locks, PODC 2002; B. He, W. N. Scherer III and M. L. Scott, Preemption Adaptivity in Time-Published Queue-Based Spin Locks, HiPC 2005",
			New:    lock.Ctor(newAbort),
		},
	}
}
