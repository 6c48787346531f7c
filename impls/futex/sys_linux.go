package futex

import (
	"fmt"
	"syscall"
	"unsafe"
)

// unavailable says why this platform has no futexes.
const unavailable = ""

// Operations of futex(2), from linux/futex.h, each with FUTEX_PRIVATE_FLAG.
const (
	private    = 128
	opWait     = 0 | private
	opWake     = 1 | private
	opLockPI   = 6 | private
	opUnlockPI = 7 | private
)

// call makes the system call futex(word, op, val) without a time-out.
func call(word *uint32, op int, val uint32) syscall.Errno {
	_, _, errno := syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op), uintptr(val), 0, 0, 0)
	return errno
}

// wait sleeps as long as *word is val, and may return early: the caller looks
// again. EAGAIN says that *word was not val, EINTR that a signal came, which Go
// uses for preemption and which the kernel does not always hide.
func wait(word *uint32, val uint32) {
	switch errno := call(word, opWait, val); errno {
	case 0, syscall.EAGAIN, syscall.EINTR:
	default:
		panic(fmt.Sprintf("futex: FUTEX_WAIT: %v", errno))
	}
}

// wake wakes one thread that sleeps on word, if there is one.
func wake(word *uint32) {
	if errno := call(word, opWake, 1); errno != 0 {
		panic(fmt.Sprintf("futex: FUTEX_WAKE: %v", errno))
	}
}

// lockPI returns when the calling thread owns word. The kernel restarts the
// call after a signal by itself and returns EAGAIN when the owner is just
// exiting; both are simply tried again. What remains are programming errors,
// such as EDEADLK (the caller is the owner) and ESRCH (there is no thread of
// the owner's id), and ENOSYS on a kernel without CONFIG_FUTEX_PI.
func lockPI(word *uint32) {
	for {
		switch errno := call(word, opLockPI, 0); errno {
		case 0:
			return
		case syscall.EAGAIN, syscall.EINTR:
		default:
			panic(fmt.Sprintf("futex: FUTEX_LOCK_PI: %v", errno))
		}
	}
}

// unlockPI makes the kernel hand word to the first waiter. EPERM says that the
// calling thread is not the owner: its goroutine was not locked to it.
func unlockPI(word *uint32) {
	for {
		switch errno := call(word, opUnlockPI, 0); errno {
		case 0:
			return
		case syscall.EAGAIN, syscall.EINTR:
		default:
			panic(fmt.Sprintf("futex: FUTEX_UNLOCK_PI: %v", errno))
		}
	}
}

// threadID returns the kernel's id of the calling thread, > 0 and below 2^30.
func threadID() uint32 { return uint32(syscall.Gettid()) }
