package broken

import (
	"runtime"
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// twoLock is a decrement lock: the word is 1 when free, acquiring subtracts
// one, and whoever reaches 0 has it.
//
//	word    meaning         a decrement makes it
//	1       free            0: acquired
//	0       held            -1: failed
//	-k      held, k failed  -k-1: failed ... until it wraps round to 1, which
//	                        looks free: the next decrement is "acquired"
//
// The bug, concurrencykit/ck issue 99: waiters of the variant with back-off
// keep subtracting instead of waiting, with plain loads, for the word to
// become positive. The number of failed attempts within one hold is
// unbounded, the word is not. The original has 32 bits and needs minutes; this
// one lives in the upper 4 bits of its word and needs 15 failures, about a microsecond.
//
// Unlock sets the word to 1 whatever happened, so nobody is stuck.
type twoLock struct {
	_    [lock.CacheLine]byte
	word atomic.Uint32
	_    [lock.CacheLine]byte
}

const (
	twoBits = 4
	twoUnit = 1 << (32 - twoBits) // one, in the upper bits: arithmetic wraps by itself
)

// twoHandle has nothing to keep.
type twoHandle struct{ l *twoLock }

var _ lock.Handle = (*twoHandle)(nil)

func newTwo(int) (lock.Lock, error) {
	l := &twoLock{}
	l.word.Store(twoUnit)
	return l, nil
}

// NewHandle implements lock.Lock.
func (l *twoLock) NewHandle(*lock.Worker) lock.Handle { return &twoHandle{l: l} }

// Lock decrements until it meets 0: that is the bug.
func (h *twoHandle) Lock() {
	const attempts = 64 // then let others run
	for i := 1; h.l.word.Add(^uint32(twoUnit-1)) != 0; i++ {
		if i%attempts == 0 {
			runtime.Gosched()
		} else {
			arch.Pause()
		}
	}
}

// Unlock makes the lock look free.
func (h *twoHandle) Unlock() { h.l.word.Store(twoUnit) }
