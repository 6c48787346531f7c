//go:build linux

package cli_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/backends"
	"lockbench/internal/watchdog"
	"lockbench/results"
)

// TestChaosOnAGivenServer: a server of the user's gets the faults on its clients, and nothing else happens to it; no
// Docker is needed for that.
func TestChaosOnAGivenServer(t *testing.T) {
	docker, err := haveDocker()
	if err != nil {
		t.Fatal(err)
	}
	if !docker {
		t.Skip("no Docker engine, or no image of Redis")
	}
	owner, err := watchdog.Self()
	if err != nil {
		t.Fatal(err)
	}
	c, err := backends.Open(t.Context(), "redis", backends.Options{RunID: "given-test", Owner: owner.Labels()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	node := c.Nodes()[0]
	if _, err := node.Exec(t.Context(), nil, "redis-cli", "-p", port(node.Addr), "set", "mine", "7"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	out := filepath.Join(t.TempDir(), "g.jsonl")
	r := startChaos(t, "--backend", "redis=redis://"+node.Addr, "--lock", "redis", "--fault", "holder-kill,holder-cutoff,server-kill,server-restart-empty",
		"--policy", "careful", "--rounds", "1", "--out", out, "--format", "csv")
	if code := r.wait(t); code != 0 {
		t.Errorf("exit %d: %s", code, &r.stderr)
	}
	r.nothingLeft(t, false)
	b := results.NewBuilder()
	if err := b.AddFile(out); err != nil {
		t.Fatal(err)
	}
	seen := map[string]*results.ChaosVerdict{}
	for _, v := range b.Report().Runs[0].Chaos.Verdicts {
		seen[v.Fault] = v
	}
	for _, x := range []struct{ fault, verdict, reason string }{
		{"holder-kill", results.VerdictSafe, ""},
		{"holder-cutoff", results.VerdictSafe, ""},
		{"server-kill", results.VerdictSkipped, "the servers are given"},
		{"server-restart-empty", results.VerdictSkipped, "the servers are given"},
	} {
		v := seen[x.fault]
		if v == nil {
			t.Errorf("%s: no verdict", x.fault)
		} else if v.Verdict != x.verdict || !strings.Contains(v.Reason, x.reason) || v.Network != backends.NetworkGiven || v.Orphans != 0 {
			t.Errorf("%s: got %s (%s) on network %q, %d orphans; want %s (%s)", x.fault, v.Verdict, v.Reason, v.Network, v.Orphans, x.verdict, x.reason)
		}
	}
	// The server has what it had: what the run had made is gone, and what is the user's is not.
	keys, err := node.Exec(t.Context(), nil, "redis-cli", "-p", port(node.Addr), "keys", "*")
	if left := strings.Fields(keys); err != nil || !slices.Equal(left, []string{"mine"}) {
		t.Errorf("keys on the server: %q, %v", left, err)
	}
}

func port(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }
