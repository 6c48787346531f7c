package futex

import "lockbench/lock"

const family = "futex"

// Infos returns the locks of this package, on platforms other than Linux as
// unavailable.
func Infos() []lock.Info {
	infos := []lock.Info{
		{
			Name:   "futex",
			Family: family,
			Doc:    "three-state mutex on a Linux futex",
			Source: "U. Drepper, Futexes Are Tricky, Red Hat, 2011",
			New:    lock.Ctor(newFutex),
		},
		{
			Name:        "futex-pi",
			Family:      family,
			Doc:         "Linux futex with priority inheritance",
			Source:      "I. Molnar and T. Gleixner, Lightweight PI-futexes, Linux Documentation/locking/pi-futex.rst, 2006; futex(2)",
			ThreadBound: true,
			New:         lock.Ctor(newPI),
		},
	}
	if unavailable != "" {
		for i := range infos {
			infos[i].Unavailable, infos[i].New = unavailable, nil
		}
	}
	return infos
}
