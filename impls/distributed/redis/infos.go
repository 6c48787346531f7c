package redis

import "lockbench/lock"

const family = "distributed/redis"

// single is the source of what all locks on one server do.
const single = `Redis documentation, "Distributed Locks with Redis", section "Correct Implementation with a Single Instance"`

// Infos returns the locks of this package, simplest first.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:      "redis",
			Family:    family,
			Doc:       "SET NX PX with a random token, released and extended by a script that compares it; polls with back-off",
			Source:    single,
			Kind:      lock.KindLease,
			Allocates: true,
			Dial:      dialPolling,
			Remote: &lock.Remote{
				Services: []string{lock.ServiceRedis},
				Expires:  true, Renews: true, Fences: true, Reentrant: true,
				Waits: "polls",
			},
		},
		{
			Name:      "redis-pubsub",
			Family:    family,
			Doc:       "redis whose waiters are woken by the release's PUBLISH; a timer covers expiry",
			Source:    single + `; Redis documentation, "Redis Pub/sub"`,
			Kind:      lock.KindLease,
			Allocates: true,
			Dial:      dialTold,
			Remote: &lock.Remote{
				Services: []string{lock.ServiceRedis},
				Expires:  true, Renews: true, Fences: true, Reentrant: true,
				Waits: "woken by the release",
			},
		},
		{
			Name:      "redis-fair",
			Family:    family,
			Doc:       "redis with a queue on the server: granted in the order of arrival there; dead waiters are passed over",
			Source:    single + "; the queue with deadlines is this project's own",
			Kind:      lock.KindLease,
			FIFO:      true,
			Allocates: true,
			Dial:      dialFair,
			Remote: &lock.Remote{
				Services: []string{lock.ServiceRedis},
				Expires:  true, Renews: true, Fences: true, Reentrant: true,
				Waits: "queues on the server, woken by the release",
				Note:  "FIFO by arrival at the server; a dead waiter delays the next by half a TTL at most",
			},
		},
		{
			Name:      "redis-naive",
			Family:    family,
			Doc:       "the classic mistake: every holder stores the same value, and DEL deletes whosever lock it is",
			Source:    `what "Distributed Locks with Redis" warns of: a lock that is released without a look at whose it is`,
			Kind:      lock.KindLease,
			Allocates: true,
			Dial:      dialNaive,
			Remote: &lock.Remote{
				Services: []string{lock.ServiceRedis},
				Expires:  true, Renews: true, Reentrant: true,
				Waits: "polls",
				Note:  "releases and extends a successor's lease",
			},
		},
	}
}
