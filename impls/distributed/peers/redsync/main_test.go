package redsync_test

import (
	"os"
	"testing"

	"lockbench/backends/backendtest"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }
