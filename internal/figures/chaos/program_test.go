package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script is a program in place of lockbench: it prints a plan, or copies records to where --out says, and ends with
// a code. The flags that it gets are in the file "flags" of the returned directory.
func script(t *testing.T, plan, records string, code int) (b *bench, dir string) {
	t.Helper()
	dir = t.TempDir()
	program := filepath.Join(dir, "lockbench")
	text := fmt.Sprintf(`#!/bin/sh
echo "$@" >> %[1]s/flags
if test "$1" = plan; then echo '%[2]s'; exit 0; fi
while test $# -gt 1; do if test "$1" = --out; then cp %[3]s "$2"; fi; shift; done
echo "lockbench: error: worse than expected: redis" >&2
exit %[4]d
`, dir, plan, records, code)
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return &bench{program: program, dir: t.TempDir(), seed: 7, say: func(string, ...any) {}}, dir
}

// TestMeasure: each group asks the program what its page says, and decides by what comes back.
func TestMeasure(t *testing.T) {
	const plan = `{"cells":[{"lock":"redis","topology":"redis","fault":"holder-pause","policy":"careless","rounds":3,"expected":"safe-with-fence"},` +
		`{"lock":"redis","topology":"redis","fault":"none","policy":"careful","rounds":3,"expected":"safe"}],"estimate_ns":60000000000}`
	records := file(t, "a", verdicts(t, "redis/redis/holder-pause/careless safe-with-fence safe-with-fence", "redis/redis/none/careful safe safe")...)
	for _, c := range []struct {
		only  string
		code  int
		want  string // the figures, or the error
		flags string // of the last call
	}{
		{"chaos-default-time", 3, "(exit code 3 after 0 s: error: worse than expected: redis) s target <= 120 short", "chaos --rounds 3"},
		{"chaos-ci-time", 0, "s target <= 600 ok", "chaos --rounds 3 --preset ci"},
		{"chaos-recovery-error", 0, "error: run 1: there is no verdict of control-ttl", "chaos --lock control-ttl --fault holder-kill --policy careful --rounds 3 --seed 8"},
		{"chaos-none-unsafe", 0, "figure chaos-none-unsafe 10 rounds target <= 0 short", "chaos --lock distributed --fault none --rounds 3 --seed 7"},
		{"chaos-repeat-redis", 5, "figure chaos-repeat-redis 100 pct target >= 100 ok", "chaos --lock redis --rounds 3 --seed 7 --fault holder-pause"},
		{"chaos-agree", 3, "figure chaos-agree 0 cells target <= 0 ok", "chaos --lock all --fault all --seed 7 --rounds 3"},
		{"chaos-agree", 1, "exit code 1: error: worse than expected: redis", "chaos --lock all --fault all --seed 7 --rounds 3"},
	} {
		b, dir := script(t, plan, records, c.code)
		for _, g := range groups() {
			targets := g.asked([]string{c.only})
			if len(targets) == 0 {
				continue
			}
			rep, err := g.measure(t.Context(), b, size{rounds: 3, repeat: 2}, targets)
			if got := line(rep, err); !strings.Contains(got, c.want) {
				t.Errorf("%s, exit code %d: got %s, want %s", c.only, c.code, got, c.want)
			}
		}
		flags, err := os.ReadFile(filepath.Join(dir, "flags"))
		lines := strings.Split(strings.TrimSpace(string(flags)), "\n")
		if last := lines[len(lines)-1]; err != nil || !strings.HasPrefix(last, c.flags+" --out ") || !strings.HasSuffix(last, " --progress none") {
			t.Errorf("%s: got flags %q, %v, want %q", c.only, last, err, c.flags)
		}
		if left, err := os.ReadDir(b.dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", c.only, left, err)
		}
	}
}

// TestFiles: with -file nothing is run.
func TestFiles(t *testing.T) {
	b, dir := script(t, `{"cells":[],"estimate_ns":1}`, os.DevNull, 1)
	b.files = []string{file(t, "a", verdicts(t, "redis/redis/none/careful safe safe")...), file(t, "b", verdicts(t, "etcd/etcd-3/none/careful safe safe")...)}
	rep, err := agree(t.Context(), b, size{}, target(t, "chaos-agree"))
	if got := line(rep, err); got != "figure chaos-agree 0 cells target <= 0 ok" || noted(t, rep, "chaos-agree-run") != 2 {
		t.Errorf("got %s, %+v", got, rep.Notes)
	}
	if flags, err := os.ReadFile(filepath.Join(dir, "flags")); err != nil || strings.Contains(string(flags), "--out") {
		t.Errorf("got flags %q, %v", flags, err)
	}
}

func TestProgramErrors(t *testing.T) {
	b, _ := script(t, "no JSON", os.DevNull, 0)
	if _, err := b.plan(t.Context()); err == nil || !strings.Contains(err.Error(), "lockbench plan chaos: invalid character") {
		t.Errorf("no plan: got %v", err)
	}
	if _, err := b.chaos(t.Context()); err == nil || !strings.Contains(err.Error(), "the file has no records") {
		t.Errorf("no records: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.chaos(ctx); err != context.Canceled {
		t.Errorf("interrupted: got %v", err)
	}
	b.program += "-none"
	if _, err := b.chaos(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no program: got %v", err)
	}
}
