package watchdog

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of <sys/proc.h>.
const stateZombie = 5

func bootID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

func pidSpace() (string, error) { return "-", nil }

// machineID: the name alone identifies a machine here.
func machineID() string { return "" }

// startTime is in microseconds since 1970.
func startTime(pid int) (uint64, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) { // an answer without a process
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	if int(k.Proc.P_pid) != pid || k.Proc.P_stat == stateZombie {
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	t := k.Proc.P_starttime
	return uint64(t.Sec)*1e6 + uint64(t.Usec), nil
}
