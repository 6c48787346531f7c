// Package zkrecipe runs Lock of github.com/go-zookeeper/zk (v1.0.4): a queue of
// ephemeral sequential nodes.
//
// Each acquisition has a zk.Lock of its own, all on one connection and session of the
// process; the TTL is that session's, of the target. Nothing is added to the library:
//   - Lock knows no context. A caller that leaves does so at once, its node stays in the
//     queue, and the lock is given back when its turn comes.
//   - There is no single attempt: with AcquireOptions.Try, Acquire fails with
//     errors.ErrUnsupported.
//   - A node that the library has lost sight of (an error after it was made, a deletion
//     without an answer) stays for as long as the session.
//   - Lock does not look whether its own node is among the children: after the session has
//     expired meanwhile it may lock without one.
//
// A lease is lost when the library tells that the session which it had when Lock returned
// has expired. That is known after a reconnect only; it tells no deadline. The library
// returns no fencing token: czxid and path are not to be had from a zk.Lock.
//
// Requests are counted on the connection, pings and the greeting included. The library
// passes no context on, so a request is put down to an acquisition by its path and by what
// the recipe does next: that is exact for the sum of a process and key, and for each
// operation unless several workers of a process wait for one key at a time; then requests
// that they send at the same time may be exchanged between them.
package zkrecipe
