package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"lockbench"
	"lockbench/impls/broken"
	"lockbench/impls/planted"
	"lockbench/impls/std"
	"lockbench/lock"
)

// programs are what the test binary is by its name: lockbench, and programs on
// lockbench.Main with locks of their own, for paired sessions.
var programs = map[string]func(){
	"lockbench":   func() { os.Exit(lockbench.Main()) },
	"bench-base":  func() { os.Exit(lockbench.Main(slowMutex(0), custom("mutex"))) },
	"bench-slow":  func() { os.Exit(lockbench.Main(slowMutex(3000), custom("mutex"))) }, // by some microseconds
	"bench-buggy": func() { os.Exit(lockbench.Main(slowMutex(0), custom("noop"))) },
}

func slowMutex(extra uint32) lock.Info { return planted.Wrap(named("mutex", std.Infos()), extra) }

// custom is a user's own lock, right or wrong.
func custom(kind string) lock.Info {
	i := named("mutex", std.Infos())
	if kind == "noop" {
		i = named("broken-noop", broken.Infos())
	}
	i.Name, i.Family = "custom", "custom"
	return i
}

func named(name string, infos []lock.Info) lock.Info {
	for _, i := range infos {
		if i.Name == name {
			return i
		}
	}
	panic("no lock " + name)
}

// TestMain makes the test binary a program: under its name for the scripts,
// and when it is started as a child of itself.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && (os.Args[1] == "cell" || os.Args[1] == "watchdog") {
		if program := programs[filepath.Base(os.Args[0])]; program != nil {
			program()
		}
		os.Exit(lockbench.Main())
	}
	if os.Getenv("LOCKBENCH_TEST_MAIN") != "" {
		os.Exit(lockbench.Main())
	}
	testscript.Main(m, programs)
}

func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestServers are the scripts of distributed locks. They run after the others, not beside them: what
// measures in pairs of milliseconds cannot share two processors with a dozen servers that start.
func TestServers(t *testing.T) { runScripts(t, "testdata/servers") }

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                dockerCommands,
		Condition: func(cond string) (bool, error) {
			if cond == "docker" {
				return haveDocker()
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		// $BIN is where the programs are.
		Setup: func(e *testscript.Env) error {
			e.Setenv("BIN", filepath.SplitList(e.Getenv("PATH"))[0])
			// How containers are reached is the machine's matter.
			for _, kv := range os.Environ() {
				if k, v, _ := strings.Cut(kv, "="); strings.HasPrefix(k, "TESTCONTAINERS_") || strings.HasPrefix(k, "DOCKER_") {
					e.Setenv(k, v)
				}
			}
			return nil
		},
	})
}
