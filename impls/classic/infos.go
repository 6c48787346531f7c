package classic

import (
	"fmt"

	"lockbench/lock"
)

// Infos returns the locks of this package.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:       "dekker",
			Family:     "classic",
			Doc:        "Dekker's algorithm for two workers",
			Source:     "T. J. Dekker, in E. W. Dijkstra, Cooperating Sequential Processes (EWD 123), Technological University Eindhoven, 1965",
			MaxWorkers: 2,
			New:        newDekker,
		},
		{
			Name:       "peterson",
			Family:     "classic",
			Doc:        "Peterson's algorithm for two workers",
			Source:     "G. L. Peterson, Myths About the Mutual Exclusion Problem, Information Processing Letters 12(3), 1981",
			MaxWorkers: 2,
			New:        newPeterson,
		},
		{
			Name:   "filter",
			Family: "classic",
			Doc:    "Peterson's algorithm for n workers: n-1 levels, each keeps one worker back",
			Source: "G. L. Peterson, Myths About the Mutual Exclusion Problem, Information Processing Letters 12(3), 1981; the name from M. Herlihy and N. Shavit, The Art of Multiprocessor Programming, 2008",
			New:    newFilter,
		},
		{
			Name:   "tournament",
			Family: "classic",
			Doc:    "a binary tree of Peterson locks",
			Source: "G. L. Peterson and M. J. Fischer, Economical Solutions for the Critical Section Problem in a Distributed System, STOC 1977; nodes after Peterson 1981",
			New:    newTournament,
		},
		{
			Name:   "bakery",
			Family: "classic",
			Doc:    "Lamport's bakery: take a number, the lowest is served",
			Source: "L. Lamport, A New Solution of Dijkstra's Concurrent Programming Problem, CACM 17(8), 1974",
			FIFO:   true,
			New:    newBakery,
		},
	}
}

// checkWorkers is for the two algorithms that know no more than two workers.
func checkWorkers(name string, workers, most int) error {
	if workers > most {
		return fmt.Errorf("%s: %d workers, at most %d", name, workers, most)
	}
	return nil
}
