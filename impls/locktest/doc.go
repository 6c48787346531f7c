// Package locktest is the conformance suite that every in-process lock of
// this project passes, that every planted bug of impls/broken fails, and that
// a lock of your own can be put through with one line:
//
//	func TestConformance(t *testing.T) { locktest.Run(t, mylock.Info()) }
//
// [Run] makes each check a subtest; [Check] returns the failures instead, for
// tests that expect them.
//
//	info       the catalogue line is valid, its claims go together
//	progress   nobody waits forever: no lost wake-up, no deadlock, a stop drains
//	exclusion  one holder at a time, and memory written inside is seen by the next
//	trylock    takes a free lock, fails on a held one, a failure changes nothing
//	timed      LockFor likewise; who gave up is not queued and blocks nobody
//	context    LockContext likewise; the error is the context's
//	fifo       staged arrivals are granted in their order (locks that claim it)
//	rw         readers together, writers alone, neither stuck behind the other
//	many       several locks shared by the same workers, also nested
//	loops      the generated loops count right, stop, and read no clock
//	alloc      an uncontended acquisition does not allocate
//
// # What it can and cannot see
//
// Exclusion and progress are tested, not proved: a stress sees the
// interleavings that the machine at hand produced in some tens of
// milliseconds. It judges with an owner word and a plain counter inside the
// critical section, and under -race, with the race detector as a second
// oracle: the guarded words are plain variables, so that a lock which excludes
// but does not order memory is reported too. The staged checks are exact in
// what they stage. Whatever must not have happened yet (a second holder, a
// grant to the wrong worker) is looked for at the moment when it would show.
// No check asserts a time. The one clock is the guard: a check in which no
// worker finished an operation for so long has hung. That says "stuck",
// never "slow".
//
// Starvation, barging and collapse under oversubscription are traits of
// correct locks: the suite neither reports them nor needs them absent. Its
// loops end by time as well as by count, so that a pure spin lock with more
// workers than processors passes in reasonable time.
//
// # How a check runs
//
// Each worker is a goroutine that owns its handles for its lifetime, locked
// to its thread if the lock is ThreadBound; a check hands it one function at
// a time and may wait, or go on and see whether it has returned. All workers
// draw from the seed, which every failure prints. The seed fixes what the
// workers do, not how the scheduler interleaves them.
//
// After a hang the remaining checks are not run: the stuck workers cannot be
// stopped from outside and would disturb them.
package locktest
