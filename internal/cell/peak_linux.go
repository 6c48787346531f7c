package cell

import (
	"os"
	"strconv"
	"strings"
)

// peakRSS returns the process's largest resident set so far, in bytes, 0 if
// the kernel does not say. It is VmHWM and not ru_maxrss: the latter begins, in a child started by vfork, with
// the parent's size.
func peakRSS() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	if !ok {
		return 0
	}
	f := strings.Fields(rest)
	if len(f) < 2 || f[1] != "kB" {
		return 0
	}
	kb, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return 0
	}
	return kb * 1024
}
