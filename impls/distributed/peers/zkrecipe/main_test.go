package zkrecipe_test

import (
	"os"
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/chaos/actor"
)

// victimEnv makes the test binary a client process that can be stopped.
const victimEnv = "LOCKBENCH_TEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" {
		os.Exit(actor.Main(victimLock, os.Stdin, os.Stdout, os.Exit))
	}
	os.Exit(backendtest.Main(m))
}
