package cli_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"lockbench/backends"
)

// haveDocker reports whether containers can be started here. LOCKBENCH_REQUIRE_DOCKER
// makes it an error if they cannot.
func haveDocker() (bool, error) {
	for _, c := range backends.Doctor(context.Background(), nil) {
		if !c.OK && (c.What == "Docker" || strings.HasPrefix(c.What, "image ")) {
			if os.Getenv("LOCKBENCH_REQUIRE_DOCKER") != "" {
				return false, &missing{c}
			}
			return false, nil
		}
	}
	return true, nil
}

type missing struct{ c backends.Check }

func (m *missing) Error() string {
	return "LOCKBENCH_REQUIRE_DOCKER is set, and " + m.c.What + " is missing: " + m.c.Detail
}

// containers returns the names of containers and networks that runs have made.
func containers(ts *testscript.TestScript) []string {
	var out []string
	for _, args := range [][]string{
		{"ps", "-a", "--filter", "label=lockbench.owner", "--filter", "name=lockbench-2", "--format", "{{.Names}}"},
		{"network", "ls", "--filter", "label=lockbench.owner", "--filter", "name=lockbench-2", "--format", "{{.Name}}"},
	} {
		b, err := exec.Command("docker", args...).Output()
		ts.Check(err)
		out = append(out, strings.Fields(string(b))...)
	}
	return out
}

// patience bounds what the scripts wait for; nothing that is right takes as long.
const patience = 2 * time.Minute

// awaitContainers waits until as many are there as want says.
func awaitContainers(ts *testscript.TestScript, want func(n int) bool) {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		names := containers(ts)
		if want(len(names)) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("containers and networks of runs: %q", names)
		}
	}
}

// dockerCommands are those of the scripts that start servers:
//
//	servers N     waits until N containers or networks of runs are there
//	nothingleft   waits until there is none
var dockerCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"servers": func(ts *testscript.TestScript, _ bool, args []string) {
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		awaitContainers(ts, func(have int) bool { return have >= n })
	},
	"nothingleft": func(ts *testscript.TestScript, _ bool, _ []string) {
		awaitContainers(ts, func(have int) bool { return have == 0 })
	},
}
