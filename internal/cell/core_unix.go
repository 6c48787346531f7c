//go:build unix

package cell

import "golang.org/x/sys/unix"

// noCoreFiles keeps a child that is killed for its goroutine dump from leaving
// a core file: GOTRACEBACK=crash ends in SIGABRT. A failure only means a file.
func noCoreFiles() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
