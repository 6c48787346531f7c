// Package futex has locks whose waiters sleep in the Linux kernel, in a futex:
// one word in user space and a queue in the kernel that is looked up by the
// word's address (H. Franke, R. Russell and M. Kirkwood, "Fuss, Futexes and
// Furwocks: Fast Userlevel Locking in Linux", Ottawa Linux Symposium 2002).
//
//	futex     Drepper's three-state mutex, FUTEX_WAIT and FUTEX_WAKE
//	futex-pi  priority inheritance, FUTEX_LOCK_PI and FUTEX_UNLOCK_PI
//
// Neither is claimed to be FIFO: both let a newcomer take a free lock before a
// waiter that has been woken. Neither allocates. Elsewhere than on Linux both
// are listed as unavailable.
//
// # Blocking in the kernel
//
// A waiter blocks its operating system thread, not just its goroutine. The
// calls go through syscall.Syscall6, which tells Go's scheduler, so that
// another thread can take over the waiter's P. That handover is what sets
// these locks apart from the -park locks, whose waiters cost a goroutine
// switch.
//
// The futexes are private to the process, which spares the kernel the look-up
// of a shared mapping. Their word is part of a heap object. Go's heap objects
// do not move, so that the address stays the queue's name.
package futex

//go:generate go run lockbench/cmd/lockloop -type futexHandle,piHandle
