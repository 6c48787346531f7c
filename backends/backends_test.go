package backends_test

import (
	"os"
	"testing"

	"lockbench/backends/backendtest"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

func TestOpen(t *testing.T) {
	c := backendtest.Shared(t, "redis")
	t.Logf("%+v %+v", c.Facts(), c.Target().Addrs)
}
