// Package lock is the contract between lockbench and a lock: what a lock is,
// what it may offer on top, and what one catalogue line says about it.
//
// The contract is small on purpose. An in-process lock implements [Lock] and
// gives each worker its own [Handle]; everything else (TryLock, timed and
// read acquisitions, the number of waiters) is an optional interface that is
// looked for on the handle when a plan is made. A lock that lacks what a
// workload asks for becomes a row "skipped: reason", never a missing row.
//
// A distributed lock is a [Leaser], because a bare Lock() cannot say that a
// lease was lost.
//
// This package uses the standard library only, and so do the packages below
// it: [lockbench/lock/loop], what the generated measured loops run on, and
// [lockbench/lock/arch], the few processor operations that Go does not offer.
package lock
