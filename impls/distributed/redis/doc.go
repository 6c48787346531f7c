// Package redis has the locks on one Redis server, or on the primary of a group that
// Sentinel watches.
//
// A lock is a key with an expiry. Its value is a random token of the acquisition, so
// that a holder whose lease has ended cannot delete or extend its successor's lock: both
// are scripts that compare the token first. redis-naive leaves the token out, and shows what
// comes of it.
//
//	redis          SET NX PX; polls
//	redis-pubsub   is woken by a message of the release
//	redis-fair     queues on the server
//	redis-naive    one value for all, plain DEL
//
// What is guaranteed, as long as the server keeps its data and its clock runs evenly: at
// any time one token at most is in the key. What is not:
//
//   - A holder does not notice that its lease ends while it is stopped (a pause of the
//     process, a page fault, the network). It may then write beside its successor. The holder's own
//     deadline (ValidUntil) counts from when its request was sent, so that a holder who asks
//     in time knows; only a fencing token that the store checks is safe against
//     one who does not. See M. Kleppmann, "How to do distributed locking", 2016.
//   - A server that loses the key loses the lock: restarted without an append-only file, or
//     replaced by a replica that has not got the key yet (replication is asynchronous). It loses
//     the fencing counter with it: later tokens may be smaller than earlier ones.
//   - An expiry is a stamp of the server's clock. If that is set forward, all leases end.
//
// The fencing token is a counter in a key of its own beside the lock (":fence"), which a
// new acquisition increments in the same script that takes the lock. It outlives the lock; so
// no key may have a name that is another's with such an ending. redis-fair's
// ":queue", ":seen" and ":tickets" expire by themselves.
//
// An acquisition whose reply does not come reads its own token back, and says
// lock.ErrUnknown if it is not there; what it may have left is deleted. See doubt.go.
//
// Sources: Redis documentation, "Distributed Locks with Redis" and "SET"; M. Kleppmann, "How to do
// distributed locking", 2016, https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html.
package redis
