// Package goredis opens github.com/redis/go-redis/v9 as users of libraries over it
// do, and counts what it sends.
//
// The options are the library's defaults, three repeats of a failed command and
// timeouts of 5 s included (redis.NewClient(&redis.Options{Addr: addr})), but for
//   - where the server is and how it is reached: address, user, password, database, TLS,
//   - DialTimeout, which the cell gives,
//   - PoolSize, where the default (10 for each of GOMAXPROCS) is less than the number of
//     workers: a user with so many goroutines sets it.
//
// Commands are counted on the connection, so that repeats and greetings are in.
// Round trips are counted by a hook, in the trace of the context: a command that the
// client repeats within one call is one trip, and so is a round of commands to several
// servers side by side, which is noted at the first server.
package goredis
