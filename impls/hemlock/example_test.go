package hemlock_test

import (
	"fmt"
	"sync"

	"lockbench/impls/hemlock"
	"lockbench/lock"
)

// Two workers count to two thousand under each lock of the package. All
// handles are made before the first is used.
func Example() {
	for _, info := range hemlock.Infos() {
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
	// hemlock: 2000
}
