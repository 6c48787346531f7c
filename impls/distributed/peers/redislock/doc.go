// Package redislock runs github.com/bsm/redislock (v0.9.4) over go-redis.
//
// Nothing is added to the library, but what it leaves to its users:
//   - By default it does not wait. A caller that waits gets LinearBackoff(100 ms), as in the
//     library's example of retrying, without a limit of tries.
//   - It waits at most until the deadline of the context, and for the TTL if that has none
//     (bsm/redislock#74).
//   - It tells no local deadline. That of a careful user counts from the sending of the attempt
//     that won, which is known here from counting.
//
// It is called with the caller's context, on his goroutine, and returns when the library
// does: while a reply is awaited, go-redis does not look at the context, by its defaults.
//
// No renewal, because Refresh is left to the user; no fencing token.
package redislock
