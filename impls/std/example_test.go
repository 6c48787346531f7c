package std_test

import (
	"fmt"
	"log"
	"sync"

	"lockbench/impls/std"
	"lockbench/lock"
)

// Every lock of the package protects a counter, except null, whose place at
// the front of the list is skipped.
func Example() {
	const workers, rounds = 2, 1000
	for _, info := range std.Infos()[1:] {
		l, err := info.New(workers)
		if err != nil {
			log.Fatal(err)
		}
		var handles []lock.Handle
		for id := range workers {
			handles = append(handles, l.NewHandle(&lock.Worker{ID: id}))
		}
		counter := 0
		var wg sync.WaitGroup
		for _, h := range handles {
			wg.Go(func() {
				for range rounds {
					h.Lock()
					counter++
					h.Unlock()
				}
			})
		}
		wg.Wait()
		fmt.Println(info.Name, counter)
	}
	// Output:
	// mutex 2000
	// rwmutex 2000
	// chan 2000
	// semaphore 2000
	// cond 2000
}
