package rueidislock

import "lockbench/lock"

// Infos returns the catalogue line.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:      "rueidislock",
		Family:    "distributed/peers",
		Doc:       "rueidislock: a script with SET NX PXAT, woken by client-side caching, extends by itself",
		Source:    "github.com/redis/rueidis/rueidislock, rueidis v1.0.79",
		Kind:      lock.KindLease,
		Allocates: true,
		Dial:      Dial,
		Remote: &lock.Remote{
			Services: []string{lock.ServiceRedis},
			Peer:     "rueidislock v1.0.79",
			Expires:  true,
			Renews:   true,
			Waits:    "woken by the invalidation of client-side caching",
			Note:     "KeyMajority 1; always extends every TTL/2; a try is given up after 20 ms; expiry by the client's clock; tells no deadline",
		},
	}}
}
