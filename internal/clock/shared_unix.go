//go:build unix

package clock

import (
	"math"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"lockbench/lock/loop"
)

// Shared returns nanoseconds on the machine's monotonic clock, which has the
// same zero for all processes of a boot: what go(t) of the cell protocol means.
//
// On Linux Go's own monotonic reading is of that clock, from another zero, and is made without a
// system call: 30 ns against 200. Shared adds the distance, which is found once and is right to the
// length of a system call; readings of one process never disagree by it.
func Shared() int64 {
	if runtime.GOOS == "linux" {
		return loop.Monotonic() + distance()
	}
	return system()
}

// distance is that of the zero of CLOCK_MONOTONIC from the zero of Go's readings: of several tries,
// the one whose readings are closest together.
var distance = sync.OnceValue(func() int64 {
	best, d := int64(math.MaxInt64), int64(0)
	for range 20 {
		a := loop.Monotonic()
		s := system()
		b := loop.Monotonic()
		if b-a < best {
			best, d = b-a, s-a-(b-a)/2
		}
	}
	return d
})

func system() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// Only for a clock id that does not exist.
		panic("clock: CLOCK_MONOTONIC: " + err.Error())
	}
	return ts.Nano()
}
