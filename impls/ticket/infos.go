package ticket

import (
	"sync/atomic"

	"lockbench/lock"
)

const family = "ticket"

// Infos returns the locks of this package, simplest first.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:   "ticket",
			Family: family,
			Doc:    "ticket lock: draw a number, spin until it is served",
			Source: "D. P. Reed and R. K. Kanodia, Synchronization with Eventcounts and Sequencers, CACM 22(2), 1979",
			FIFO:   true,
			New:    lock.Ctor(newTicket),
		},
		{
			Name:   "ticket-backoff",
			Family: family,
			Doc:    "ticket lock, polling in proportion to the distance from the front",
			Source: "J. M. Mellor-Crummey and M. L. Scott, Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors, ACM TOCS 9(1), 1991",
			FIFO:   true,
			New:    lock.Ctor(newBackoff),
		},
		{
			Name:   "ticket-yield",
			Family: family,
			Doc:    "ticket lock, spinning for a while, then yielding the processor",
			Source: "A. R. Karlin, K. Li, M. S. Manasse and S. Owicki, Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor, SOSP 1991",
			FIFO:   true,
			New:    lock.Ctor(newYield),
		},
		{
			Name:   "ticket-park",
			Family: family,
			Doc:    "ticket lock, spinning for a while, then blocking in the ticket's slot",
			Source: "A. R. Karlin, K. Li, M. S. Manasse and S. Owicki, Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor, SOSP 1991",
			FIFO:   true,
			New:    lock.Ctor(newPark),
		},
	}
}

// waiting returns the number of tickets that are drawn and not yet served. It
// reads last between two equal values of serving, so that the two belong
// together; it starts over only when somebody has released the lock meanwhile.
func waiting(serving, last *uint32) int {
	for {
		s := atomic.LoadUint32(serving)
		l := atomic.LoadUint32(last)
		if atomic.LoadUint32(serving) == s {
			return max(0, int(l-s+1)-1) // l-s is -1 if the lock is free
		}
	}
}
