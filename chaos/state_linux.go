package chaos

import (
	"bytes"
	"fmt"
	"os"
)

// processState is the state of a process as the kernel shows it (proc(5), stat): T is stopped.
func processState(pid int) (byte, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return '?', fmt.Errorf("look at process %d: %w", pid, err)
	}
	i := bytes.LastIndexByte(b, ')') // the name before it may hold anything
	if i < 0 || i+2 >= len(b) {
		return '?', fmt.Errorf("look at process %d: %q", pid, b)
	}
	return b[i+2], nil
}
