package rw

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// The reader words count in the upper 24 bits; the lower ones of rin describe
// the writer that is present, if any.
const (
	readerInc  = 1 << 8 // one reader
	present    = 1 << 1 // a writer holds, or waits for the readers before it
	phase      = 1 << 0 // the low bit of that writer's ticket
	writerBits = present | phase
)

// phaseFairLock is the phase-fair ticket lock (PF-T) of Brandenburg and
// Anderson. Read phases and write phases alternate while both sides have
// somebody: a reader waits for at most one writer, and a writer, once its
// ticket is up, for the readers of one phase.
//
//	rin    readers that arrived, and the writer bits
//	rout   readers that left
//	win    the next writer's ticket
//	wout   the ticket that may go on
//
//	rin's writer bits    an arriving reader              the writer with ticket wout
//	0                    enters                          has not arrived at the readers
//	present|phase        waits until the bits change     waits until rout reaches the value of
//	                                                     rin that it found, then holds
//
// # Why a reader may leave on any change
//
// A reader waits until the bits differ from those that it saw when it
// arrived, and not until they are 0: the next writer may set them before the
// reader looks. It sets the other phase bit, as its ticket is the next one. It
// cannot enter, let alone leave and let a third writer bring back the bits that
// the reader waits to see gone: it has found the waiting reader counted in rin and
// waits for it in rout.
//
// # Overflow
//
// Every comparison is for equality of counters that advance modulo a power of
// two: rin and rout modulo 2^24 in units of readerInc (a carry leaves the
// word at the top and never meets the writer bits), win and wout modulo 2^32,
// which keeps the low bit of tickets alternating. They are ambiguous only
// with 2^24 readers or 2^32 writers inside at once. New has no limit of
// workers for their sake: the stacks of 2^24 goroutines alone take 32 GiB.
//
// # Memory order
//
// All accesses but one are sequentially consistent atomics, so that the
// paper's argument holds as it stands. The edges of the Go memory model:
//
//	writer to writer     store of wout in Unlock, load of wout in Lock
//	writer to readers    subtraction of the bits from rin in Unlock; RLock's
//	                     addition or load of rin observes it
//	readers to writer    RUnlock's addition to rout, of which the last is
//	                     observed by Lock's load; additions are
//	                     read-modify-writes, so all earlier ones are before it
//
// That last store, of wout, is arch.StoreRelease32: Unlock reads nothing after
// it, only the holder writes wout, and an atomic operation on rin precedes it.
//
// # Waiting
//
// Waiters spin, as in the paper, on the shared words. With more workers than
// processors each handover to a preempted writer waits for the scheduler.
//
// The words stand on lines of their own (lock.CacheLine): readers leave without
// disturbing those that arrive, and writers queue beside both. They are plain
// integers used through the functions of sync/atomic, because with the methods
// of atomic.Uint32 RLock is one point too complex to be inlined.
type phaseFairLock struct {
	_    [lock.CacheLine]byte
	rin  uint32
	_    [lock.CacheLine - 4]byte
	rout uint32
	_    [lock.CacheLine - 4]byte
	win  uint32
	_    [lock.CacheLine - 4]byte
	wout uint32 // written by the holder only
	_    [lock.CacheLine]byte
}

// phaseFairHandle is one worker's access; the algorithm keeps nothing there.
type phaseFairHandle struct{ l *phaseFairLock }

var (
	_ lock.Handle   = (*phaseFairHandle)(nil)
	_ lock.RWHandle = (*phaseFairHandle)(nil)
)

func newPhaseFair(int) (lock.Lock, error) { return &phaseFairLock{}, nil }

// NewHandle implements lock.Lock.
func (l *phaseFairLock) NewHandle(*lock.Worker) lock.Handle { return &phaseFairHandle{l: l} }

// RLock arrives and, if a writer is present, waits for the end of its phase.
func (h *phaseFairHandle) RLock() {
	if seen := atomic.AddUint32(&h.l.rin, readerInc); seen&writerBits != 0 {
		h.awaitPhase(seen)
	}
}

// awaitPhase spins until the writer bits are not those seen on arrival.
//
//go:noinline
func (h *phaseFairHandle) awaitPhase(seen uint32) {
	for (atomic.LoadUint32(&h.l.rin)^seen)&writerBits == 0 {
		arch.Pause()
	}
}

// RUnlock leaves.
func (h *phaseFairHandle) RUnlock() { atomic.AddUint32(&h.l.rout, readerInc) }

// Lock takes a ticket, waits for the writers before it, announces itself to
// the readers and waits for those that arrived before the announcement.
func (h *phaseFairHandle) Lock() {
	l := h.l
	ticket := atomic.AddUint32(&l.win, 1) - 1
	bits := present | ticket&phase
	if atomic.LoadUint32(&l.wout) != ticket {
		h.awaitTicket(ticket)
	}
	// The bits are 0 now: the writer before cleared them before it passed the
	// ticket on. So the addition sets them, and what it found is the count.
	if arrived := atomic.AddUint32(&l.rin, bits) - bits; atomic.LoadUint32(&l.rout) != arrived {
		h.awaitReaders(arrived)
	}
}

// awaitTicket spins until it is the caller's turn among writers.
//
//go:noinline
func (h *phaseFairHandle) awaitTicket(ticket uint32) {
	for atomic.LoadUint32(&h.l.wout) != ticket {
		arch.Pause()
	}
}

// awaitReaders spins until the readers of the phase before have left.
//
//go:noinline
func (h *phaseFairHandle) awaitReaders(arrived uint32) {
	for atomic.LoadUint32(&h.l.rout) != arrived {
		arch.Pause()
	}
}

// Unlock ends the write phase, which starts a read phase if readers wait, and
// then lets the next writer announce itself. The paper clears the bits by an
// atomic AND; the holder knows them from its ticket, and a subtraction is one
// instruction that cannot fail on every processor.
func (h *phaseFairHandle) Unlock() {
	l := h.l
	ticket := atomic.LoadUint32(&l.wout)
	bits := present | ticket&phase
	atomic.AddUint32(&l.rin, -bits)
	arch.StoreRelease32(&l.wout, ticket+1)
}
