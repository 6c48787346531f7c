package array

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"lockbench/lock"
)

// starts are first tickets from which a few acquisitions pass the wrap of the
// 32-bit counter.
var starts = []uint32{0, 1, math.MaxUint32 - 3, math.MaxUint32}

func locks(workers int, start uint32) map[string]lock.Lock {
	return map[string]lock.Lock{
		"anderson":       newAndersonAt(workers, start),
		"anderson-yield": newYieldAt(workers, start),
		"anderson-park":  newParkAt(workers, start),
	}
}

func TestWrap(t *testing.T) {
	const rounds = 20
	for _, workers := range []int{1, 2, 3, 4} {
		for _, start := range starts {
			for name, l := range locks(workers, start) {
				t.Run(fmt.Sprintf("%s/%d/%d", name, workers, start), func(t *testing.T) {
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
						t.Errorf("%d workers from %d: counted %d, want %d", workers, start, n, workers*rounds)
					}
				})
			}
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

func TestSlotCount(t *testing.T) {
	for workers, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 1000: 1024} {
		if got := slotCount(workers); got != want {
			t.Errorf("slotCount(%d) = %d, want %d", workers, got, want)
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
	until(func() bool { return s.word.Load() >= asleep })
	if got := l.Waiters(); got != 1 {
		t.Errorf("with a sleeper: %d waiters, want 1", got)
	}
	a.Unlock()
	<-done
	if got := s.word.Load(); got != 1 || len(s.token) != 0 {
		t.Errorf("after the wake-up: word %#x, %d tokens, want 0x1, 0", got, len(s.token))
	}
	b.Unlock()
}

// until returns when cond holds; the test's own time-out ends a wait in vain.
func until(cond func() bool) {
	for !cond() {
		runtime.Gosched()
	}
}
