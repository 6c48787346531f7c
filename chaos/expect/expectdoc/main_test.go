package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/backends"
	"lockbench/chaos"
	"lockbench/chaos/expect"
	"lockbench/impls"
)

// root is the project's, from the folder of this test.
const root = "../../.."

// TestUpToDate is what make lint checks.
func TestUpToDate(t *testing.T) {
	var stderr bytes.Buffer
	if code := run([]string{"-check"}, root, &stderr); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
}

// TestSubjects: each cell that a run can have is one that is checked.
func TestSubjects(t *testing.T) {
	all, faults := subjects(impls.Catalog(), chaos.Faults(), backends.Topologies())
	checked := map[expect.Cell]bool{}
	for _, c := range expect.Cells(all) {
		checked[c] = true
	}
	of := func(service string) (names []string) {
		for _, top := range backends.Topologies() {
			if top.Service == service {
				names = append(names, top.Name)
			}
		}
		return names
	}
	choice := chaos.Choice{Locks: impls.Catalog(), Faults: faults, Topologies: of, Named: true,
		Policies: []string{chaos.Careful, chaos.Careless, chaos.Protected}}
	n := 0
	for _, c := range chaos.Cells(choice) {
		if c.Lock.Control {
			continue
		}
		n++
		if key := (expect.Cell{Lock: c.Lock.Name, Topology: c.Topology.Name, Fault: c.Fault.Name, Policy: c.Policy}); !checked[key] {
			t.Errorf("%v can be run, and is not checked", key)
		}
	}
	if n == 0 {
		t.Error("no cell can be run")
	}
}

// TestSkips: what theory takes for impossible is what the catalogue of faults skips, and the reverse.
func TestSkips(t *testing.T) {
	table, err := expect.Load(chaos.ExpectYAML)
	if err != nil {
		t.Fatal(err)
	}
	_, faults := subjects(impls.Catalog(), chaos.Faults(), backends.Topologies())
	choice := chaos.Choice{Locks: impls.Catalog(), Faults: faults, Named: true, Policies: []string{chaos.Careful, chaos.Careless, chaos.Protected},
		Topologies: func(service string) (names []string) {
			for _, top := range backends.Topologies() {
				if top.Service == service {
					names = append(names, top.Name)
				}
			}
			return names
		}}
	for _, c := range chaos.Cells(choice) {
		if c.Lock.Control || c.Lock.Unavailable != "" || c.Fault.Name == chaos.HolderVanish { // that one depends on the machine
			continue
		}
		e, _ := table.Lookup(c.Lock.Name, c.Topology.Name, c.Fault.Name, c.Policy)
		if (e.Verdict == "skipped") != (c.Skip != "") {
			t.Errorf("%s: expected %s (%s), but the plan skips it for %q", c.Name(), e.Verdict, e.Why, c.Skip)
		}
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, document)
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	findings, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "FINDINGS.md")) // to which expect.yaml leads
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(filepath.Join(dir, "docs", "FINDINGS.md"), findings, 0o644)); err != nil {
		t.Fatal(err)
	}
	begin, end := marks.Begin+"\n", marks.End+"\n"
	for _, tc := range []struct {
		name, doc string
		args      []string
		code      int
		want      string
	}{
		{"an unknown flag", "", []string{"-x"}, 2, "flag provided but not defined"},
		{"an argument", "", []string{"x"}, 2, `unexpected argument "x"`},
		{"no document", "", nil, 1, "read the document"},
		{"no markers", "text\n", nil, 1, "there is no line"},
		{"one marker", "text\n" + begin, nil, 1, "behind the other one"},
		{"out of date", begin + "old\n" + end, []string{"-check"}, 1, "is not up to date"},
		{"written", "head\n" + begin + "old\n" + end + "tail\n", nil, 0, ""},
		{"up to date", "", []string{"-check"}, 0, ""},
	} {
		if tc.doc != "" {
			write(tc.doc)
		}
		var stderr bytes.Buffer
		if code := run(tc.args, dir, &stderr); code != tc.code || !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%s: got exit code %d, %q, want %d, %q", tc.name, code, stderr.String(), tc.code, tc.want)
		}
	}
	b, err := os.ReadFile(path)
	if text := string(b); err != nil || !strings.HasPrefix(text, "head\n"+begin+"\n### none\n") || !strings.HasSuffix(text, "|\n\n"+end+"tail\n") {
		t.Errorf("got %v, %.200q ... %.200q", err, text, text[max(0, len(text)-200):])
	}
}

func TestHeading(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "F.md"), []byte("# A\n\n## zk-recipe: two holders, `T`\nno heading\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ place, want string }{
		{"F.md#zk-recipe-two-holders-t", ""},
		{"F.md#a", ""},
		{"F.md#no-heading", "no such heading"},
		{"F.md", "want FILE#heading"},
		{"G.md#a", "no such file"},
	} {
		err := heading(dir, tc.place)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%q: got %v, want %q", tc.place, err, tc.want)
		}
	}
}
