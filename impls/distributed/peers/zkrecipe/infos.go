package zkrecipe

import "lockbench/lock"

// Infos returns the catalogue line.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:      "zk-recipe",
		Family:    "distributed/peers",
		Doc:       "go-zookeeper's Lock: a queue of ephemeral sequential nodes",
		Source:    "github.com/go-zookeeper/zk v1.0.4, Lock",
		Kind:      lock.KindLease,
		FIFO:      true,
		Allocates: true,
		Dial:      Dial,
		Remote: &lock.Remote{
			Services: []string{lock.ServiceZooKeeper},
			Peer:     "go-zookeeper/zk v1.0.4",
			Expires:  true,
			Renews:   true,
			Waits:    "watches its predecessor",
			Note:     "one session a process, always kept alive; no fencing token; no context: who leaves stays in the queue until his turn; no single attempt (Try is unsupported); tells no deadline",
		},
	}}
}
