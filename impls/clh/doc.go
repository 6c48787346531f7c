// Package clh has the queue locks of Craig and of Magnusson, Landin and
// Hagersten: each waiter spins on its predecessor's node.
//
//	clh        spin on the predecessor's node
//	clh-yield  spin a while, then let the scheduler run others
//	clh-park   spin a while, then block in the predecessor's node
//	clh-abort  spin; a waiter may give up, and take its old place up again
//
// The first three are FIFO: the swap of the tail fixes the place. None
// allocates.
//
// Sources: T. S. Craig, "Building FIFO and Priority-Queuing Spin Locks from
// Atomic Swap", Technical Report 93-02-02, University of Washington, 1993;
// P. Magnusson, A. Landin and E. Hagersten, "Queue Locks on Cache Coherent
// Multiprocessors", IPPS 1994 (their LH lock).
//
// # The queue, and who owns which node
//
// All nodes of a lock are one slice and are named by their index: a pointer in
// a shared word would bring Go's write barrier to every swap. The queue has no
// links; a waiter knows its predecessor's node because the swap of tail
// returned it.
//
// There is one node more than there are workers. At every moment each worker
// owns one, and one belongs to the lock:
//
//	Lock    swaps the own node, which is marked "held", into tail, and waits on
//	        the node that tail gave back. When that is released its last reader
//	        is this worker, so that the node is now this worker's spare.
//	Unlock  releases the own node, from then on its successor's or, if none
//	        came, the lock's; takes the spare as its own, and marks it.
//
// So nodes wander between workers. A holder has two of them for the time of
// the section: its own, which is the lock's too, and the spare.
//
// # Memory order
//
// The release writes the node, the acquisition atomically loads what it wrote:
// the former is synchronized before the latter (go.dev/ref/mem).
//
// Marking a node is a plain store, and is done early, in Unlock: in the papers'
// Lock it would stand just before the swap, which would have to wait for it.
// Before the store nobody else reads the node any more: its only reader was
// this worker, which has seen it released. After it the next reader is the
// successor, which learns the node's index from its own swap of tail and so
// observes this worker's swap: the store happens before its first load.
//
// The releasing write is to an integer, and after it Unlock reads nothing that
// others write: it may be arch.StoreRelease32. In clh-park it must also find
// out whether the successor is asleep, and is an atomic swap.
//
// # No TryLock
//
// A worker could look at tail, find that node released, and compare-and-swap
// its own node in. Between the two the node can be acquired, released, taken
// over as a spare and queued again: it is in tail, as expected, and held. The
// compare-and-swap succeeds and the worker is queued, bound to wait (the ABA
// problem). A version count in tail would cure it at the price of a different,
// wider swap in every Lock. The paper's lock has no TryLock, and neither have
// these.
package clh

//go:generate go run lockbench/cmd/lockloop -type clhHandle,yieldHandle,parkHandle,abortHandle
