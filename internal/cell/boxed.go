package cell

import (
	"time"

	"lockbench/lock"
)

//go:generate go run lockbench/cmd/lockloop -type boxed

// boxed is a handle behind its interfaces. Its loops come from the same
// generator as every lock's own; only the calls differ: one interface call an
// operation. It measures locks without loops of their own, and all locks with
// --dispatch interface.
type boxed struct {
	h     lock.Handle
	try   lock.TryLocker
	timed lock.TimedLocker
	rw    lock.RWHandle // nil: read sections lock exclusively
}

func box(h lock.Handle) *boxed {
	b := &boxed{h: h}
	b.try, _ = h.(lock.TryLocker)
	b.timed, _ = h.(lock.TimedLocker)
	b.rw, _ = h.(lock.RWHandle)
	return b
}

func (b *boxed) Lock()                        { b.h.Lock() }
func (b *boxed) Unlock()                      { b.h.Unlock() }
func (b *boxed) TryLock() bool                { return b.try.TryLock() }
func (b *boxed) LockFor(d time.Duration) bool { return b.timed.LockFor(d) }

// RLock locks for reading, or exclusively if the lock has no read mode.
func (b *boxed) RLock() {
	if b.rw == nil {
		b.h.Lock()
		return
	}
	b.rw.RLock()
}

// RUnlock undoes RLock.
func (b *boxed) RUnlock() {
	if b.rw == nil {
		b.h.Unlock()
		return
	}
	b.rw.RUnlock()
}
