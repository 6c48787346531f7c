// Package inproc is the faults of in-process locks: what happens to a lock, and to those who wait for
// it, when its holder's goroutine ends, panics or sleeps inside of the section.
//
// No in-process lock knows that its holder is gone. Most leave their waiters waiting for ever, which
// is safe and useless; what a user wants to know is who waits, who can leave, and who gets in, and when.
//
// # A round
//
//	holder:  Lock, claims ---- stands at the point ------- fault ----> ends | panics | sleeps, then gives back
//	waiters:                   Lock, LockFor, LockContext .......................... granted | left | waits
//	last:                      TryLock                                               TryLock, or Lock
//
// The waiters are one that has come with Lock, one with LockFor and one with LockContext where the lock
// has them, and as many more with Lock as make two. They are seen to wait before the fault comes: by the
// lock's own count (lock.Waiter), or by the goroutine dump, which shows them inside of the method. Last
// comes a worker that tries while the lock is held, tries again when nobody else gets in, and takes the lock
// when all others have been in, so that a lock that is left broken shows.
//
// An owner word and the stamps of all claims watch exclusion. A claim ends when its goroutine leaves the section
// in whatever way: who gets in after that has met nobody. That the fault was felt is shown by
// what the lock has no part in: the goroutine dump, the list of threads, the recovered value.
//
// # Processes
//
// Spinning waiters of a lock that nobody gives back can only be ended with their process. So rounds run in a
// child, which the parent kills at the first round whose waiters do not come back; the next child
// goes on with the next round:
//
//	started --setup--> in a round --round: all came back--> in a round ... --last round--> ended
//	                       | round: some wait for ever           | silence, end of the context
//	                       v                                     v
//	                    killed                                killed
//
// The child ends by itself when its standard input does.
package inproc
