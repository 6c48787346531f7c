package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockbench/internal/cli"
	"lockbench/results"
)

const acme = "acme-fast-9-2cpu-kvm"

// TestPublished: what the repository publishes is what its records give, index
// and README included.
func TestPublished(t *testing.T) {
	code, stdout, stderr := publish("-check", "-out", "../../results/published", "-readme", "../../README.md")
	if code != 0 {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	t.Log(stdout)
}

// TestRegenerate: everything is made of raw.jsonl, where the directory lies does
// not matter, and a check finds whatever was changed.
func TestRegenerate(t *testing.T) {
	s, flags := newSite(t)
	dir := newFixture().write(t, s.out, acme)
	check := append([]string{"-check"}, flags...)
	if code, _, stderr := publish(check...); code == 0 || !strings.Contains(stderr, "table.md: the file is missing") {
		t.Errorf("check of an empty directory: exit %d, %s", code, stderr)
	}
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	if out := mustPublish(t, check...); !strings.Contains(out, "hosts: 1") {
		t.Errorf("check: got %q", out)
	}
	first := snapshot(t, filepath.Dir(s.out))

	for _, c := range []struct {
		name, file, want string
		change           func(string) error
	}{
		{"a figure of the table", tableName, "table.md: line", appendTo("| x |\n")},
		{"the page", pageName, "report.html: ", appendTo("<p>")},
		{"a chart is gone", "charts/throughput-moderate.svg", "throughput-moderate.svg: the file is missing", os.Remove},
		{"a chart of nothing", "charts/other.svg", "other.svg: nothing makes this file", appendTo("x")},
		{"the matrix is gone", matrixName, "matrix.yaml: the file is missing", os.Remove},
		{"the index", "../" + indexName, "README.md: ", appendTo("x")},
		{"the excerpt", "../../README.md", "README.md: line", func(p string) error {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			return os.WriteFile(p, bytes.Replace(b, []byte("| mutex"), []byte("| mutual"), 1), 0o644)
		}},
	} {
		path := filepath.Join(dir, filepath.FromSlash(c.file))
		before, existed := first[path]
		if err := c.change(path); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := publish(check...); code != 1 || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "make publish-tables") {
			t.Errorf("%s: exit %d, got %q, want it to say %q", c.name, code, stderr, c.want)
		}
		if c.file != matrixName {
			mustPublish(t, append([]string{"-regenerate"}, flags...)...)
		} else if existed {
			writeText(t, path, before)
		}
		if again := snapshot(t, filepath.Dir(s.out)); !maps.Equal(first, again) {
			t.Errorf("%s: written again, the files are not what they were", c.name)
		}
	}

	other, otherFlags := newSite(t)
	newFixture().write(t, other.out, acme)
	mustPublish(t, append([]string{"-regenerate"}, otherFlags...)...)
	elsewhere := snapshot(t, filepath.Dir(other.out))
	for path, text := range first {
		rel, _ := filepath.Rel(filepath.Dir(s.out), path)
		if elsewhere[filepath.Join(filepath.Dir(other.out), rel)] != text {
			t.Errorf("%s: another directory gives other bytes", rel)
		}
	}
}

func appendTo(text string) func(string) error {
	return func(path string) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(text)
		return err
	}
}

// TestAsReported: tables, page and charts are those of lockbench report.
func TestAsReported(t *testing.T) {
	s, _ := newSite(t)
	t.Chdir(newFixture().write(t, s.out, acme))
	m, err := read(".")
	if err != nil {
		t.Fatal(err)
	}
	reported := func(args ...string) []byte {
		var stdout, stderr bytes.Buffer
		if code := cli.Run(cli.Env{Args: append([]string{"report", rawName}, args...), Stdout: &stdout, Stderr: &stderr}); code != 0 {
			t.Fatalf("lockbench report %v: exit %d\n%s", args, code, &stderr)
		}
		return stdout.Bytes()
	}
	for name, format := range map[string]string{tableName: "markdown", pageName: "html"} {
		if got := m.files[name]; !bytes.Equal(got, reported("--format", format)) {
			t.Errorf("%s is not what lockbench report --format %s prints", name, format)
		}
	}
	reported("--charts", chartsName)
	files, err := os.ReadDir(chartsName)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := chartsName + "/" + f.Name()
		if got := m.files[name]; string(got) != readText(t, name) {
			t.Errorf("%s is not what lockbench report --charts writes", name)
		}
	}
	if want := len(m.files) - 2; len(files) != want || want < 5 {
		t.Errorf("lockbench report writes %d charts, here are %d", len(files), want)
	}
}

var links = regexp.MustCompile(`\]\(([^)]*)\)`)

// TestPages: links lead to files, the excerpt has the figures of the table, and
// the host of the excerpt stays until another one is measured.
func TestPages(t *testing.T) {
	s, flags := newSite(t)
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	if text := readText(t, s.readme); !strings.Contains(text, "No machine is [published](published/README.md) yet") {
		t.Errorf("without a host the page is %q", text)
	}
	newFixture().write(t, s.out, acme)
	zeta := newFixture()
	zeta.run.Host = map[string]any{"cpu_model": "Zeta", "logical_cpus": 64, "virtualized": false}
	zeta.write(t, s.out, "zeta-64cpu")
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	readme, list := readText(t, s.readme), readText(t, filepath.Join(s.out, indexName))
	if !strings.HasPrefix(readme, "# a page\n\n"+blockBegin+"\n") || !strings.HasSuffix(readme, "\n"+blockEnd+"\n\nmore\n") {
		t.Errorf("around the excerpt something has changed:\n%s", readme)
	}
	writeText(t, filepath.Join(s.out, matrixName), "locks: [all]\n")
	seen := 0
	for at, page := range map[string]string{filepath.Dir(s.readme): readme, s.out: list} {
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			seen++
			if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("a link leads nowhere: %v", err)
			}
		}
	}
	if seen < 15 {
		t.Errorf("the pages have %d links only", seen)
	}
	for _, want := range []string{"**moderate: 2 workers on 2 cores**", "**moderate: 8 workers on 2 cores", "| mutex ", " jain |", "| 95 % interval ",
		"(published/" + acme + "/charts/throughput-moderate.svg)", "(published/" + acme + "/charts/fairness-moderate-2w.svg)"} {
		if !strings.Contains(readme, want) {
			t.Errorf("the excerpt lacks %q:\n%s", want, readme)
		}
	}
	if strings.Contains(readme, "of-mine") || strings.Contains(readme, "max-contention") {
		t.Errorf("the excerpt shows more than it should:\n%s", readme)
	}

	all, err := s.hosts()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.writePages(all, "zeta-64cpu"); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	if readme = readText(t, s.readme); !strings.Contains(readme, "(published/zeta-64cpu/table.md)") {
		t.Errorf("the excerpt is not of the host that was chosen:\n%s", readme)
	}
	if err := os.RemoveAll(filepath.Join(s.out, "zeta-64cpu")); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	if readme = readText(t, s.readme); !strings.Contains(readme, "(published/"+acme+"/table.md)") {
		t.Errorf("the excerpt is not of the host that is left:\n%s", readme)
	}
}

// TestRefused: what is no complete run of one host is an error that says why.
func TestRefused(t *testing.T) {
	header := func(change func(*results.Run)) func(*fixture) { return func(f *fixture) { change(&f.run) } }
	first := func(change func(*results.Sample)) func(*fixture) {
		return func(f *fixture) {
			f.change = func(s *results.Sample) {
				if s.Lock == "mutex" && s.Workers == 2 && s.Rep == 3 {
					change(s)
				}
			}
		}
	}
	for _, c := range []struct {
		name, want string
		change     func(*fixture)
	}{
		{"no processor", "does not name the processor", header(func(r *results.Run) { r.Host = map[string]any{"logical_cpus": 2} })},
		{"processor of no letters", "does not name the processor", header(func(r *results.Run) { r.Host = map[string]any{"cpu_model": "...", "logical_cpus": 2} })},
		{"no number of CPUs", "0 logical CPUs", header(func(r *results.Run) { r.Host = map[string]any{"cpu_model": "Acme"} })},
		{"host is no object", "does not name the processor", header(func(r *results.Run) { r.Host = "here" })},
		{"no time", "is no time", header(func(r *results.Run) { r.Started = "yesterday" })},
		{"version", "program version", header(func(r *results.Run) { r.Program.Version = "`<b>`" })},
		{"more cells planned", "24 of 25 planned cells", header(func(r *results.Run) { r.CellsPlanned = 1 })},
		{"paired", "paired session", header(func(r *results.Run) { r.Programs = []results.SideProgram{{Side: "old"}} })},
		{"a runner's path", "header's spec.runners.toy is a path", header(func(r *results.Run) {
			r.Spec = map[string]any{"runners": map[string]string{"toy": "/home/me/toy.py"}}
		})},
		{"a label's path", "header's labels.dir is a path", header(func(r *results.Run) { r.Labels = map[string]string{"dir": "~/src"} })},
		{"another host's directory", "its records are of the host other-1cpu", header(func(r *results.Run) { r.Host = map[string]any{"cpu_model": "Other", "logical_cpus": 1} })},
		{"violation", "mutex/workload=max-contention/workers=2: violation in 1 of 7", first(func(s *results.Sample) { s.Outcome = results.OutcomeViolation })},
		{"hang", "hang in 1 of 7", first(func(s *results.Sample) { s.Outcome = results.OutcomeHang })},
		{"error", "error in 1 of 7", first(func(s *results.Sample) { s.Outcome = results.OutcomeError })},
		{"a repetition twice", "6 of 7 repetitions", first(func(s *results.Sample) { s.Rep = 2 })},
		{"all skipped", "every cell is skipped", func(f *fixture) {
			f.change = func(s *results.Sample) { s.Outcome = results.OutcomeSkipped }
		}},
		{"interrupted", "was interrupted", func(f *fixture) { f.tail = `{"type":"event","kind":"interrupted"}` + "\n" }},
		{"two runs", "2 runs in one file", func(f *fixture) { f.tail = `{"type":"run","schema":1,"run_id":"run-2"}` + "\n" }},
		{"a run twice", "2 runs in one file", func(f *fixture) { f.tail = `{"type":"run","schema":1,"run_id":"run-1"}` + "\n" }},
		{"cut off", "cut off", func(f *fixture) { f.tail = `{"type":"sam` }},
		{"a later type", `unknown type "later"`, func(f *fixture) { f.tail = `{"type":"later"}` + "\n" }},
		{"another schema", "schema version 2", header(func(r *results.Run) { r.Schema = 2 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, flags := newSite(t)
			f := newFixture()
			c.change(f)
			f.write(t, s.out, acme)
			before := snapshot(t, filepath.Dir(s.out))
			for _, mode := range []string{"-check", "-regenerate"} {
				code, _, stderr := publish(append([]string{mode}, flags...)...)
				if code == 0 || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "publish: hint: ") {
					t.Errorf("%s: exit %d, got %q, want it to say %q, with a hint", mode, code, stderr, c.want)
				}
			}
			if !maps.Equal(before, snapshot(t, filepath.Dir(s.out))) {
				t.Error("files have changed")
			}
		})
	}
}

// TestHostile: text from the records stays text.
func TestHostile(t *testing.T) {
	s, flags := newSite(t)
	f := newFixture()
	f.run.Host = map[string]any{
		"cpu_model": "Evil ../../<script>alert(1)</script> \x1b[31m](http://x) | `rm`", "logical_cpus": 2,
		"virtualized": true, "hypervisor": "x/../<b>", "kernel": "<img src=x>",
	}
	f.run.Workloads = []string{"<i>](javascript:1) | x"}
	f.run.Doubts = []string{"<script>"}
	f.locks = []string{"null", "a|b<script>", "c](http://x)"}
	name := "evil-script-alert-1-script-31m-http-x-rm-2cpu-x-b"
	f.write(t, s.out, name)
	mustPublish(t, append([]string{"-regenerate"}, flags...)...)
	mustPublish(t, append([]string{"-check"}, flags...)...)
	entries, err := os.ReadDir(s.out)
	if err != nil || len(entries) != 2 {
		t.Fatalf("the directory has %v, %v; want the index and %s", entries, err, name)
	}
	for _, path := range []string{s.readme, filepath.Join(s.out, indexName), filepath.Join(s.out, name, tableName)} {
		text := readText(t, path)
		for _, bad := range []string{"<script", "<img", "<b>", "<i>", "\x1b"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s contains %q", path, bad)
			}
		}
		for _, m := range links.FindAllStringSubmatchIndex(text, -1) {
			target := text[m[2]:m[3]]
			escaped := m[0] > 0 && text[m[0]-1] == '\\'
			if !escaped && strings.Contains(target, ":") {
				t.Errorf("%s has a link to %q", path, target)
			}
		}
	}
	if text := readText(t, s.readme); !strings.Contains(text, `a\|b&lt;script`) {
		t.Errorf("the excerpt has lost a row:\n%s", text)
	}
}
