//go:build !linux

package inproc

// thread is not known here: the locks that are bound to threads are of Linux alone.
func thread() (tid int, first bool) { return 0, false }

// threadGone cannot be known here.
func threadGone(int) bool { return false }
