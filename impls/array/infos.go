package array

import (
	"math/bits"

	"lockbench/lock"
)

const family = "array"

// Infos returns the locks of this package, simplest first.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:   "anderson",
			Family: family,
			Doc:    "array-based queue lock: draw a slot, spin on it",
			Source: "T. E. Anderson, The Performance of Spin Lock Alternatives for Shared-Memory Multiprocessors, IEEE TPDS 1(1), 1990",
			FIFO:   true,
			New:    lock.Ctor(newAnderson),
		},
		{
			Name:   "anderson-yield",
			Family: family,
			Doc:    "array-based queue lock, spinning for a while, then yielding the processor",
			Source: "A. R. Karlin, K. Li, M. S. Manasse and S. Owicki, Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor, SOSP 1991",
			FIFO:   true,
			New:    lock.Ctor(newYield),
		},
		{
			Name:   "anderson-park",
			Family: family,
			Doc:    "array-based queue lock, spinning for a while, then blocking in the slot",
			Source: "A. R. Karlin, K. Li, M. S. Manasse and S. Owicki, Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor, SOSP 1991",
			FIFO:   true,
			New:    lock.Ctor(newPark),
		},
	}
}

// slotCount returns the smallest power of two that is at least workers.
func slotCount(workers int) int { return 1 << bits.Len(uint(workers-1)) }

// waiting returns how many tickets are drawn and not granted, given the number
// of slots, the ticket that each slot holds, and the last ticket drawn.
//
// The granted ticket is the newest in the slots: beginning with any of them, it
// is found by going on for as long as the next slot holds a newer one. last is
// read before the look that ends the walk, so that the two belong together. On
// a lock in use the walk goes on only when somebody has released it meanwhile.
func waiting(slots int, ticket func(slot uint32) uint32, last func() uint32) int {
	mask := uint32(slots - 1)
	granted := ticket(0)
	for {
		l := last()
		next := ticket((granted + 1) & mask)
		if int32(next-granted) <= 0 {
			return max(0, int(l-granted+1)-1) // l-granted is -1 if the lock is free
		}
		granted = next
	}
}
