// Package postgres holds locks on PostgreSQL: advisory locks of sessions and
// transactions, row locks, and a version column.
//
// # What holds a lock
//
// A session or a transaction does, and with it a connection: no lease has a TTL, and
// a holder that stands still keeps its lock. The server frees it when the session
// ends, however that comes about; so there is no fencing token, and none is needed for a
// write inside the transaction (Apply), which cannot outlive the lock. A write elsewhere
// can: a holder whose session has ended is told by Lost, at once where the server
// or the network says so, and by TCP keepalives where nothing says so: after a time that comes from
// the cell's TTL (config.go), 3 s for one of up to 3 s.
//
// Each lock held has a connection of its own, which is in no pool meanwhile (npgsql#5592).
// Leases of one AcquireOptions.Owner share one, because only within a session
// does the server see a deadlock; what an owner asks for is then done one after the other.
//
//   - pg-advisory: pg_advisory_lock and pg_advisory_unlock, one round trip each.
//   - pg-advisory-xact, pg-row: BEGIN and the lock in one round trip, COMMIT in another.
//   - pg-row-nowait, pg-row-skip: the same, but refused (55P03, or no row) instead of
//     queued, and tried again with the back-off of the options.
//   - pg-version: no lock; see the type optimistic.
//
// # Transactions
//
// Release commits. nil: the writes are there and as durable as the server makes them (fsync,
// synchronous_commit are left as they are). lock.ErrNotHeld: rolled back.
// lock.ErrUnknown: the reply to COMMIT is lost, and the writes are there or not. The
// transaction of an owner with several leases is committed by the release of the last
// one: the locks of those released before stay until then, and so do their writes, which
// only the last release acknowledges.
//
// After a deadlock (40P01, found after the server's deadlock_timeout, 1 s by default)
// the victim's transaction is lost with all its leases; a session's other advisory
// locks stay. A wait that is given up or refused costs nothing but itself: it stands
// behind a savepoint if the owner holds something.
//
// A session's advisory lock has a trap: one that is granted to a statement that is
// cancelled in the same moment stays, though the statement fails (57014). The connection
// of a failed wait is therefore unlocked before it is used again.
//
// # Names
//
// Target.Prefix is "lockbench/<run id>/<cell>/". "lockbench/<run id>" is the application_name
// (unless Target.App is another) and the schema, whose table "keys" has a row "<cell>/<key>" for each key with a value.
// Advisory locks are numbers, shared by all applications of a database: the first 64 bits
// of the SHA-256 of prefix and key. Two keys with the same number would share a lock: no
// harm to exclusion, and for a million keys a chance of 3 in 10^8.
//
// # Limits
//
// A peer that vanishes without a word holds its lock until the server's keepalives
// give it up: 3 s to 21 s, where the server lets a client set them; a proxy in between
// answers them itself. Poolers that give a session's statements to several
// connections (PgBouncer in transaction mode) break session locks and prepared
// statements. The queue is first come first served, but the deadlock detector may
// reorder it, and a wait of 60 s (lock_timeout, a safety net) begins anew at its end.
//
// # Sources
//
// PostgreSQL documentation: 13.2.1 Read Committed, 13.3 Explicit Locking (13.3.2 rows,
// 13.3.4 deadlocks, 13.3.5 advisory locks), Advisory Lock Functions (9.28.10 in version
// 17), SELECT (The Locking Clause), TCP Settings, Client Connection Defaults, Message Flow
// (Extended Query, Pipelining, Canceling Requests in Progress), Appendix A Error Codes.
package postgres
