package broken

import "lockbench/lock"

// noopLock is no lock. It differs from the control null in one thing: it is
// judged. It stands for the benchmark that measures an empty function because
// the call was compiled out, or because the work was done outside the lock
// (Amanieu/parking_lot issue 486, akopytov/sysbench issue 130), and reports
// it as a very fast lock.
type noopLock struct{}

// noopHandle has nothing to keep.
type noopHandle struct{}

var _ lock.Handle = (*noopHandle)(nil)

func newNoop(int) (lock.Lock, error) { return &noopLock{}, nil }

// NewHandle implements lock.Lock.
func (l *noopLock) NewHandle(*lock.Worker) lock.Handle { return &noopHandle{} }

// Lock does nothing.
func (h *noopHandle) Lock() {}

// Unlock does nothing.
func (h *noopHandle) Unlock() {}
