// Package ticket has the ticket locks: a worker draws a number and waits until
// it is called.
//
//	ticket          spin on the number being served
//	ticket-backoff  the same, reading it less often the longer the line before
//	ticket-yield    spin a while, then let the scheduler run others
//	ticket-park     spin a while, then block in the ticket's own slot
//
// All are FIFO: the fetch-and-add that draws the ticket fixes the place. None
// allocates. All waiters of the first three read one word, so that each release
// costs a cache line transfer per waiter; package array has the same order
// with a line per waiter.
//
// The idea is older than its use for mutual exclusion on multiprocessors: the
// bakery of Lamport (CACM 17(8), 1974), and sequencers and eventcounts (Reed
// and Kanodia, CACM 22(2), 1979). Mellor-Crummey and Scott (TOCS 9(1), 1991)
// gave it today's form and the proportional back-off.
//
// # States
//
// Both counters are 32 bits wide and only differences and equality count, so
// that they may wrap. last is the last ticket drawn, serving the one that holds
// the lock, or may take it as soon as it is drawn:
//
//	last - serving  meaning
//	-1              free; the next ticket to be drawn is already served
//	0               held, nobody waits
//	n > 0           held, n workers wait
//
// At most as many tickets are outstanding as there are workers, far below 2^32.
//
// # Memory order
//
// The release writes serving, the next holder's atomic load observes that very
// write (each value is written once a round of 2^32), hence the release is
// synchronized before the acquisition (go.dev/ref/mem). The
// fetch-and-add on last gives out places and orders nothing else. Only the
// holder writes serving, so that its increment needs no read-modify-write: it
// loads, adds and stores. Where Unlock ends with that store it is
// arch.StoreRelease32; ticket-park reads a slot afterwards and needs the
// sequentially consistent store, see there.
package ticket

//go:generate go run lockbench/cmd/lockloop -type ticketHandle,backoffHandle,yieldHandle,parkHandle
