package peers

import (
	"slices"

	"lockbench/impls/distributed/peers/etcdconcurrency"
	"lockbench/impls/distributed/peers/redislock"
	"lockbench/impls/distributed/peers/redsync"
	"lockbench/impls/distributed/peers/rueidislock"
	"lockbench/impls/distributed/peers/zkrecipe"
	"lockbench/lock"
)

// Infos returns the catalogue lines of all peers, in the order of their services.
func Infos() []lock.Info {
	return slices.Concat(
		redsync.Infos(),
		redislock.Infos(),
		rueidislock.Infos(),
		etcdconcurrency.Infos(),
		zkrecipe.Infos(),
	)
}
