package backends

import (
	"strings"
	"testing"
)

func TestOfPrefix(t *testing.T) {
	long := "lockbench/r/" + strings.Repeat("c/", 30)
	for _, c := range []struct {
		prefix, app string
		want        bool
	}{
		{"lockbench/r/c/", "lockbench/r", true},
		{"lockbench/r/c/", "lockbench/r/worker-1", true},
		{"lockbench/r/c/", "lockbench/r/c/worker-1", true},
		{"lockbench/r/c/", "lockbench/r/cc/worker-1", false},
		{"lockbench/r/c/", "lockbench/rr", false},
		{"lockbench/r/c/", "psql", false},
		{"lockbench/r/", "lockbench/r/c/worker-1", true},
		{"lockbench/r/", "lockbench/r", true},
		{"lockbench/r", "lockbench/rr", true},
		{"lockbench/r", "psql", false},
		{long, (long + "worker")[:63], true},
		{long, (long + "worker")[:62], false},
		{"lockbench/r/a/b/", "lockbench/r/a/b/w", true},
		{"lockbench/r/a/b/", "lockbench/r/a/c/w", false},
	} {
		if got := ofPrefix(c.prefix, c.app); got != c.want {
			t.Errorf("prefix %q, app %q: got %v, want %v", c.prefix, c.app, got, c.want)
		}
	}
}
