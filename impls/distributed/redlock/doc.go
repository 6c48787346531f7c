// Package redlock has Redlock: one lock over several Redis servers that know nothing of
// each other (three or five; no replicas).
//
// The lock is held by who has its token on a quorum of them, N/2+1, so that it outlives
// the loss of a minority:
//
//	start  = now, before the first request is sent
//	asked  : SET NX PX to all at once, each with a timeout of 5 % of the TTL
//	held   : N/2+1 of them are set, and now < start + TTL - drift
//	failed : deleted on all servers, also on those that seemed to fail; tried again
//	         after a random delay
//
// drift is 1 % of the TTL, for clocks that run at different rates, and 2 ms, because Redis
// counts milliseconds. The holder's deadline is start + TTL - drift. An extension is held
// to the same rules. A release deletes on all servers and is done once a quorum has.
//
// A server that answers late is no part of the decision once a quorum has answered; its
// reply is waited for in the background. A server's key is never deleted before its
// SET has been answered or given up, because the two go over different connections: the
// SET would come after the DEL and stay.
//
// What is guaranteed: two do not hold the lock at once by their own deadlines, as long as the
// clocks of a quorum run evenly and the servers keep their data. What is not:
//
//   - There is no fencing token: no server sees all acquisitions, so that no number grows with
//     each. A holder that is stopped between its look at the deadline and its
//     write writes beside its successor, and no store can tell (M. Kleppmann, 2016; S.
//     Sanfilippo, "Is Redlock safe?", 2016, disputes how much that matters).
//   - With a bare quorum, one server that restarts without its data lets a second
//     holder in.
//   - It is not fair, and under contention attempts split the servers among them:
//     nobody gets a quorum, and all try again.
//
// Sources: Redis documentation, "Distributed Locks with Redis", section "The Redlock Algorithm";
// M. Kleppmann, "How to do distributed locking", 2016.
package redlock
