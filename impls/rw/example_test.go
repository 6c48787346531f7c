package rw_test

import (
	"fmt"
	"log"

	"lockbench/impls/rw"
	"lockbench/lock"
)

// Two workers read at the same time: each has its own handle.
func Example() {
	l, err := rw.Infos()[0].New(2)
	if err != nil {
		log.Fatal(err)
	}
	one := l.NewHandle(&lock.Worker{ID: 0}).(lock.RWHandle)
	two := l.NewHandle(&lock.Worker{ID: 1}).(lock.RWHandle)
	one.RLock()
	two.RLock()
	fmt.Println("both read")
	two.RUnlock()
	one.RUnlock()
	// Output: both read
}
