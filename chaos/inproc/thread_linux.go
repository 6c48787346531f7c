package inproc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// thread returns the kernel's number of the calling thread, and whether it is the process's first one.
// The Go runtime ends a thread with the goroutine that is locked to it, but never the first: that one is put to
// sleep for good (runtime/proc.go, mexit), and the kernel would not notice that an owner has gone.
func thread() (tid int, first bool) {
	tid = unix.Gettid()
	return tid, tid == unix.Getpid()
}

// threadGone reports whether the process has no thread of that number any more.
func threadGone(tid int) bool {
	_, err := os.Stat("/proc/self/task/" + strconv.Itoa(tid))
	return os.IsNotExist(err)
}
