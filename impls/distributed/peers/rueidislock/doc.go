// Package rueidislock runs github.com/redis/rueidis/rueidislock (rueidis v1.0.79) over
// one server.
//
// Nothing is added to the library's defaults, but KeyMajority 1 instead of 2, which is
// one key of one server, and KeyValidity, which is the cell's TTL: of the target, for a
// Locker has one for all. So an attempt is given up after 20 ms (TryNextAfter), a waiter is
// woken by the invalidation that client-side caching sends when the key is deleted or expires,
// and a held key is always extended every TTL/2, asked for or not.
//
// The key on the server is Prefix + ":0:" + key. Its expiry is a point in time by the
// client's clock (SET PXAT).
//
// The library's context bounds the lease, too: it gets one that does not end with the
// caller's acquisition. It is called on the caller's goroutine, and returns when the library
// does. The lease is lost when the library cancels its context. It tells no
// deadline, and nothing of how a release went; what Release returns is what the reply of the
// deletion says, seen below the library.
package rueidislock
