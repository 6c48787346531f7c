package broken

import (
	"runtime"
	"sync"
	"sync/atomic"

	"lockbench/lock"
)

// The states of the lock word, as in any mutex on top of a futex (U. Drepper,
// Futexes Are Tricky, 2011).
const (
	free    = 0
	held    = 1 // Unlock need not wake anybody
	awaited = 2 // held, and Unlock must wake a sleeper
)

// lostWakeupLock is a mutex on top of a futex. A waiter marks the word as
// awaited and asks to be put to sleep if the word still has a value that it
// names: sleep(expected) checks and sleeps in one step.
//
//	word       Lock                                      Unlock
//	free       becomes held: acquired
//	held       becomes awaited; sleep                    becomes free
//	awaited    sleep                                     becomes free; wake one
//
// The bug, SerenityOS/serenity pull request 20425: the first sleep of a waiter
// expects the value that it replaced, held, and not the one that it wrote,
// awaited. Most times the word is awaited, the sleep is refused and the
// second round is right. But if the holder leaves and anybody acquires again
// before the waiter gets to its sleep, the word is held once more. The waiter
// falls asleep, in a state that promises that nobody sleeps: that holder's
// Unlock wakes nobody. The lock is free and the waiter sleeps on.
//
//	waiter                          holder
//	                                holds; word = held
//	exchange: word = awaited
//	                                Unlock: word = free, wakes nobody yet asleep
//	                                Lock: word = held
//	sleep(held): accepted
//	                                Unlock: word = free, wakes nobody
//
// A later waiter may wake it by accident. With two workers there is no later
// waiter, and the loss is for good.
//
// # Why it shows within milliseconds
//
// The original's window is a system call's entry, a microsecond. Here the
// waiter yields a few times in the window, and a worker that goes round its
// loop alone needs only one turn in it. Each contended acquisition is a new
// chance, of which the shortest stress makes thousands.
type lostWakeupLock struct {
	_    [lock.CacheLine]byte
	word atomic.Uint32
	_    [lock.CacheLine]byte

	mu       sync.Mutex // makes checking the word and falling asleep one step
	sleepers []chan struct{}
}

// lostWakeupHandle has nothing to keep.
type lostWakeupHandle struct{ l *lostWakeupLock }

var _ lock.Handle = (*lostWakeupHandle)(nil)

func newLostWakeup(int) (lock.Lock, error) { return &lostWakeupLock{}, nil }

// NewHandle implements lock.Lock.
func (l *lostWakeupLock) NewHandle(*lock.Worker) lock.Handle { return &lostWakeupHandle{l: l} }

// Lock takes a free lock or waits.
func (h *lostWakeupHandle) Lock() {
	if !h.l.word.CompareAndSwap(free, held) {
		h.lockSlow()
	}
}

//go:noinline
func (h *lostWakeupHandle) lockSlow() {
	const window = 4 // yields; see "Why it shows"
	for {
		found := h.l.word.Swap(awaited)
		if found == free {
			return
		}
		for range window {
			runtime.Gosched()
		}
		h.l.sleep(found) // the bug: right is sleep(awaited)
	}
}

// Unlock frees the lock and wakes a sleeper if the word says that there is one.
func (h *lostWakeupHandle) Unlock() {
	if h.l.word.Swap(free) == awaited {
		h.l.wakeOne()
	}
}

// sleep is FUTEX_WAIT: it returns at once unless the word has the expected
// value, and otherwise when woken.
func (l *lostWakeupLock) sleep(expected uint32) {
	l.mu.Lock()
	if l.word.Load() != expected {
		l.mu.Unlock()
		return
	}
	woken := make(chan struct{})
	l.sleepers = append(l.sleepers, woken)
	l.mu.Unlock()
	<-woken
}

// wakeOne is FUTEX_WAKE.
func (l *lostWakeupLock) wakeOne() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sleepers) > 0 {
		close(l.sleepers[0])
		l.sleepers = l.sleepers[1:]
	}
}
