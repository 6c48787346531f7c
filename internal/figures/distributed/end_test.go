package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/backends/backendtest"
)

// TestEnd measures a lock against its peers and a start for real, in too few rounds to decide.
func TestEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs lockbench")
	}
	backendtest.Shared(t, "redis") // or a skip, with the reason
	program := filepath.Join(t.TempDir(), "lockbench")
	if out, err := exec.Command("go", "build", "-pgo=off", "-buildvcs=false", "-o", program, "lockbench/cmd/lockbench").CombinedOutput(); err != nil {
		t.Fatalf("build lockbench: %v\n%s", err, out)
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-program", program, "-only", "peers-redis,start-redis", "-rounds", "2"}, groups(), &stdout, &stderr)
	got := stdout.String()
	for _, want := range []string{
		"peers-redis-pairs-1 ", "redis-vs-redsync-8 ",
		"\nfigure redis-vs-redsync (2 rounds have no 95 % interval: 6 or more have) ratio target >= 0.95 short\n",
		"\nfigure redis-vs-redislock (2 rounds have no 95 % interval: 6 or more have) ratio target >= 0.95 short\n",
		"\nfigure start-redis ", " s target <= 5 ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("stdout lacks %q:\n%s%s", want, got, stderr.String())
		}
	}
	if code != 1 || strings.Contains(got, "figure start-redis (") || strings.Contains(got, "%!") {
		t.Errorf("exit %d\n%s%s", code, got, stderr.String())
	}
}
