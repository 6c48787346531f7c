//go:build unix

package clock

import "golang.org/x/sys/unix"

// Shared returns nanoseconds on the machine's monotonic clock, which has the
// same zero for all processes of a boot: what go(t) of the cell protocol means.
func Shared() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// Only for a clock id that does not exist.
		panic("clock: CLOCK_MONOTONIC: " + err.Error())
	}
	return ts.Nano()
}
