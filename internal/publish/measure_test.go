package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench"
)

// asLockbench makes this test binary the program that measures.
const asLockbench = "PUBLISH_TEST_LOCKBENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asLockbench) != "" {
		os.Exit(lockbench.Main())
	}
	os.Exit(m.Run())
}

// measuring is a site, this test binary as the program, and a matrix.
func measuring(t *testing.T, matrix string) (*site, []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("measures")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asLockbench, "1")
	s, flags := newSite(t)
	path := filepath.Join(t.TempDir(), "m.yaml")
	writeText(t, path, matrix)
	return s, append(flags, "-program", self, "-matrix", path)
}

const tiny = "locks: [mutex, mcs-park]\nworkloads: [moderate]\nworkers: [1, all]\nreps: 2\nduration: 2ms\nwarmup: 1ms\ntimeout: 60s\n"

// TestMeasure: a measurement takes the place of an older one as a whole, and the
// page shows it.
func TestMeasure(t *testing.T) {
	s, flags := measuring(t, tiny)
	newFixture().write(t, s.out, acme)
	out := mustPublish(t, flags...)
	host := strings.TrimPrefix(strings.Split(strings.TrimPrefix(out, "published "), ":")[0], s.out+string(filepath.Separator))
	dir := filepath.Join(s.out, host)
	if got := readText(t, filepath.Join(dir, matrixName)); got != tiny {
		t.Errorf("the matrix beside the records is %q", got)
	}
	if !strings.Contains(readText(t, s.readme), "(published/"+host+"/table.md)") {
		t.Errorf("the page does not show %s:\n%s", host, readText(t, s.readme))
	}
	if list := readText(t, filepath.Join(s.out, indexName)); !strings.Contains(list, "## "+host+"\n") || !strings.Contains(list, "## "+acme+"\n") {
		t.Errorf("the index lacks a host:\n%s", list)
	}
	if err := os.RemoveAll(filepath.Join(s.out, acme)); err != nil {
		t.Fatal(err)
	}
	first := readText(t, filepath.Join(dir, rawName))
	writeText(t, filepath.Join(dir, "stale"), "of the first run")
	mustPublish(t, flags...)
	after := snapshot(t, s.out)
	if _, ok := after[filepath.Join(dir, "stale")]; ok || after[filepath.Join(dir, rawName)] == first {
		t.Error("the second measurement is mixed with the first")
	}
	for path := range after {
		if strings.Contains(path, hidden) {
			t.Errorf("%s is left over", path)
		}
	}
	mustPublish(t, append([]string{"-check"}, flags...)...)

	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range after {
		if strings.Contains(text, s.out) || len(name) > 8 && strings.Contains(text, name) {
			t.Errorf("%s contains the name or a path of this machine", path)
		}
	}
}

// TestNotPublished: whatever ends a measurement early leaves everything as it was.
func TestNotPublished(t *testing.T) {
	for _, c := range []struct {
		name, matrix string
		args         []string
		code         int
		want         string
		kept         int // files of records
	}{
		{"a lock that does not exclude", "locks: [broken-noop]\nworkloads: [max-contention]\nreps: 3\nduration: 200ms\n", nil, 3, "broken-noop/workload=max-contention/workers=2: violation in ", 1},
		{"bad matrix", "locks: [no-such-lock]\n", nil, 2, "nothing is published", 0},
		{"no matrix", tiny, []string{"-matrix", "no-such-file"}, 2, "read the matrix", 0},
		{"no program", tiny, []string{"-program", "no-such-program"}, 2, "no such program", 0},
		{"program is a directory", tiny, []string{"-program", "."}, 2, "no such program", 0},
		{"no page", tiny, []string{"-readme", "no-such-page"}, 2, "read the page", 0},
		{"page without markers", tiny, []string{"-readme", "main.go"}, 2, "want one each", 0},
		{"out is a file", tiny, []string{"-out", "main.go"}, 2, "make the directory", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, flags := measuring(t, c.matrix)
			newFixture().write(t, s.out, acme)
			before := snapshot(t, filepath.Dir(s.out))
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			code, stdout, stderr := publish(append(flags, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "publish: hint: ") {
				t.Errorf("exit %d, want %d; got %q and %q, want %q with a hint", code, c.code, stdout, stderr, c.want)
			}
			if !maps.Equal(before, snapshot(t, filepath.Dir(s.out))) {
				t.Error("files have changed")
			}
			kept, err := filepath.Glob(filepath.Join(temp, "lockbench-publish-*.jsonl"))
			if err != nil || len(kept) != c.kept || len(kept) > 0 && !strings.Contains(stderr, kept[0]) {
				t.Errorf("records kept: %v, %v, want %d, named in %q", kept, err, c.kept, stderr)
			}
		})
	}
}

// TestInterrupted: an interrupt ends the measurement, and nothing is published.
func TestInterrupted(t *testing.T) {
	s, flags := measuring(t, "locks: [mutex]\nworkloads: [moderate]\nreps: 1000\nduration: 100ms\n")
	before := snapshot(t, filepath.Dir(s.out))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // as soon as there is something to lose
		for ctx.Err() == nil {
			if found, _ := filepath.Glob(filepath.Join(s.out, hidden+"*", rawName)); len(found) > 0 {
				if st, err := os.Stat(found[0]); err == nil && st.Size() > 0 {
					cancel()
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, flags, &stdout, &stderr); code != 130 || !strings.Contains(stderr.String(), "interrupted: nothing is published") {
		t.Errorf("exit %d, want 130\n%s", code, &stderr)
	}
	if !maps.Equal(before, snapshot(t, filepath.Dir(s.out))) {
		t.Error("files have changed")
	}
}

// TestUsage: wrong flags are told before anything is done.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-check", "-regenerate"}, {"more"}, {"-no-such-flag"}, {"-out", ""}, {"-check", "-out", "no-such-directory"}} {
		if code, _, stderr := publish(args...); code != 2 || !strings.Contains(stderr, "publish: error: ") || !strings.Contains(stderr, "publish: hint: ") {
			t.Errorf("%q: exit %d, want 2\n%s", args, code, stderr)
		}
	}
}
