package cell

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// CanPin says whether threads can be bound to processors here.
const CanPin = true

// pinThread binds the calling thread; the goroutine must be locked to it.
func pinThread(cpus ...int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("bind thread to processors %v: %w", cpus, err)
	}
	return nil
}

// affinity returns the processors that the calling thread may run on.
func affinity() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read affinity mask: %w", err)
	}
	var cpus []int
	for c := 0; len(cpus) < set.Count(); c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}
