package broken_test

import (
	"fmt"

	"lockbench/impls/broken"
)

// The broken locks are asked for by name; no default list has them.
func Example() {
	for _, info := range broken.Infos() {
		fmt.Println(info.Name)
	}
	// Output:
	// broken-noop
	// broken-lost-wakeup
	// broken-two
}
