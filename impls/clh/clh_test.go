package clh

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/lock"
)

func TestParkWakesSleeper(t *testing.T) {
	l := newPark(2)
	a, b := l.NewHandle(&lock.Worker{ID: 0}).(*parkHandle), l.NewHandle(&lock.Worker{ID: 1})
	a.Lock()
	done := make(chan struct{})
	go func() { b.Lock(); close(done) }()
	n := &l.nodes[a.own]
	until(func() bool { return atomic.LoadUint32(&n.state) == asleep })
	a.Unlock()
	<-done
	if n.state != released || len(n.token) != 0 {
		t.Errorf("after the wake-up: state %d, %d tokens, want %d, 0", n.state, len(n.token), released)
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
	checkWord(t, b, wordAbandoned+a.own)
	return l, a, b, c
}

func checkWord(t *testing.T, h *abortHandle, want uint32) {
	t.Helper()
	if got := atomic.LoadUint32(&h.nodes[h.own].word); got != want {
		t.Fatalf("word of node %d is %d, want %d", h.own, got, want)
	}
}

func TestAbandonedAgainAtOnce(t *testing.T) {
	l, a, b, _ := abortSetup(t)
	if b.LockFor(0) {
		t.Fatal("acquired a held lock")
	}
	checkWord(t, b, wordAbandoned+a.own)
	if l.tail != b.own {
		t.Errorf("tail %d, want %d: b kept its place", l.tail, b.own)
	}
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
	go enter("b", b)
	until(func() bool { return l.Waiters() == 1 })
	checkWord(t, b, wordHeld)
	go enter("c", c)
	until(func() bool { return l.Waiters() == 2 })
	a.Unlock()
	if first, second := <-order, <-order; first != "b" || second != "c" {
		t.Errorf("order %s, %s, want b (resumed) before c", first, second)
	}
}

func TestPassedBySuccessor(t *testing.T) {
	l, a, b, c := abortSetup(t)
	if c.LockFor(0) { // looks once: passes b, gives up at a
		t.Fatal("acquired a held lock")
	}
	checkWord(t, b, wordFree)
	checkWord(t, c, wordAbandoned+a.own)
	if b.LockFor(0) { // queues afresh behind c, passes it
		t.Fatal("acquired a held lock")
	}
	checkWord(t, c, wordFree)
	checkWord(t, b, wordAbandoned+a.own)
	if l.tail != b.own {
		t.Errorf("tail %d, want %d", l.tail, b.own)
	}
	a.Unlock()
	if !c.LockFor(0) { // behind b, passes it, finds a's node released
		t.Fatal("did not acquire a free lock")
	}
	checkConserved(t, l)
}

// Whatever happens, workers+1 nodes are there: one a worker and the lock's.
func TestNodesAreConserved(t *testing.T) {
	const workers, rounds = 4, 300
	l := newAbort(workers)
	var wg sync.WaitGroup
	for id := range workers {
		h := l.NewHandle(&lock.Worker{ID: id}).(*abortHandle)
		rng := rand.New(rand.NewPCG(1, uint64(id)))
		wg.Go(func() {
			for range rounds {
				if h.LockFor(time.Duration(rng.IntN(2000))) {
					if rng.IntN(4) == 0 {
						runtime.Gosched()
					}
					h.Unlock()
				}
			}
		})
	}
	wg.Wait()
	checkConserved(t, l)
	for _, h := range l.handles { // the lock is still of use
		h.Lock()
		h.Unlock()
	}
	checkConserved(t, l)
}

// checkConserved fails unless every worker has a node of its own and the chain
// from tail ends in the node that none of them has.
func checkConserved(t *testing.T, l *abortLock) {
	t.Helper()
	owner := make(map[uint32]int)
	for i, h := range l.handles {
		if j, ok := owner[h.own]; ok {
			t.Fatalf("workers %d and %d both own node %d", j, i, h.own)
		}
		owner[h.own] = i
	}
	at := l.tail
	for steps := 0; l.nodes[at].word >= wordAbandoned; steps++ {
		if steps > len(l.nodes) {
			t.Fatal("abandoned nodes form a circle")
		}
		at = l.nodes[at].word - wordAbandoned
	}
	if l.nodes[at].word == wordReleased {
		if i, ok := owner[at]; ok {
			t.Fatalf("the free lock's node %d belongs to worker %d", at, i)
		}
	}
}

// until returns when cond holds; the test's own time-out ends a wait in vain.
func until(cond func() bool) {
	for !cond() {
		runtime.Gosched()
	}
}
