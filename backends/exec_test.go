package backends_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockbench/backends/backendtest"
)

// TestExec runs programs in a server's container: output, environment, and their ends.
func TestExec(t *testing.T) {
	n := backendtest.Shared(t, "redis").Nodes()[0]
	for _, c := range []struct {
		name, want, err string
		argv            []string
	}{
		{"output", "out\n", "", []string{"sh", "-c", "echo out; echo err >&2"}},
		{"environment, and nothing to read", "secret\n", "", []string{"sh", "-c", "cat; echo $WORD"}},
		{"exit code", "some\n", "exit code 3: why it failed", []string{"sh", "-c", "echo some; echo why it failed >&2; exit 3"}},
		{"no such program", "", "exit code 12", []string{"no-such-program"}}, // 126 or 127
	} {
		out, err := n.Exec(t.Context(), []string{"WORD=secret"}, c.argv...)
		if c.name != "no such program" && out != c.want { // Docker says why on one stream or the other
			t.Errorf("%s: got output %q, want %q", c.name, out, c.want)
		}
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error tells the environment: %v", c.name, err)
		}
	}
}

// TestExecEnds returns when its context ends, whatever the program does.
func TestExecEnds(t *testing.T) {
	n := backendtest.Fresh(t, "redis").Nodes()[0] // the program goes with the container
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := n.Exec(ctx, nil, "sleep", "600"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
}
