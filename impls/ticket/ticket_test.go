package ticket

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"lockbench/lock"
)

// starts are first tickets from which a few acquisitions pass the wrap of the
// 32-bit counters.
var starts = []uint32{0, 1, math.MaxUint32 - 3, math.MaxUint32}

func locks(workers int, start uint32) map[string]lock.Lock {
	return map[string]lock.Lock{
		"ticket":         newTicketAt(start),
		"ticket-backoff": newBackoffAt(start),
		"ticket-yield":   newYieldAt(start),
		"ticket-park":    newParkAt(workers, start),
	}
}

func TestWrap(t *testing.T) {
	const workers, rounds = 3, 20
	for _, start := range starts {
		for name, l := range locks(workers, start) {
			t.Run(fmt.Sprintf("%s/%d", name, start), func(t *testing.T) {
				n := 0
				var wg sync.WaitGroup
				for id := range workers {
					h := l.NewHandle(&lock.Worker{ID: id})
					wg.Go(func() {
						for range rounds {
							h.Lock()
							n++
							h.Unlock()
						}
					})
				}
				wg.Wait()
				if n != workers*rounds {
					t.Errorf("start %d: counted %d, want %d", start, n, workers*rounds)
				}
			})
		}
	}
}

func TestTryLockAndWaitersAcrossWrap(t *testing.T) {
	for _, start := range starts {
		for name, l := range locks(2, start) {
			a, b := l.NewHandle(&lock.Worker{ID: 0}), l.NewHandle(&lock.Worker{ID: 1})
			for round := range 6 {
				if got := l.(lock.Waiter).Waiters(); got != 0 {
					t.Fatalf("%s from %d, round %d, free: %d waiters, want 0", name, start, round, got)
				}
				if !a.(lock.TryLocker).TryLock() {
					t.Fatalf("%s from %d, round %d: TryLock of the free lock failed", name, start, round)
				}
				if b.(lock.TryLocker).TryLock() {
					t.Fatalf("%s from %d, round %d: TryLock of the held lock succeeded", name, start, round)
				}
				done := make(chan struct{})
				go func() { b.Lock(); close(done) }()
				until(func() bool { return l.(lock.Waiter).Waiters() == 1 })
				a.Unlock()
				<-done
				b.Unlock()
			}
		}
	}
}

func TestParkWakesSleeper(t *testing.T) {
	l := newPark(2)
	a, b := l.NewHandle(&lock.Worker{ID: 0}), l.NewHandle(&lock.Worker{ID: 1})
	a.Lock() // ticket 0
	done := make(chan struct{})
	go func() { b.Lock(); close(done) }() // ticket 1
	s := &l.slots[1]
	until(func() bool { return s.state.Load() == parked })

	// A stale wake-up, as from a releaser of an earlier round.
	if !s.state.CompareAndSwap(parked, empty) {
		t.Fatal("the sleeper left without a wake-up")
	}
	s.token <- struct{}{}
	until(func() bool { return s.state.Load() == parked })
	select {
	case <-done:
		t.Fatal("a stale wake-up acquired the lock")
	default:
	}

	a.Unlock()
	<-done
	if s.state.Load() != empty || len(s.token) != 0 {
		t.Errorf("after the wake-up: state %d, %d tokens, want %d, 0", s.state.Load(), len(s.token), empty)
	}
	b.Unlock()
}

// until returns when cond holds; the test's own time-out ends a wait in vain.
func until(cond func() bool) {
	for !cond() {
		runtime.Gosched()
	}
}
