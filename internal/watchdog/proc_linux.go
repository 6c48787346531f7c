package watchdog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// bootID: proc_sys_kernel(5).
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(b))
	if id == "" || strings.Contains(id, "/") {
		return "", fmt.Errorf("boot_id: %q is none", id)
	}
	return id, nil
}

// pidSpace is the inode of the namespace, namespaces(7): "pid:[4026531836]".
func pidSpace() (string, error) {
	s, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(s, "pid:["), "]"), nil
}

// machineID: machine-id(5); "" where there is none, as in many containers.
func machineID() string {
	b, _ := os.ReadFile("/etc/machine-id")
	return strings.TrimSpace(string(b))
}

// startTime is field 22 of /proc/PID/stat, in clock ticks since boot (proc_pid_stat(5)). It
// returns os.ErrNotExist for a process that has ended, also for one whose parent has not noticed.
func startTime(pid int) (uint64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, unix.ESRCH) { // it ended between open and read
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	if err != nil {
		return 0, err
	}
	return parseStat(pid, b)
}

// parseStat reads a line "PID (NAME) STATE ...". The name may hold anything, brackets
// and spaces too: fields are counted from the last bracket.
func parseStat(pid int, b []byte) (uint64, error) {
	end := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[end+1:]))
	const state, start = 0, 22 - 3 // the first field after the name is number 3
	if end < 0 || len(f) <= start {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields after the name", pid, len(f))
	}
	if f[state] == "Z" || f[state] == "X" {
		return 0, fmt.Errorf("process %d: %w: it has ended", pid, os.ErrNotExist)
	}
	return strconv.ParseUint(f[start], 10, 64)
}
