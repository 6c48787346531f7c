package mcs

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/lock"
)

func TestNextIsZeroAtRest(t *testing.T) {
	l := newMCS(2)
	a, b := l.NewHandle(&lock.Worker{ID: 0}), l.NewHandle(&lock.Worker{ID: 1})
	a.Lock()
	done := make(chan struct{})
	go func() { b.Lock(); close(done) }()
	until(func() bool { return l.Waiters() == 1 })
	a.Unlock()
	<-done
	b.Unlock()
	for i := range l.nodes {
		if n := &l.nodes[i]; n.next != 0 || n.wait != 0 {
			t.Errorf("free lock: node %d has next %d, wait %d, want 0, 0", i, n.next, n.wait)
		}
	}
	if l.tail != 0 {
		t.Errorf("free lock: tail %d, want 0", l.tail)
	}
}

func TestParkWakesSleeper(t *testing.T) {
	l := newPark(2)
	a, b := l.NewHandle(&lock.Worker{ID: 0}), l.NewHandle(&lock.Worker{ID: 1})
	a.Lock()
	done := make(chan struct{})
	go func() { b.Lock(); close(done) }()
	n := &l.nodes[2]
	until(func() bool { return atomic.LoadUint32(&n.wait) == asleep })
	a.Unlock()
	<-done
	if n.wait != granted || len(n.token) != 0 {
		t.Errorf("after the wake-up: wait %d, %d tokens, want %d, 0", n.wait, len(n.token), granted)
	}
	b.Unlock()
}

// abortSetup returns a lock that a holds and b has given up waiting for.
func abortSetup(t *testing.T) (l *abortLock, a, b, c *abortHandle) {
	l = newAbort(3)
	var h [3]*abortHandle
	for i := range h {
		h[i] = l.NewHandle(&lock.Worker{ID: i}).(*abortHandle)
	}
	a, b, c = h[0], h[1], h[2]
	a.Lock()
	if b.LockFor(time.Nanosecond) {
		t.Fatal("acquired a held lock")
	}
	checkStatus(t, b, nodeAbandoned)
	return l, a, b, c
}

func checkStatus(t *testing.T, h *abortHandle, want uint32) {
	t.Helper()
	if got := atomic.LoadUint32(&h.node.status); got != want {
		t.Fatalf("status of node %d is %d, want %d", h.id, got, want)
	}
}

func TestAbandoned(t *testing.T) {
	l, _, b, _ := abortSetup(t)
	if b.TryLock() || b.LockFor(0) {
		t.Error("acquired a held lock from an abandoned node")
	}
	checkStatus(t, b, nodeAbandoned)
	if got := l.Waiters(); got != 0 {
		t.Errorf("%d waiters, want 0", got)
	}
}

func TestResumedBeforeLaterWaiter(t *testing.T) {
	l, a, b, c := abortSetup(t)
	order := make(chan string, 2)
	enter := func(name string, h *abortHandle) {
		h.Lock()
		order <- name
		h.Unlock()
	}
	go enter("c", c)
	until(func() bool { return l.Waiters() == 1 })
	go enter("b", b)
	until(func() bool { return l.Waiters() == 2 })
	a.Unlock()
	if first, second := <-order, <-order; first != "b" || second != "c" {
		t.Errorf("order %s, %s, want b (resumed) before c", first, second)
	}
}

func TestRemovedAtTail(t *testing.T) {
	l, a, b, _ := abortSetup(t)
	a.Unlock()
	checkStatus(t, b, nodeFree)
	if l.tail != 0 {
		t.Fatalf("tail %d after the last Unlock, want 0", l.tail)
	}
	if !b.TryLock() {
		t.Error("TryLock failed on a free lock after removal")
	}
}

func TestRemovedBeforeWaiter(t *testing.T) {
	l, a, b, c := abortSetup(t)
	done := make(chan struct{})
	go func() { c.Lock(); close(done) }()
	until(func() bool { return l.Waiters() == 1 })
	a.Unlock()
	<-done
	checkStatus(t, b, nodeFree)
	if b.node.next != 0 {
		t.Errorf("removed node has next %d, want 0", b.node.next)
	}
	if b.LockFor(time.Nanosecond) {
		t.Fatal("acquired a held lock")
	}
	if l.tail != b.id {
		t.Errorf("tail %d, want %d: b queued afresh", l.tail, b.id)
	}
}

// A worker that returns while the releaser still uses its node has to wait,
// and may run out of time again.
func TestRemovalUnderWay(t *testing.T) {
	l := newAbort(1)
	h := l.NewHandle(&lock.Worker{}).(*abortHandle)
	h.left = true
	h.node.status = nodeRemoved
	if h.TryLock() || h.LockFor(time.Nanosecond) {
		t.Fatal("acquired with a node that is being removed")
	}
	checkStatus(t, h, nodeRemoved)
	done := make(chan struct{})
	go func() { h.Lock(); close(done) }()
	atomic.StoreUint32(&h.node.status, nodeFree)
	<-done
	h.Unlock()
}

// until returns when cond holds; the test's own time-out ends a wait in vain.
func until(cond func() bool) {
	for !cond() {
		runtime.Gosched()
	}
}
