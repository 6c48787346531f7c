package backends_test

import (
	"os"
	"testing"

	"lockbench/backends"
	"lockbench/backends/backendtest"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

func TestOpen(t *testing.T) {
	for _, top := range backends.Topologies() {
		t.Run(top.Name, func(t *testing.T) {
			c := backendtest.Shared(t, top.Name)
			t.Logf("%+v %+v", c.Facts(), c.Target().Addrs)
		})
	}
}
