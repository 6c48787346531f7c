package broken

import (
	"testing"
	"time"

	"lockbench/lock"
)

// TestTwoAdmitsTwo is the reproduction of the report: one worker holds, and
// another, which must wait, gets in. It needs no timing, only enough attempts.
func TestTwoAdmitsTwo(t *testing.T) {
	l, err := newTwo(2)
	if err != nil {
		t.Fatal(err)
	}
	l.NewHandle(&lock.Worker{ID: 0}).Lock()
	l.NewHandle(&lock.Worker{ID: 1}).Lock()
}

// TestLostWakeupSleepsOnFree acts out the table of lostWakeupLock: the waiter
// has read "held" and is about to sleep on that when the holder leaves, comes
// back and leaves again. The lock is then free with a sleeper nobody wakes.
func TestLostWakeupSleepsOnFree(t *testing.T) {
	l := &lostWakeupLock{}
	holder := l.NewHandle(&lock.Worker{ID: 0})
	holder.Lock()
	found := l.word.Swap(awaited) // the waiter
	holder.Unlock()
	holder.Lock()
	asleep := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.sleepers)
	}
	go l.sleep(found) // the waiter
	for asleep() == 0 {
		time.Sleep(time.Millisecond)
	}
	holder.Unlock()
	if w, n := l.word.Load(), asleep(); w != free || n != 1 {
		t.Errorf("word = %d with %d sleepers, want the bug: %d with 1", w, n, free)
	}
	l.wakeOne() // for the goroutine to end
}
