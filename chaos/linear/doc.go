// Package linear asks whether what the clients of a round saw can be told as a story in which one thing
// happens after the other: whether the history is linearizable. The checker is Porcupine
// (github.com/anishathalye/porcupine), after Wing and Gong, "Testing and verifying concurrent objects",
// 1993, and Lowe, "Testing for linearizability", 2017. The models are here.
//
// [Lock] knows a lock:
//
//	free --acquire: a token larger than all before--> held by the lease
//	held --release: by that lease, which was told so--> free
//	held --the lease may be over: its TTL, its session, a release whose outcome nobody knows--> free
//
// [Register] knows the store that checks fencing tokens: what has a token lower than the largest that it has
// seen is refused, all else is taken.
//
// A history is of one key in one round. Stamps are of one clock for all who call (clock.Shared); an
// operation takes effect at one moment between its call and its return.
//
// # What may have happened, and may not have
//
// The textbook way to say "the lease expires at some time, or never" is an operation that is called then, never
// returns, and does nothing to a lock that the lease does not hold. A checker can put such an operation
// anywhere; where the history is wrong it tries all the ways to place all of them, which are 2^n for n leases. Here a
// lease has one number instead, the earliest moment at which it may be over, and the acquisition that
// follows it must be able to come after that. It decides the same (a test compares the two), without the
// choices. An acquisition of which nobody knows whether it was granted is left out unless a later success shows that
// it was: what holds the lock forbids, and permits nothing.
package linear
