package watchdog

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// holdings are what the watchdog has been told of and what has not been taken back.
type holdings struct {
	owner  string
	dirs   []string
	docker string             // the engine's address; "": from the environment
	held   map[uint64]message // by id
	bad    []string           // what went wrong on the way
}

func newHoldings(hello message) *holdings {
	return &holdings{owner: hello.Owner, dirs: hello.Dirs, held: map[uint64]message{}}
}

func (h *holdings) apply(m message) error {
	switch m.Op {
	case opHold:
		h.held[m.ID] = m
	case opDrop:
		delete(h.held, m.ID)
	case opDocker:
		h.docker = m.Name
	default:
		return fmt.Errorf("%w: %s, now", errMessage, m.Op)
	}
	return nil
}

// maxComplaints bounds what is kept of a pipe that brings nonsense.
const maxComplaints = 20

func (h *holdings) complain(err error) {
	if len(h.bad) < maxComplaints {
		h.bad = append(h.bad, err.Error())
	}
}

// of returns what is held of a kind, in the order in which it was made.
func (h *holdings) of(kind string) []message {
	var out []message
	for _, id := range slices.Sorted(maps.Keys(h.held)) {
		if h.held[id].Kind == kind {
			out = append(out, h.held[id])
		}
	}
	return out
}

// clean removes everything and returns what is left. Processes come first: they use the
// servers and write to the paths.
func (h *holdings) clean(ctx context.Context, dial func(host string) (engine, error)) []string {
	left := slices.Clone(h.bad)
	left = append(left, h.killProcesses(ctx)...)
	left = append(left, h.cleanDocker(ctx, dial)...)
	return append(left, h.removePaths()...)
}

// killTime bounds how long killed processes are waited for: only one that is in the middle
// of a system call that cannot be interrupted takes longer than milliseconds.
const killTime = 3 * time.Second

func (h *holdings) killProcesses(ctx context.Context) []string {
	var left []string
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	ps := h.of(KindProcess)
	for _, p := range ps {
		if err := kill(p.PID, p.Start); err != nil {
			left = append(left, fmt.Sprintf("process %d: %v", p.PID, err))
		}
	}
	// They are not our children: their end can only be looked for.
	for _, p := range ps {
		for pause := time.Millisecond; runs(p.PID, p.Start); pause *= 2 {
			if sleep(ctx, pause) != nil {
				left = append(left, fmt.Sprintf("process %d: still runs after SIGKILL", p.PID))
				break
			}
		}
	}
	return left
}

// kill kills the process of that number if it is the one that started then.
func kill(pid int, start uint64) error {
	// On Linux this is a pidfd: the process is looked at after it has been opened, so that a signal cannot
	// reach another one to which the number is given in between.
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find it: %w", err)
	}
	defer func() { _ = p.Release() }() // not a child: there is nothing to wait for
	if !runs(pid, start) {
		return nil
	}
	// Killed before it is continued: SIGKILL reaches a stopped process (signal(7)), which must not
	// take another step in its critical section. The continuation is for systems that wait with the death until then.
	if err := p.Signal(syscall.SIGKILL); err != nil && runs(pid, start) {
		return fmt.Errorf("kill it: %w", err)
	}
	_ = p.Signal(syscall.SIGCONT) // fails if it is dead
	return nil
}

// sleep waits for d or the context's end, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *holdings) removePaths() []string {
	var left []string
	// The last made first: it may be inside of an earlier one.
	for _, m := range slices.Backward(h.of(KindPath)) {
		if err := removeBelow(h.dirs, m.Name); err != nil {
			left = append(left, fmt.Sprintf("%s: %v", m.Name, err))
		}
	}
	return left
}

// removeBelow removes path, and what it contains, if it is below one of dirs. os.Root does not follow
// a link out of the directory, wherever in the path it is.
func removeBelow(dirs []string, path string) error {
	for _, d := range dirs {
		rel, err := filepath.Rel(d, path)
		if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		root, err := os.OpenRoot(d)
		if err != nil {
			return fmt.Errorf("open %s: %w", d, err)
		}
		defer func() { _ = root.Close() }() // opened for reading
		return root.RemoveAll(rel)
	}
	return fmt.Errorf("not below %s: not removed", strings.Join(dirs, ", "))
}
