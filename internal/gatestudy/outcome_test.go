package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fake is a study with programs that were built, and a lockbench of shell.
func fake(t *testing.T, script string) *study {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	locks := []string{"mcs", "mutex"}
	write("base", "program", 0o755)
	write("base.flags", ldflags(locks, map[string]uint32{"mcs": 0, "mutex": 0}, 0), 0o644)
	program := write("lockbench", "#!/bin/sh\n"+script, 0o755)
	var o options
	o, err := parse([]string{"-program", program, "-dir", dir, "-lock", strings.Join(locks, ",")}, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	return &study{o: o, stderr: new(bytes.Buffer), failed: map[string]error{}}
}

// TestRecordBadOutcome: a session with a repetition that ended badly is used,
// and names it; one that failed without any is not.
func TestRecordBadOutcome(t *testing.T) {
	const pairs = 4
	good := lines(t, pairs)
	bad := append([]string(nil), good...)
	bad[8] = strings.Replace(bad[8], `"outcome":"ok"`, `"outcome":"error","reason":"killed"`, 1)
	for _, c := range []struct {
		name  string
		lines []string
		code  int
		want  string // in the error, "" = none
		bad   int
	}{
		{"all well", good, 0, "", 0},
		{"an error", bad, 1, "", 1},
		{"a hang", bad, 3, "", 1},
		{"failed, but no repetition did", good, 1, "exit status 1", 0},
		{"incomplete", good[:len(good)-1], 1, "incomplete", 0},
		{"bad flags", good, 2, "exit status 2", 0},
	} {
		src := filepath.Join(t.TempDir(), "src.jsonl")
		if err := os.WriteFile(src, []byte(strings.Join(c.lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		st := fake(t, fmt.Sprintf("cp %q \"$4\"\nexit %d\n", src, c.code))
		rec, err := st.record(context.Background(), session{name: "x", old: []program{base()}, new: []program{again()}, workers: 1, pairs: pairs})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
			continue
		}
		if err == nil && len(rec.bad) != c.bad {
			t.Errorf("%s: bad repetitions: got %q, want %d", c.name, rec.bad, c.bad)
		}
		if err == nil && c.bad > 0 {
			st.parts = []part{{session: session{name: "x", title: "some session"}, rec: rec}}
			if got, want := st.about(), "**some session: 1 of 16 repetitions did not end well: error in pair 1 of "; !strings.Contains(got, want) {
				t.Errorf("%s: got\n%swant %q", c.name, got, want)
			}
		}
		// The second copy is the same file, by another name of another length.
		a, errA := os.ReadFile(filepath.Join(st.o.dir, base().name))
		b, errB := os.ReadFile(filepath.Join(st.o.dir, again().name))
		if errA != nil || errB != nil || string(a) != string(b) || len(base().name) == len(again().name) {
			t.Errorf("%s: the copy: %q, %v, of %q, %v", c.name, b, errB, a, errA)
		}
	}
}

// TestLiveWithoutVerdict: a gate that ends without a verdict is one of many.
func TestLiveWithoutVerdict(t *testing.T) {
	for _, c := range []struct {
		name, script string
		lost         bool
	}{
		{"no verdict", "exit 1\n", true},
		{"killed", "kill -9 $$\n", true},
		{"another exit code", `echo '{"verdict":"pass"}'; exit 4` + "\n", true},
		{"an error in a repetition", `echo '{"verdict":"inconclusive"}'; exit 5` + "\n", false},
	} {
		st := fake(t, c.script)
		g, err := st.runLive(context.Background(), 1, session{name: partSame, old: []program{base()}, new: []program{again()}, workers: 1})
		if errors.Is(err, errNoVerdict) != c.lost || (err == nil) == c.lost || (g == nil) != c.lost {
			t.Errorf("%s: got %+v, %v", c.name, g, err)
		}
	}
}
