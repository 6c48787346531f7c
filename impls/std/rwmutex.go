package std

import (
	"sync"

	"lockbench/lock"
)

// rwmutexLock is sync.RWMutex on lines of its own.
//
// A writer announces itself by making the reader count negative; readers
// that arrive later wait, those inside drain, the writer goes. After it, all
// readers that wait are let in before the next writer. Neither side starves
// the other as long as everybody gets scheduled, but golang/go issue 76808
// shows writers waiting for seconds behind a stream of readers; whether that
// happens is a trait that the harness reports.
//
// Every RLock and RUnlock is an atomic addition to one shared word, so read
// acquisitions do not scale with the number of cores: short read sections are
// no faster than those of a mutex.
//
// Memory order: package sync; an Unlock is synchronized before every RLock
// that it lets in returns, and each RUnlock before the Lock that waited for it.
type rwmutexLock struct {
	_  [lock.CacheLine]byte
	mu sync.RWMutex
	_  [lock.CacheLine]byte
}

// rwmutexHandle gives the measured loop a concrete type.
type rwmutexHandle struct{ l *rwmutexLock }

var (
	_ lock.Handle     = (*rwmutexHandle)(nil)
	_ lock.TryLocker  = (*rwmutexHandle)(nil)
	_ lock.RWHandle   = (*rwmutexHandle)(nil)
	_ lock.TryRLocker = (*rwmutexHandle)(nil)
)

func newRWMutex(int) (lock.Lock, error) { return &rwmutexLock{}, nil }

// NewHandle implements lock.Lock.
func (l *rwmutexLock) NewHandle(*lock.Worker) lock.Handle { return &rwmutexHandle{l: l} }

// Lock acquires for writing.
func (h *rwmutexHandle) Lock() { h.l.mu.Lock() }

// Unlock releases a hold for writing.
func (h *rwmutexHandle) Unlock() { h.l.mu.Unlock() }

// TryLock acquires for writing unless somebody holds the lock either way.
func (h *rwmutexHandle) TryLock() bool { return h.l.mu.TryLock() }

// RLock acquires for reading.
func (h *rwmutexHandle) RLock() { h.l.mu.RLock() }

// RUnlock releases a hold for reading.
func (h *rwmutexHandle) RUnlock() { h.l.mu.RUnlock() }

// TryRLock acquires for reading unless a writer holds the lock or waits.
func (h *rwmutexHandle) TryRLock() bool { return h.l.mu.TryRLock() }
