// Package leasertest is the conformance suite that every distributed lock of this
// project passes:
//
//	func TestConformance(t *testing.T) {
//		leasertest.Run(t, info, func(t *testing.T) lock.Target { return backendtest.Target(t, "redis") })
//	}
//
// [Run] makes each check a subtest; [Check] returns the failures instead, for
// tests that expect them.
//
//	info        the catalogue line is valid
//	acquire     acquire, release, release again, acquire again; token and deadline as claimed
//	try         takes a free lock, is refused a held one, also by its own client
//	keys        two keys are two locks
//	exclusion   several clients and workers: one holder at a time
//	timeout     who gave up returns, and leaves nothing behind
//	cancel      likewise, and for a context that has ended before
//	successor   the release of a lost lease does not free its successor
//	renewal     a lease that is renewed outlives its TTL (locks that claim it)
//	tokens      strictly growing, by all clients, also after a loss (locks that claim it)
//	reentrant   per owner, counted, same token (locks that claim it)
//	fifo        staged arrivals are granted in their order (locks that claim it)
//	guarded     the value is the sum of the acknowledged writes (leases with Apply)
//	optimistic  likewise, for clients without a lock
//	meter       requests, round trips and attempts are counted
//	close       ends what is under way, and lets the next one in
//	process     several client processes exclude each other; one that is killed is survived
//
// # Processes
//
// The client processes are the test binary, started again with -test.run for the
// very test that called Run; there, Run does what the parent says. So code before Run in
// that test must be cheap: servers are started in the function target, which the
// parent alone calls. Exclusion is judged in a file that all processes map (one owner word a
// key): a process that is killed cannot take its claim back by itself, and the parent does it before it kills.
//
// # Time
//
// No check asserts how long something took. Guards of many seconds say "stuck". What can
// only be seen when time passes (a renewed lease outlives its TTL) is tried again with a
// longer TTL before it counts as a failure: a machine may stand still for a second.
package leasertest
