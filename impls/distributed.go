package impls

import (
	"slices"

	"lockbench/impls/distributed/etcd"
	"lockbench/impls/distributed/peers/redislock"
	"lockbench/impls/distributed/peers/redsync"
	"lockbench/impls/distributed/peers/rueidislock"
	"lockbench/impls/distributed/redis"
	"lockbench/impls/distributed/zookeeper"
	"lockbench/lock"
)

// Distributed returns the locks that need servers, in the order in which they are
// listed: this project's own, then what people use today, through their libraries.
func Distributed() []lock.Info {
	return slices.Concat(
		redis.Infos(),
		etcd.Infos(),
		zookeeper.Infos(),
		redsync.Infos(),
		redislock.Infos(),
		rueidislock.Infos(),
	)
}
