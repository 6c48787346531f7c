//go:build linux

package futex

import (
	"runtime"
	"sync/atomic"
	"testing"

	"lockbench/lock"
)

func TestFutexStates(t *testing.T) {
	l := newFutex(2)
	a, b := l.NewHandle(&lock.Worker{ID: 0}), l.NewHandle(&lock.Worker{ID: 1})
	check := func(when string, want uint32) {
		t.Helper()
		if got := atomic.LoadUint32(&l.word); got != want {
			t.Errorf("%s: word %d, want %d", when, got, want)
		}
	}
	check("at first", free)
	a.Lock()
	check("after Lock", held)
	done := make(chan struct{})
	go func() { b.Lock(); close(done) }()
	until(func() bool { return atomic.LoadUint32(&l.word) == contended })
	a.Unlock()
	<-done
	check("after a handoff", contended)
	b.Unlock()
	check("at last", free)
}

func TestPIStates(t *testing.T) {
	const waiters = 1 << 31 // FUTEX_WAITERS
	l := newPI(2)
	a, b := l.NewHandle(&lock.Worker{ID: 0}).(*piHandle), l.NewHandle(&lock.Worker{ID: 1}).(*piHandle)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a.Lock()
	if got := atomic.LoadUint32(&l.word); got != a.tid || got == 0 {
		t.Errorf("after Lock: word %#x, want the thread id %#x", got, a.tid)
	}
	granted, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		b.Lock()
		close(granted)
		<-release
		b.Unlock()
		close(done)
	}()
	until(func() bool { return atomic.LoadUint32(&l.word)&waiters != 0 })
	a.Unlock()
	<-granted
	if got := atomic.LoadUint32(&l.word) &^ waiters; got != b.tid {
		t.Errorf("after a handoff: owner %#x, want %#x", got, b.tid)
	}
	close(release)
	<-done
	if got := atomic.LoadUint32(&l.word); got != 0 {
		t.Errorf("after the last Unlock: word %#x, want 0", got)
	}
}

// until returns when cond holds; the test's own time-out ends a wait in vain.
func until(cond func() bool) {
	for !cond() {
		runtime.Gosched()
	}
}
