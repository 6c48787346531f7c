package lock

import (
	"context"
	"sync/atomic"
	"time"

	"lockbench/lock/loop"
)

// Lock is one lock, shared by all workers of a cell.
type Lock interface {
	// NewHandle returns worker w's own access to the lock. It is called once
	// per worker, one call at a time, and all handles of a lock are made
	// before the first of them is used: a lock may therefore fill tables that
	// handles later read without synchronisation. w is owned by the caller,
	// outlives the handle, and is the same for all locks of a cell.
	NewHandle(w *Worker) Handle
}

// Handle is one worker's access to one lock. It owns whatever the algorithm
// keeps per worker and lock, for instance its queue node. A handle is used by
// one goroutine at a time and never while it is held by that goroutine: no
// lock in this project is reentrant.
type Handle interface {
	// Lock returns when the caller holds the lock. Everything that earlier
	// holders did before their Unlock happens before it returns, in the sense
	// of the Go memory model.
	Lock()
	// Unlock releases the lock. Calling it without holding the lock is a
	// programming error with undefined results.
	Unlock()
}

// CacheLine is the size that padding in this project assumes: 128 bytes, two
// 64-byte lines, because the adjacent-line prefetcher of Intel processors
// pulls lines in pairs (Intel 64 and IA-32 Architectures Optimization
// Reference Manual, "Data Prefetching") and Apple's arm64 lines are 128 bytes.
const CacheLine = 128

// Worker is what one worker owns across all locks of a cell.
//
// Grant is the one word that some algorithms (Hemlock) keep per thread and
// share between locks. It stands alone on its cache lines; locks that use it
// say so, and leave it 0 whenever the worker neither holds nor waits.
type Worker struct {
	ID int // 0-based, dense: below the number of workers given to Info.New
	_  [CacheLine - 8]byte
	// Grant is written by its worker and by at most one successor at a time.
	Grant atomic.Uint32
	_     [CacheLine - 4]byte
}

// The optional interfaces, each looked for on the raw handle.

// TryLocker is a handle that can acquire without waiting.
type TryLocker interface {
	// TryLock reports whether the lock was acquired. On false nothing has
	// changed. It returns false only while the lock is held or being handed
	// over.
	TryLock() bool
}

// TimedLocker is a handle that can give up waiting after a time.
type TimedLocker interface {
	// LockFor waits for at most about d (d <= 0: do not wait) and reports
	// whether the lock was acquired. On false the caller neither holds the
	// lock nor can be granted it: it is not queued.
	LockFor(d time.Duration) bool
}

// ContextLocker is a handle that can give up waiting when a context ends. It
// is for the conformance suite only: creating a context costs more than most
// locks, so no measured loop uses it.
type ContextLocker interface {
	// LockContext returns nil if the lock was acquired. Otherwise it returns
	// ctx.Err() and the caller neither holds the lock nor is queued. With an
	// already ended context it returns the error even if the lock is free.
	LockContext(ctx context.Context) error
}

// RWHandle is a handle that can be held for reading by several workers.
type RWHandle interface {
	// RLock returns when the caller holds the lock for reading: no writer
	// does at the same time, other readers may.
	RLock()
	// RUnlock releases a hold for reading.
	RUnlock()
}

// TryRLocker is a handle that can acquire for reading without waiting.
type TryRLocker interface {
	// TryRLock reports whether the lock was acquired for reading. On false
	// nothing has changed. It fails only while a writer holds the lock or
	// waits for it.
	TryRLock() bool
}

// Waiter is a handle or a lock that knows how many workers wait. The order
// oracle stages arrivals with it; every lock whose Info claims FIFO has it.
type Waiter interface {
	// Waiters returns the number of workers whose place in the order of
	// grants is fixed and who do not yet hold the lock. It may be called at
	// any time from any goroutine and is exact while the lock is held and no
	// worker arrives or leaves.
	Waiters() int
}

// Batcher is a handle with the measured loops that lockbench/cmd/lockloop
// generated for its concrete type. The harness reaches a lock through one
// interface call a batch instead of two a lock operation; a handle without
// loops is measured by interface calls, and its records say so.
type Batcher interface {
	// BatchPlain performs up to n operations of the throughput interval and
	// returns how many it completed: fewer than n after a stop or a finding,
	// which s then holds.
	BatchPlain(s *loop.Section, n int) int
	// BatchProbe is BatchPlain with sampled latencies and the order log.
	BatchProbe(s *loop.Section, n int) int
	// BatchGeneral is for mixes of reads, tries and timed acquisitions, for
	// several locks, and for open-loop arrivals.
	BatchGeneral(s *loop.Section, n int) int
}
