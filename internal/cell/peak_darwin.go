package cell

import "golang.org/x/sys/unix"

// peakRSS returns the process's largest resident set so far, in bytes.
func peakRSS() int64 {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Maxrss // bytes on this platform
}
