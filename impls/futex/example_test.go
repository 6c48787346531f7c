//go:build linux

package futex_test

import (
	"fmt"
	"runtime"
	"sync"

	"lockbench/impls/futex"
	"lockbench/lock"
)

// Two workers count to two thousand under each lock of the package. A worker
// of a thread-bound lock keeps its goroutine on one thread.
func Example() {
	for _, info := range futex.Infos() {
		l, err := info.New(2)
		if err != nil {
			fmt.Println(info.Name, err)
			continue
		}
		handles := []lock.Handle{l.NewHandle(&lock.Worker{ID: 0}), l.NewHandle(&lock.Worker{ID: 1})}
		var (
			n  int
			wg sync.WaitGroup
		)
		for _, h := range handles {
			wg.Go(func() {
				if info.ThreadBound {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
				}
				for range 1000 {
					h.Lock()
					n++
					h.Unlock()
				}
			})
		}
		wg.Wait()
		fmt.Printf("%s: %d\n", info.Name, n)
	}
	// Output:
	// futex: 2000
	// futex-pi: 2000
}
