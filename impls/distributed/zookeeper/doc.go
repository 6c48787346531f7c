// Package zookeeper is the lock of ZooKeeper's recipes: a queue of
// ephemeral, sequential nodes below /Prefix+key, of which the first holds the lock.
//
// # Protocol
//
//	create /key/<id>-  (ephemeral, sequential)      a write of the quorum
//	getChildren /key   (no watch)                   sent right behind it: 1 round trip for both
//	  own node is missing          -> not acquired
//	  nobody is before it          -> held; token = pzxid of /key
//	  else getData of the predecessor, with a watch; wait for its end, list again
//	delete /key/<id>-<sequence>                     1 round trip, a write of the quorum
//
// The id is 128 random bits, new for each acquisition. When the reply to a create is lost,
// the node is found by it (after a sync, so that a server that lags behind
// does not hide it), instead of blocking its own client until the session ends.
// Its predecessor alone is watched: one release wakes one waiter. getData is used, not
// exists, which would leave a watch behind on a node that is gone already.
// A node is deleted on each way out: by the goroutine that cannot know whether its request
// has arrived, again and again, until it is gone or the session is.
//
// Sequences are int32, counted by the parent, and wrap: nodes are compared by the
// difference, which is right while less than 2^31 acquisitions wait.
//
// # Sessions
//
// A client has one connection and one session, for all its workers; ZooKeeper answers the
// requests of a connection in order and go-zookeeper sends without waiting. The
// session's timeout T is Target.TTL as the server has bounded it (2 to 20 ticks
// unless configured otherwise); AcquireOptions.TTL and Renew change nothing: there is
// no lease without its session, and the library pings as long as it lives.
// When a session has ended, its leases are lost, its waiters fail at once, and
// the next acquisition opens another.
//
// ZooKeeper tells a client that its session has ended only when it is connected again.
// Until then the client must know by its own clock. The library's pings do not tell
// when the last was answered, and answers to reads prove little: a follower that is cut
// off from its leader gives them for some ticks more, while the leader
// counts the session out. So a heartbeat is a transaction that changes nothing (a multi of one
// check), which only a leader with a quorum answers. It does not extend the session
// either: the leader learns of a session's signs of life from its followers, with
// the pings that it sends them twice a tick. But a heartbeat that was answered
// proves that what the same connection sent half a tick before has arrived. Hence:
//
//	deadline = T after the previous answered heartbeat was sent, once the next is answered
//
// with a heartbeat each T/4, so that the deadline is between T/2 and 3T/4 away. Half a tick is less than
// the spacing from 2.5 ticks on, and a server rounds ends of sessions up to
// its next tick; a T of exactly two ticks, the least there is, relies on that rounding.
// After two heartbeats without an answer the connection is closed, so that a server
// that is paused costs half of T and not the two thirds after which the library looks.
//
// # Guarantees
//
//   - Exclusion while holders heed Lost and ValidUntil; with the fence or the guarded write, without that.
//   - FIFO, by the order in which creates reach the leader.
//   - Token: pzxid of the key's node, as the listing shows it that grants the lock: the zxid of the latest
//     change to the queue. It grows with each grant, because between two there is the end of
//     the first's node: the second's listing has seen it, the first's has not. It costs no round trip;
//     the czxid of the own node, an equal choice, would cost one.
//     Like all that is ZooKeeper's it is lost with the data of the quorum.
//   - Apply is a multi of a check that the own node exists and a set, on condition of its version, of
//     the value that is kept in the key's own node. Sequences make an own node that still
//     exists the first, so the check proves holding. The value carries the name of
//     its writer, by which a write whose reply was lost is recognised and not done twice.
//   - A release deletes a node whose name no other acquisition ever has.
//
// # Limits
//
// The driver is none of lease.Inline: the library's requests know no context and return with
// their replies only, so that each needs a goroutine that can be left alone, the kit's or
// one more here.
//
// Parents are persistent nodes that stay, since nobody may know that no other client is
// about to use them; TTL and container nodes are not assumed. Names cannot have
// what ZooKeeper refuses in paths. A server whose listing exceeds jute.maxbuffer (1 MB,
// some 20000 waiters on one key) closes the connection. Waiting in a queue of another
// recipe under the same path is not possible: names differ.
//
// Sources: "ZooKeeper Recipes and Solutions" (Locks, Recoverable Errors and the GUID),
// "ZooKeeper Programmer's Guide" (Sessions, Watches, Sequence Nodes, Consistency
// Guarantees), zookeeper.apache.org/doc/r3.8.4; P. Hunt, M. Konar, F. P. Junqueira, B. Reed, "ZooKeeper:
// Wait-free coordination for Internet-scale systems", USENIX ATC 2010; Apache Curator's
// InterProcessMutex for guaranteed deletes and getData watches (ideas only).
package zookeeper
