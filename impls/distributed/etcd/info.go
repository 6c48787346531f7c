package etcd

import "lockbench/lock"

// Infos returns the catalogue lines of this package.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:      "etcd",
		Family:    "distributed/etcd",
		Doc:       "a queue of keys on one etcd lease a client, in the order of their create revisions; its own",
		Source:    "etcd documentation, \"Why etcd\" and \"API guarantees\"; Burrows, \"The Chubby lock service\" (OSDI 2006), for sequencers",
		Kind:      lock.KindLease,
		FIFO:      true,
		Allocates: true,
		Dial:      Dial,
		Remote: &lock.Remote{
			Services:     []string{lock.ServiceEtcd},
			Expires:      true,
			Renews:       true,
			Fences:       true,
			Reentrant:    true,
			AlwaysFences: true,
			Guards:       true,
			Linearizable: true,
			Waits:        "watches its predecessor",
			Note:         "TTLs are whole seconds, at least 1.5 election timeouts",
		},
	}}
}
