package impls

import (
	"slices"

	"lockbench/impls/distributed/etcd"
	"lockbench/impls/distributed/loopback"
	"lockbench/impls/distributed/peers"
	"lockbench/impls/distributed/postgres"
	"lockbench/impls/distributed/redis"
	"lockbench/impls/distributed/redlock"
	"lockbench/impls/distributed/zookeeper"
	"lockbench/lock"
)

// Distributed returns the locks that need servers, in the order in which they are
// listed: this project's own, then what people use today, through their libraries,
// then the harness's own controls.
func Distributed() []lock.Info {
	return slices.Concat(
		redis.Infos(),
		redlock.Infos(),
		etcd.Infos(),
		zookeeper.Infos(),
		postgres.Infos(),
		peers.Infos(),
		loopback.Infos(),
	)
}
