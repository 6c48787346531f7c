package hemlock

import (
	"runtime"
	"testing"

	"lockbench/lock"
)

// A worker that holds two locks with a waiter each has one Grant for both.
func TestTwoLocksShareGrant(t *testing.T) {
	w := []*lock.Worker{{ID: 0}, {ID: 1}, {ID: 2}}
	locks := []*hemlock{newHemlock(3), newHemlock(3)}
	if locks[0].id == locks[1].id || locks[0].id == 0 {
		t.Fatalf("lock ids %d and %d, want different ones, not 0", locks[0].id, locks[1].id)
	}
	var holder []lock.Handle
	done := make(chan int)
	for i, l := range locks {
		h := l.NewHandle(w[0])
		waiter := l.NewHandle(w[i+1])
		h.Lock()
		holder = append(holder, h)
		go func() {
			waiter.Lock()
			done <- i
			waiter.Unlock()
		}()
		for l.Waiters() != 1 {
			runtime.Gosched()
		}
	}
	for _, i := range []int{1, 0} {
		holder[i].Unlock()
		if got := <-done; got != i {
			t.Errorf("unlocking lock %d let in the waiter of lock %d", i, got)
		}
		if g := w[0].Grant.Load(); g != 0 {
			t.Errorf("Grant is %d after Unlock, want 0", g)
		}
	}
}
