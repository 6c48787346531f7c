//go:build race

package arch

import "runtime"

// Pause lets another goroutine run. A spin loop under the race detector spends
// nearly all its time in the detector's own code, where Go cannot preempt it;
// a waiter would keep the processor from the holder for seconds.
func Pause() { runtime.Gosched() }
