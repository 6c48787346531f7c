package cell

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// With one worker nobody can be caught inside, and a lock that does nothing
// would pass as a very fast one. The child therefore stages a meeting first, on
// an instance of its own: while one handle holds the lock, another must not get
// it.
//
//	holder   Lock ............. looks: is the other inside? Unlock
//	other          trying, Lock ......................... inside, Unlock
//
// Seeing the other inside is proof: the holder has not released. Not seeing it
// is none, as the other may have lost its processor between trying and Lock;
// every repetition has another look.
const (
	stagedLooks  = 3
	stagedPauses = 100 // a look: some microseconds, in which an open lock is passed
)

// excludes stages the meeting and reports whether the other stayed outside.
//
// On one processor of the runtime the other would spin until the runtime takes
// it away, which takes seconds: a pause instruction is no point to preempt at, and
// a waiter is nearly always at one. For the meeting there are two, which the
// system shares out.
func excludes(info lock.Info) (bool, error) {
	if runtime.GOMAXPROCS(0) == 1 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	l, err := info.New(2)
	if err != nil {
		return false, fmt.Errorf("make lock %s for 2 workers: %w", info.Name, err)
	}
	holder, other := l.NewHandle(&lock.Worker{ID: 0}), l.NewHandle(&lock.Worker{ID: 1})
	bind := func() {
		if info.ThreadBound {
			runtime.LockOSThread() // ends with the goroutine
		}
	}
	var trying, inside atomic.Bool
	left, outside := make(chan struct{}), make(chan bool)
	go func() {
		bind()
		holder.Lock()
		go func() {
			defer close(left)
			bind()
			trying.Store(true)
			other.Lock()
			inside.Store(true)
			other.Unlock()
		}()
		for !trying.Load() {
			runtime.Gosched()
		}
		for range stagedLooks {
			for n := 0; n < stagedPauses && !inside.Load(); n++ {
				arch.Pause()
			}
			runtime.Gosched()
		}
		stayed := !inside.Load()
		holder.Unlock()
		<-left
		outside <- stayed
	}()
	return <-outside, nil
}
