// Package std holds the locks that Go programmers already use: the ones of
// the standard library, two that are built from its parts, the weighted
// semaphore of golang.org/x/sync, and null, which locks nothing.
//
// They are the reference. A queue lock that is not compared with [sync.Mutex]
// has not been compared with what it would replace.
//
//	null       does nothing; what the harness itself costs
//	mutex      sync.Mutex: spins briefly, then parks; barging, with a starvation mode
//	rwmutex    sync.RWMutex: the same for writers, and readers side by side
//	chan       a channel with one slot: send to acquire, receive to release
//	semaphore  golang.org/x/sync/semaphore.Weighted of weight one
//	cond       a monitor: sync.Mutex, sync.Cond and a flag
//
// Every handle holds one pointer to the shared part, which stands alone on
// its cache lines (lock.CacheLine before and after it), so that two locks, or
// a lock and the data it protects, never share a line by accident.
//
// Memory order is the one that the Go memory model promises for the parts:
// an Unlock of a sync.Mutex is synchronized before the next Lock returns, the
// k-th receive from a channel of capacity one before the completion of the
// (k+1)-th send. No file of this package needs an argument of its own beyond
// naming the promise that it uses.
//
// None of these locks claims FIFO. Channels and the semaphore do hand over in
// order of arrival today, but neither documents it, and neither tells how many
// goroutines wait, so that the claim could not be staged and judged.
package std

//go:generate go run lockbench/cmd/lockloop -type nullHandle,mutexHandle,rwmutexHandle,chanHandle,semaphoreHandle,condHandle
