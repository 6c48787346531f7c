// Package array has the array-based queue locks: like a ticket lock, but each
// waiter spins on a slot of its own, so that a release disturbs one waiter.
//
//	anderson        spin on the slot
//	anderson-yield  spin a while, then let the scheduler run others
//	anderson-park   spin a while, then block in the slot
//
// All are FIFO: the fetch-and-add that draws the ticket fixes the place. None
// allocates. The price is a padded slot per worker in every lock.
//
// The lock is from T. E. Anderson, "The Performance of Spin Lock Alternatives
// for Shared-Memory Multiprocessors", IEEE TPDS 1(1), 1990; Graunke
// and Thakkar, "Synchronization Algorithms for Shared-Memory Multiprocessors",
// IEEE Computer 23(6), 1990, found the idea independently.
//
// # Slots hold tickets
//
// Anderson's slots hold a boolean, "must wait" or "has lock". Here they hold
// the number of the ticket that was last granted in them. Ticket t uses the
// slot t mod n and is granted when the slot's value is t:
//
//	slots[t mod n]  meaning for ticket t
//	t-n             not granted: the last round's ticket is still there
//	t               granted: t's worker holds the lock, or takes it on arrival
//
// Releasing t writes t+1 to the next slot. Nothing has to be set back to "must
// wait", and TryLock can be right: it reads which ticket would be the next to
// draw, sees in the slot whether that is granted, and draws it by a
// compare-and-swap. With booleans the slot could have been granted to a ticket
// of another round between the two.
//
// n is a power of two of at least the number of workers. As many workers,
// so many tickets are outstanding at most, so that no slot has two at a
// time; and n divides 2^32, so that neighbouring tickets have neighbouring
// slots when the counter wraps, too.
//
// # Memory order
//
// The release of t-1 writes t to the slot, the acquisition of t atomically
// loads that t, hence the former is synchronized before the latter
// (go.dev/ref/mem). The fetch-and-add gives out places and orders nothing else.
// Unlock ends with that write, to an integer, so that it may be
// arch.StoreRelease32; anderson-park writes and learns whether the waiter is
// asleep in one atomic swap.
package array

//go:generate go run lockbench/cmd/lockloop -type andersonHandle,yieldHandle,parkHandle
