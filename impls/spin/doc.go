// Package spin has the locks that consist of one word: every waiter spins on
// the same one, and whoever changes it first holds the lock.
//
// They are the fastest locks without contention, one atomic operation to
// acquire and one plain store to release, and the least fair: the worker that
// has just released the lock has its cache line and is likely to be the next
// to get it. None of them is FIFO, none allocates.
//
//	tas           swap until it returns "free"
//	ttas          read until it looks free, then swap
//	ttas-backoff  the same, and stay away for a while after a lost swap
//	cas           compare-and-swap until it succeeds
//
// # Memory order
//
// All four share one argument. Lock succeeds by an atomic read-modify-write
// that reads 0. That 0 was written by the last Unlock (or is the initial one),
// so by the Go memory model (go.dev/ref/mem, "Atomic Values") the Unlock is
// synchronized before the Lock that observes it, and what a holder did happens
// before what the next one does. Unlock is arch.StoreRelease32: it reads
// nothing afterwards, so that it needs no order with later loads, and the word
// is an integer. These are the two conditions of package arch.
//
// # Waiting
//
// Waiters never call the scheduler. With more workers than processors a waiter
// may burn the time slice that the holder needs, until Go preempts it after
// 10 ms. That is the algorithm's nature and what the benchmark is to show.
package spin

//go:generate go run lockbench/cmd/lockloop -type tasHandle,ttasHandle,ttasBackoffHandle,casHandle
