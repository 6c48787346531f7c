package watchdog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// OwnerLabel is the label of containers and networks that names the process
// which they belong to.
const OwnerLabel = "lockbench.owner"

// Owner identifies a process among all that ever ran on all machines that may share a
// Docker engine.
type Owner struct {
	// Machine is a digest of what the machine calls itself: engines are shared over
	// the network, too.
	Machine string
	// Boot changes with each start of the machine.
	Boot string
	// Space is the process number space ("-" where there is one only): in a container of its own
	// the same number means another process.
	Space string
	PID   int
	// Start is when the process started, in the system's own unit: clock ticks since boot on Linux,
	// microseconds since 1970 on Darwin. Numbers are used again; number and start are not.
	Start uint64
}

// Self is the owner that this process is.
func Self() (Owner, error) {
	boot, err := bootID()
	if err != nil {
		return Owner{}, fmt.Errorf("identify this boot: %w", err)
	}
	space, err := pidSpace()
	if err != nil {
		return Owner{}, fmt.Errorf("identify the process number space: %w", err)
	}
	start, err := startTime(os.Getpid())
	if err != nil {
		return Owner{}, fmt.Errorf("find when this process started: %w", err)
	}
	return Owner{machine(), boot, space, os.Getpid(), start}, nil
}

// machine digests the machine's name and number. Both may be equal on copies of one disk; then Boot
// differs, and what a copy left is taken for this machine's own from before its last start.
func machine() string {
	name, _ := os.Hostname() // without a name the number must do
	sum := sha256.Sum256([]byte(name + "\n" + machineID()))
	return hex.EncodeToString(sum[:6])
}

// String is the value of OwnerLabel.
func (o Owner) String() string {
	return fmt.Sprintf("%s/%s/%s/%d/%d", o.Machine, o.Boot, o.Space, o.PID, o.Start)
}

// Labels are the labels of what o owns.
func (o Owner) Labels() map[string]string { return map[string]string{OwnerLabel: o.String()} }

// ErrOwner is wrapped by ParseOwner's errors.
var ErrOwner = errors.New("not an owner")

// ParseOwner reads what String writes.
func ParseOwner(s string) (Owner, error) {
	f := strings.Split(s, "/")
	if len(f) != 5 || f[0] == "" || f[1] == "" || f[2] == "" {
		return Owner{}, fmt.Errorf("%q: %w: want machine/boot/space/pid/start", s, ErrOwner)
	}
	pid, err := strconv.Atoi(f[3])
	if err != nil || pid <= 0 {
		return Owner{}, fmt.Errorf("%q: %w: the number of a process is positive", s, ErrOwner)
	}
	start, err := strconv.ParseUint(f[4], 10, 64)
	if err != nil {
		return Owner{}, fmt.Errorf("%q: %w: %w", s, ErrOwner, err)
	}
	return Owner{f[0], f[1], f[2], pid, start}, nil
}

// dead reports whether o has certainly ended, as seen by self. Where that cannot be
// known it has not: another machine's processes, and those of another number space, cannot be seen.
//
//	machine  boot    space   number and start   dead
//	other    -       -       -                  no
//	same     other   -       -                  yes
//	same     same    other   -                  no
//	same     same    same    run                no
//	same     same    same    do not run         yes
func (o Owner) dead(self Owner, runs func(pid int, start uint64) bool) bool {
	switch {
	case o.Machine != self.Machine:
		return false
	case o.Boot != self.Boot:
		return true
	case o.Space != self.Space:
		return false
	}
	return !runs(o.PID, o.Start)
}

// runs reports whether the process of that number is the one that started then, and has
// not ended. A zombie has ended. If it cannot be found out, it runs.
func runs(pid int, start uint64) bool {
	got, err := startTime(pid)
	if errors.Is(err, os.ErrNotExist) {
		// /proc may hide the processes of other users (hidepid, proc(5)); kill(2) does not.
		return errors.Is(syscall.Kill(pid, 0), syscall.EPERM)
	}
	return err != nil || got == start
}
