package engine

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttr: a process group of its own, so that an interrupt typed at the
// terminal reaches the parent alone, which ends its children in order; and
// death with the parent.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func setMask(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("set affinity mask %v: %w", cpus, err)
	}
	return nil
}
