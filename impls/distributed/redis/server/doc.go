// Package server is one Redis server (or the primary that Sentinel names) as a
// lock must use it: go-redis without its retries, a deadline for each command, scripts
// by hash, and each request counted.
//
// What go-redis does by default breaks locks, and is switched off here:
//
//   - Retries. A SET NX that is sent again after its reply was lost answers "not
//     set", while the server holds our own token.
//   - Read timeouts of seconds. One outlives a lease. Here the deadline is that of
//     the context, which [Server.Do] sets for each command.
//   - A pool that stops to dial for up to a second after as many failures as it has
//     places. Its size is made large instead; connections are made when needed, and
//     the callers are bounded by the lock's client.
//
// Sources: go-redis v9.23, options.go and internal/pool; Redis, "Distributed Locks
// with Redis", https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/.
package server
