// Package etcdconcurrency runs Session and Mutex of
// go.etcd.io/etcd/client/v3/concurrency (v3.7.3).
//
// The key of a Mutex is its prefix and the lease of its session, and nothing else: two
// Mutexes of one session and one prefix are one owner, and both lock. So whoever has
// several workers in one process must give each acquisition under way a session of its own,
// and so does this package: sessions come from a pool, are kept alive by the library and used
// again. One is made by Dial, the others when they are first needed.
//
// A session whose key is perhaps still there (a request to make or delete it got no answer,
// or its context ended meanwhile: the library leaves the key then) is closed, not used again.
// That is the user's part, because sessions are; without it the key would stay for as long as
// the session, and the next acquisition by that session would take it for its own.
//
// The fencing token is Header().Revision of the grant: the revision of the store when
// the key was made, if the lock was free, and when it was read after the predecessor's key had
// gone, if not. It grows from grant to grant, because the deletion between them has a
// revision, too, and reads are linearizable.
//
// It is called with the caller's context, on his goroutine, and returns when the library
// does: Lock, when its context ends while it waits, after it has deleted its key.
//
// A lease is lost when its session is Done. The library looks at a session's deadline once a
// second, and counts it from when a keep-alive was answered; it tells no deadline.
package etcdconcurrency
