package etcdconcurrency

import "lockbench/lock"

// Infos returns the catalogue line.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:      "etcd-concurrency",
		Family:    "distributed/peers",
		Doc:       "etcd's concurrency.Mutex: a queue of keys, each waits for those before it",
		Source:    "go.etcd.io/etcd/client/v3/concurrency v3.7.3",
		Kind:      lock.KindLease,
		FIFO:      true,
		Allocates: true,
		Dial:      Dial,
		Remote: &lock.Remote{
			Services:     []string{lock.ServiceEtcd},
			Peer:         "etcd client/v3/concurrency v3.7.3",
			Expires:      true,
			Renews:       true,
			Fences:       true,
			AlwaysFences: true,
			Waits:        "watches its predecessor",
			Note:         "a pool of sessions, one an acquisition under way: Mutexes of one session are one owner; TTL in whole seconds, of the session, always kept alive; token: Header().Revision; tells no deadline",
		},
	}}
}
