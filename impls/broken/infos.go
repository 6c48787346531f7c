package broken

import "lockbench/lock"

// Infos returns the broken locks.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:   "broken-noop",
			Family: "broken",
			Doc:    "BROKEN: does nothing",
			Source: "re-enacts benchmarks that ran their work outside the lock: Amanieu/parking_lot issue 486, akopytov/sysbench issue 130",
			New:    newNoop,
		},
		{
			Name:      "broken-lost-wakeup",
			Family:    "broken",
			Doc:       "BROKEN: sleeps on a value that promises no wake-up",
			Allocates: true,
			Source:    "re-enacts SerenityOS/serenity pull request 20425, 2023",
			New:       newLostWakeup,
		},
		{
			Name:   "broken-two",
			Family: "broken",
			Doc:    "BROKEN: waiters decrement the lock until it wraps, and enter",
			Source: "re-enacts concurrencykit/ck issue 99, 2017",
			New:    newTwo,
		},
	}
}
