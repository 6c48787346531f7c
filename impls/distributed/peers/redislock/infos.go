package redislock

import "lockbench/lock"

// Infos returns the catalogue line.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:      "redislock",
		Family:    "distributed/peers",
		Doc:       "bsm/redislock over go-redis: one script to obtain, one to release; polls",
		Source:    "github.com/bsm/redislock v0.9.4 over github.com/redis/go-redis/v9 v9.23.0",
		Kind:      lock.KindLease,
		Allocates: true,
		Dial:      Dial,
		Remote: &lock.Remote{
			Services: []string{lock.ServiceRedis},
			Peer:     "redislock v0.9.4",
			Expires:  true,
			Waits:    "polls every 100 ms",
			Note:     "waits by LinearBackoff(100ms), the library's example, until the caller's deadline, without one for the TTL; never renews by itself; tells no deadline: counted from the attempt that won",
		},
	}}
}
