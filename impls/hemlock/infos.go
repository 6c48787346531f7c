package hemlock

import "lockbench/lock"

// Infos returns the lock of this package.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:   "hemlock",
		Family: "hemlock",
		Doc:    "queue lock whose waiters spin on their predecessor's one word for all locks",
		Source: "D. Dice and A. Kogan, Hemlock: Compact and Scalable Mutual Exclusion, SPAA 2021",
		FIFO:   true,
		New:    lock.Ctor(newHemlock),
	}}
}
