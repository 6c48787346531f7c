package redsync

import "lockbench/lock"

// Infos returns the catalogue line.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:      "redsync",
		Family:    "distributed/peers",
		Doc:       "go-redsync over go-redis: SET NX PX, deleted by script; polls at random",
		Source:    "github.com/go-redsync/redsync/v4 v4.18.1 over github.com/redis/go-redis/v9 v9.23.0",
		Kind:      lock.KindLease,
		Allocates: true,
		Dial:      Dial,
		Remote: &lock.Remote{
			Services: []string{lock.ServiceRedis, lock.ServiceRedlock},
			Peer:     "redsync v4.18.1",
			Expires:  true,
			Waits:    "polls every 50 to 250 ms, 32 times",
			Note:     "library defaults: gives up after 32 tries; never renews by itself; a failed try deletes, too; deadline: Until()",
		},
	}}
}
