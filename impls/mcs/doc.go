// Package mcs has the list-based queue locks of Mellor-Crummey and Scott: each
// waiter spins on a word in its own node, and the holder finds its successor by
// a link that the successor has made.
//
//	mcs        spin on the node
//	mcs-yield  spin a while, then let the scheduler run others
//	mcs-park   spin a while, then block in the node
//	mcs-abort  spin; a waiter may give up, and take its old place up again
//
// The first three are FIFO: the swap of the tail fixes the place. None
// allocates: a worker's node is part of the lock.
//
// Source: J. M. Mellor-Crummey and M. L. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", ACM TOCS 9(1), 1991.
//
// # Nodes are indices
//
// The paper links nodes by pointers. Here all nodes of a lock are one slice, a
// node's name is its index, and index 0, which no worker has, stands for
// "none". A pointer in a shared word would bring Go's write barrier to every
// swap of the tail and every link (4.6 against 11 ns for an uncontended Lock
// and Unlock), and the collector would trace a structure that never changes
// its members.
//
// # The queue
//
//	tail = 0           free
//	tail = i           held; i is the holder or, if any, the last waiter
//	node[i].next = j   j has queued behind i
//	node[i].next = 0   nobody has, or has not linked yet (then tail is not i)
//
// A node's next is 0 whenever its worker is outside: only a successor writes
// it, and only the contended Unlock, which has seen it, sets it back. Thus an
// uncontended Lock is one swap and nothing else; the paper's version first
// clears next, a store that would be wasted here.
//
// # Memory order
//
// Three orders make the lock, each by an atomic write and an atomic read that
// observes it (go.dev/ref/mem):
//
//   - Unlock without successor to next Lock: the compare-and-swap of tail to 0,
//     observed by the swap that returns 0.
//   - Unlock to successor: the write to the successor's wait word, observed by
//     its spin.
//   - Queueing: what a waiter writes to its node before it links is observed by
//     the holder, which reads the link first.
//
// The reset of next is a plain store. It is ordered before the next write to
// that word, by a successor in a later round, because that one's swap of tail
// returned this worker's index and so observed its swap in that round.
//
// In mcs, mcs-yield and mcs-abort the handing write ends Unlock, which reads no
// shared word afterwards: it may be arch.StoreRelease32 (in mcs-abort it is a
// compare-and-swap anyway). In mcs-park the same write must find out whether
// the successor is asleep, and is an atomic swap.
package mcs

//go:generate go run lockbench/cmd/lockloop -type mcsHandle,yieldHandle,parkHandle,abortHandle
