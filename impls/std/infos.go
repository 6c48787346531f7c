package std

import "lockbench/lock"

// Infos returns the locks of this package, null first.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:    "null",
			Family:  "std",
			Doc:     "no lock at all: what the harness costs",
			Source:  "the empty function",
			Control: true,
			New:     newNull,
		},
		{
			Name:   "mutex",
			Family: "std",
			Doc:    "sync.Mutex",
			Source: "The Go Authors, package sync, mutex.go and internal/sync/mutex.go (starvation mode since Go 1.9)",
			New:    newMutex,
		},
		{
			Name:   "rwmutex",
			Family: "std",
			Doc:    "sync.RWMutex",
			Source: "The Go Authors, package sync, rwmutex.go",
			New:    newRWMutex,
		},
		{
			Name:   "chan",
			Family: "std",
			Doc:    "a channel with one slot: send to acquire, receive to release",
			Source: "The Go Memory Model, section Channel communication: a buffered channel as a counting semaphore",
			New:    newChan,
		},
		{
			Name:      "semaphore",
			Family:    "std",
			Doc:       "semaphore.Weighted of weight one",
			Source:    "The Go Authors, golang.org/x/sync/semaphore",
			Allocates: true,
			New:       newSemaphore,
		},
		{
			Name:   "cond",
			Family: "std",
			Doc:    "a monitor: sync.Mutex, sync.Cond and a held flag",
			Source: "C. A. R. Hoare, Monitors: An Operating System Structuring Concept, CACM 17(10), 1974; signal-and-continue after B. W. Lampson and D. D. Redell, Experience with Processes and Monitors in Mesa, CACM 23(2), 1980",
			New:    newCond,
		},
	}
}
