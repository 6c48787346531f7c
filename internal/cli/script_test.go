package cli_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"lockbench"
)

// TestMain makes the test binary lockbench: under that name for the scripts,
// and when it is started as a child of itself.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "cell" {
		os.Exit(lockbench.Main())
	}
	if os.Getenv("LOCKBENCH_TEST_MAIN") != "" {
		os.Exit(lockbench.Main())
	}
	testscript.Main(m, map[string]func(){"lockbench": func() { os.Exit(lockbench.Main()) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
