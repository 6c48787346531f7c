// Package etcd is a lock of this project's own on etcd v3.
//
// # Protocol
//
// A client process has one session for each TTL: an etcd lease, made when it
// dials and renewed for as long as it lives. Every acquisition, of any worker, is
// one member of the lock's queue: a key that is attached to the session's lease,
//
//	<prefix><key>/<client>/<number>
//
// and the holder is the member with the lowest create revision. A key named by the lease
// alone, as in etcd's concurrency package, makes one owner of all workers of a
// session: the second is let in while the first is inside. Numbers are used again (see
// the type names), because the server walks through the names of all deleted keys of a queue.
//
//	acquire, free:  Txn [session's key unchanged] last of the queue?; put own key    1 round trip
//	acquire, held:  the same; watch the predecessor; when it is gone:
//	                Txn [own key there] who is before it?                             1 after the release
//	try:            Txn [session's key unchanged, queue empty] put own key            1
//	release:        delete own key                                                    1
//
// Only the predecessor is watched, so that a release wakes one waiter, and the order
// is that of create revisions: first come, first served. The create revision is the
// fencing token; revisions grow with every write to the cluster, so that a later
// holder's is always larger, whatever the lock. The lease's id would not do: it is random.
//
// # What a session is worth
//
// Deadlines count from the time at which a renewal was sent, because the server's
// clock starts later; so that the holder gives up first. The server looks for expired
// leases every 500 ms (lease/lessor.go), a new leader extends every lease by its TTL and more
// (Promote), and the least TTL is 1.5 election timeouts, rounded up to whole seconds: 2 s by
// default. All this makes a lease last longer than promised, never shorter. TTLs are rounded
// up to whole seconds, and what was granted is what ValidUntil and renewals go by.
//
// A renewal is one request with a timeout of T/6, in a stream of its own. The concurrency
// package's sessions keep one stream open: when the member at its other end is
// paused, the stream hangs, and the session of a healthy cluster is lost. Here every
// member has a connection of its own, one is asked (the leader, because it can answer by
// itself), and after a failure the next. grpc's own pings cannot do that: grpc-go allows
// none more often than every 10 s, etcd by default none more often than every 5 s.
//
// A waiter returns as soon as its session is lost (etcd#19597), and reads whether its own
// key is still there when the wait is over (etcd#11456), in the same transaction that
// reads who is before it. The next acquisition makes a new session.
//
// An acquisition without renewal has a lease of its own. It is kept alive while it waits, and
// renewed once when it is granted, so that its TTL begins there; its release revokes it.
//
// # Requests without an answer
//
// A put that got no answer within T/6 may have come into effect, may do so later (a paused
// member has it in its socket's buffer) or never. To delete the key is not enough: the late put
// would bring it back, on a session that is renewed, and block the lock for ever. So each
// put is under the condition of the version of the session's key, <prefix>#<lease>,
// and whoever gets no answer raises that version and deletes his key in one transaction.
// Then nothing is held, and the acquisition begins anew. A session of one
// acquisition needs no such key: its lease is revoked, and nothing can be attached to it.
//
// Deleting is tried until it is known to be done or the session is lost, with which the key
// goes. A caller who leaves does not wait for any of this: his request is ended, and what has to
// be done follows in the background. If his key was the first of the queue by then, it is
// counted as an orphan.
//
// # Guarded writes
//
// Apply is two transactions, both under the condition that the own key is still there:
// read, and write if the value was not written since. A holder that was paused past its TTL
// is refused by the service, whatever its clock says. The value is in <prefix><key>#value.
//
// # Limits
//
// Without a majority nothing is granted, released or renewed, and sessions end by
// their deadlines. A cluster restored from a backup may begin again with lower revisions: tokens
// do not survive that. The client is never synchronised with the addresses that the
// cluster announces, which may be of use inside its containers only. With a user and a
// password each watch and each renewal asks for a token first, as the client library
// does for every stream; the server checks the password with bcrypt, which is slow on purpose.
package etcd
