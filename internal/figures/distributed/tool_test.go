package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/backends/backendtest"
	"lockbench/lock"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

// script puts a program into a directory, which becomes the first of PATH.
func script(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestFind(t *testing.T) {
	for _, where := range []string{toolsAuto, toolsPath, toolsContainer} {
		_, err := find(t.Context(), "no-such-tool", where, nil)
		want := map[string][]string{
			toolsAuto: {"no-such-tool is not in PATH", "no container to run no-such-tool in"}, toolsPath: {"not in PATH"}, toolsContainer: {"no container"}}[where]
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want an error with %q", where, err, w)
			}
		}
	}
	script(t, "some-tool", `if [ "$1" = --version ]; then echo some-tool 1.2; echo more; exit 0; fi
echo "got $WORD $*"; echo complaint >&2; exit "$2"`)
	tl, err := find(t.Context(), "some-tool", toolsAuto, nil)
	if err != nil || tl.version != "some-tool 1.2" || tl.where != "from PATH" {
		t.Fatalf("got %+v, %v", tl, err)
	}
	if out, err := tl.limited(t.Context(), []string{"WORD=secret"}, "some-tool", "a", "0"); err != nil || out != "got secret a 0\n" {
		t.Errorf("got %q, %v", out, err)
	}
	_, err = tl.limited(t.Context(), []string{"WORD=secret"}, "some-tool", "password", "3")
	if err == nil || !strings.Contains(err.Error(), "exit status 3: complaint") || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "password") {
		t.Errorf("a tool that fails: got %v", err)
	}
	script(t, "broken-tool", "echo will not >&2; exit 1")
	if _, err := find(t.Context(), "broken-tool", toolsPath, nil); err == nil || !strings.Contains(err.Error(), "will not") {
		t.Errorf("a tool that does not tell its version: got %v", err)
	}
}

// TestPgPairs gives pgbench what it needs, and the password by its environment only.
func TestPgPairs(t *testing.T) {
	script(t, "pgbench", `[ "$1" = --version ] && { echo pgbench; exit 0; }
[ "$PGPASSWORD" = secret ] || { echo no password >&2; exit 1; }
[ "$*" = "-h 127.0.0.1 -p 7000 -U me -n -M prepared -f - -c 1 -T 1 -D k=`+pgKey+` mine" ] || { echo "called with $*" >&2; exit 1; }
[ "$(cat)" = "SELECT pg_advisory_lock(:k::int8);
SELECT pg_advisory_unlock(:k::int8);" ] || { echo another script >&2; exit 1; }
echo "tps = 1234.5 (without initial connection time)"`)
	tl, err := find(t.Context(), "pgbench", toolsPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	target := lock.Target{Addrs: []string{"127.0.0.1:7000"}, User: "me", Password: "secret", Database: "mine"}
	if v, err := pgPairs(t.Context(), tl, target); err != nil || v != 1234.5 {
		t.Errorf("got %v, %v", v, err)
	}
	target.Password = "wrong"
	if _, err := pgPairs(t.Context(), tl, target); err == nil || !strings.Contains(err.Error(), "no password") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("wrong password: got %v", err)
	}
}

// TestTools runs the real tools, those of the servers' images, against real servers.
func TestTools(t *testing.T) {
	t.Run("redis-benchmark", func(t *testing.T) {
		c := backendtest.Shared(t, "redis")
		needHost(t, c)
		tl, err := find(t.Context(), "redis-benchmark", toolsContainer, c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := newRedisBench(t.Context(), tl, c, 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.close() }()
		before := refused(t, r) // greetings of clients that ask for what the server does not know
		for _, s := range []side{r.command("set", 1, false, r.set), r.command("eval", 2, false, r.eval),
			r.command("fresh-set", 2, true, r.set), r.command("fresh-eval", 1, true, r.eval)} {
			v, err := s.run(t.Context())
			if err != nil || !(v[s.name] > 0) {
				t.Errorf("%s: got %v, %v", s.name, v, err)
			}
			left, err := r.client.DBSize(t.Context()).Result()
			n := int64(r.requests[s.name])
			want := map[string]bool{"set": left <= 1, "eval": left == 0, "fresh-set": left > 500, "fresh-eval": left >= spread*1000-n && left > 0}
			if err != nil || !want[s.name] {
				t.Errorf("%s: left %d keys, %v", s.name, left, err)
			}
			if e := refused(t, r); e != before {
				t.Errorf("%s: requests were answered with errors: %s in all, before %s", s.name, e, before)
			}
		}
	})
	t.Run("pgbench", func(t *testing.T) {
		c := backendtest.Shared(t, "postgres")
		needHost(t, c)
		tl, err := find(t.Context(), "pgbench", toolsContainer, c)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := pgPairs(t.Context(), tl, c.Target()); err != nil || !(v > 0) {
			t.Errorf("got %v, %v", v, err)
		}
	})
}

// refused is how many requests the server has answered with an error.
func refused(t *testing.T, r *redisBench) string {
	t.Helper()
	info, err := r.client.InfoMap(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	return info["Stats"]["total_error_replies"]
}

func needHost(t *testing.T, c *backends.Cluster) {
	t.Helper()
	if n := c.Facts().Network; n != backends.NetworkHost {
		t.Skipf("tools in containers need the host's network; here it is %s", n)
	}
}
