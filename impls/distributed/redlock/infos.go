package redlock

import "lockbench/lock"

// Infos returns the lock of this package.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:      "redlock",
		Family:    "distributed/redlock",
		Doc:       "SET NX PX on a quorum of independent Redis servers",
		Source:    `Redis documentation, "Distributed Locks with Redis", section "The Redlock Algorithm"`,
		Kind:      lock.KindLease,
		Allocates: true,
		Dial:      dial,
		Remote: &lock.Remote{
			Services: []string{lock.ServiceRedlock},
			Expires:  true, Renews: true, Reentrant: true,
			Waits:    "polls",
			Note:     "no fencing token: no server sees all acquisitions",
			MinNodes: minNodes,
		},
	}}
}
