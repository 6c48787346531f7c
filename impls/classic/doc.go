// Package classic holds the mutual exclusion algorithms that need nothing but
// loads and stores: no compare-and-swap, no exchange, no fetch-and-add. They
// are what textbooks begin with and a good check of a harness, because each
// of them is wrong on real processors as soon as one store is weaker than the
// proof assumes.
//
//	dekker        2 workers; the first known solution; turn decides who insists
//	peterson      2 workers; the shortest; who writes victim last waits
//	filter        n workers; Peterson generalised: n-1 waiting rooms in a row
//	tournament    n workers; a binary tree of Peterson locks, log2(n) to win
//	bakery        n workers; take a number, lowest is served; first come, first served
//
// # Memory order
//
// Every entry protocol here rests on store buffering being impossible: a
// worker writes "I want in" and then reads whether another does, and of two
// that do so at least one must see the other. That is a statement about the
// single total order of operations on different words, which the Go memory
// model gives to sync/atomic (all atomic operations appear to execute in a
// sequentially consistent order) and to nothing weaker. With
// arch.StoreRelease32 in an entry both stores can wait in their store buffers
// while both loads read 0: two holders. The litmus test of lock/arch counts
// how often the machine at hand does it. So entries use sync/atomic only.
//
// An exit may use the release store if Unlock reads no shared word after it.
// Delaying it past the reads of other operations only makes others wait a
// little longer: nobody is let in by a word that still says "occupied". And
// it cannot be delayed past the worker's own next entry, which begins with a
// sequentially consistent store: on amd64, the one processor where the two
// kinds differ, that is an XCHG, which drains the store buffer first. Several
// release stores in one exit become visible in program order. Each file names
// the stores that it relaxes. The edge that protects the section is then:
// the release store in Unlock is observed by the load that lets the next
// worker in.
//
// # Waiting
//
// Waiters spin on arch.Pause and yield to the scheduler once in a while (see
// relax). A pure spin is what the papers have, but these algorithms make a
// worker wait for workers that are not holders, up to all of them in the
// filter; with more workers than processors each such wait would last until
// the scheduler preempts somebody.
//
// Words of one worker stand on cache lines of their own (lock.CacheLine).
package classic

//go:generate go run lockbench/cmd/lockloop -type dekkerHandle,petersonHandle,filterHandle,tournamentHandle,bakeryHandle
