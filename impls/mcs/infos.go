package mcs

import "lockbench/lock"

const family = "mcs"

// Infos returns the locks of this package, simplest first.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:   "mcs",
			Family: family,
			Doc:    "list-based queue lock, spinning on the waiter's own node",
			Source: "J. M. Mellor-Crummey and M. L. Scott, Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors, ACM TOCS 9(1), 1991",
			FIFO:   true,
			New:    lock.Ctor(newMCS),
		},
		{
			Name:   "mcs-yield",
			Family: family,
			Doc:    "mcs, spinning for a while, then yielding the processor",
			Source: "A. R. Karlin, K. Li, M. S. Manasse and S. Owicki, Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor, SOSP 1991",
			FIFO:   true,
			New:    lock.Ctor(newYield),
		},
		{
			Name:   "mcs-park",
			Family: family,
			Doc:    "mcs, spinning for a while, then blocking in the waiter's own node",
			Source: "A. R. Karlin, K. Li, M. S. Manasse and S. Owicki, Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor, SOSP 1991",
			FIFO:   true,
			New:    lock.Ctor(newPark),
		},
		{
			Name:   "mcs-abort",
			Family: family,
			Doc:    "mcs with time-out: nodes are left in the queue, and the place can be resumed",
			Source: "B. He, W. N. Scherer III and M. L. Scott, Preemption Adaptivity in Time-Published Queue-Based Spin Locks, HiPC 2005",
			New:    lock.Ctor(newAbort),
		},
	}
}
