// Package redsync runs github.com/go-redsync/redsync/v4 (v4.18.1) over go-redis: over
// one server by default, as most of its users do, or as Redlock over several.
//
// Nothing is added to the library: 32 tries, 50 to 250 ms apart at random, and then
// lock.ErrNotAcquired, however long the caller would have waited; a drift factor of 0.01, a
// timeout of 0.05 TTL a round (which go-redis heeds while it waits for a connection only, by
// its defaults); no renewal, because Extend is left to the user; no fencing token.
//
// It is called with the caller's context, on his goroutine, and returns when the library
// does: while a reply is awaited, go-redis does not look at the context, by its defaults.
//
// An attempt that fails sends the deletion, too: two round trips.
package redsync
