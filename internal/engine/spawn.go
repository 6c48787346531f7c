package engine

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lockbench/internal/cell"
)

// spawner starts all children from one thread that lives as long as the
// process: the children inherit its affinity mask, and the kernel kills them
// when it ends (Pdeathsig fires at the end of the starting thread, not of the
// starting process).
type spawner struct {
	requests chan spawnRequest
}

type spawnRequest struct {
	cmd  *exec.Cmd
	cpus []int
	err  chan error
}

// theSpawner is one a process, because its thread must never end.
var theSpawner = sync.OnceValue(func() *spawner {
	s := &spawner{requests: make(chan spawnRequest)}
	go func() {
		runtime.LockOSThread() // never unlocked
		for r := range s.requests {
			err := setMask(r.cpus)
			if err == nil {
				err = r.cmd.Start()
			}
			r.err <- err
		}
	}()
	return s
})

// start starts cmd on the given processors; none: wherever.
func (s *spawner) start(cmd *exec.Cmd, cpus []int) error {
	r := spawnRequest{cmd: cmd, cpus: cpus, err: make(chan error, 1)}
	s.requests <- r
	return <-r.err
}

// StartChild starts a child of this process that dies with it, from the thread that lives as long as the process. Its
// environment is this process's, without what would look at all processes of the machine (see childEnv).
func StartChild(cmd *exec.Cmd) error {
	cmd.SysProcAttr = childAttr()
	cmd.Env = append(os.Environ(), "HOST_PROC=/nonexistent", "GOTRACEBACK=all")
	return theSpawner().start(cmd, nil)
}

// Memory of a child: no collection as long as the heap stays small, so that
// none runs inside an interval; beyond the limit the collector runs as it
// must, and records say so.
const childMemoryLimit = 48 << 20

// memoryLimit is that of a child. A client process of a distributed lock has six
// histograms a worker, and a client library that allocates some kilobytes an operation.
func memoryLimit(spec *cell.Spec) int {
	if spec.Remote == nil {
		return childMemoryLimit
	}
	return 4*childMemoryLimit + spec.Workers<<18
}

// childEnv is the environment of a child: ours, with what the runtime is to do.
func childEnv(procs, memory int) []string {
	set := []string{
		"GOMAXPROCS=" + strconv.Itoa(procs),
		"GOGC=off",
		"GOMEMLIMIT=" + strconv.Itoa(memory),
		"GOTRACEBACK=crash",
		// The library that starts containers looks at all processes of the machine when
		// a program begins that links it: 4 ms of a child's start. It finds none here
		// (docs/adr/0017). Nothing of ours reads this variable.
		"HOST_PROC=/nonexistent",
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		k, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, k+"=") })
	})
	return append(env, set...)
}
