//go:build !linux

package chaos

import (
	"fmt"
	"os/exec"
	"strconv"
)

// processState is the state of a process as ps(1) shows it: T is stopped.
func processState(pid int) (byte, error) {
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || len(out) == 0 {
		return '?', fmt.Errorf("look at process %d: %w", pid, err)
	}
	return out[0], nil
}
