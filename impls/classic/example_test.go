package classic_test

import (
	"fmt"
	"log"
	"sync"

	"lockbench/impls/classic"
	"lockbench/lock"
)

// Two workers count together under each of the locks.
func Example() {
	const workers, rounds = 2, 1000
	for _, info := range classic.Infos() {
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
	// dekker 2000
	// peterson 2000
	// filter 2000
	// tournament 2000
	// bakery 2000
}
