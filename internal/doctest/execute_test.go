package doctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/results/gate"
	"lockbench/workloads"
)

// guard ends a command that hangs; it asserts nothing about speed.
const guard = 10 * time.Minute

// place is where commands run: a copy of the repository, and lockbench.
type place struct {
	dir     string
	path    string // PATH
	targets []string
}

// newPlace makes the copy and builds lockbench.
func newPlace(t *testing.T) *place {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	p := &place{dir: filepath.Join(t.TempDir(), "lockbench")}
	if err := copyTree(root, p.dir); err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	p.path = tools + string(os.PathListSeparator) + filepath.Dir(bash) + string(os.PathListSeparator) + os.Getenv("PATH")
	build := exec.Command("go", "build", "-pgo=off", "-buildvcs=false", "-o", filepath.Join(tools, "lockbench"), "./cmd/lockbench")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	if p.targets, err = makeTargets(filepath.Join(root, "Makefile")); err != nil {
		t.Fatal(err)
	}
	return p
}

// copyTree copies the files that are not built.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bin", "out"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, info.Mode().Perm())
	})
}

var targetRE = regexp.MustCompile(`(?m)^([a-z][a-z-]*):([^=]|$)`)

func makeTargets(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range targetRE.FindAllSubmatch(b, -1) {
		out = append(out, string(m[1]))
	}
	return out, nil
}

// errNoPython is why a command is not run.
var errNoPython = errors.New("no python3")

// check executes a command and returns what is wrong with it.
func (p *place) check(c command) error {
	if rest, ok := strings.CutPrefix(c.text, "make "); ok {
		return p.checkMake(rest)
	}
	if _, err := exec.LookPath("python3"); err != nil && strings.Contains(c.text, ".py") {
		return errNoPython
	}
	before, err := files(p.dir)
	if err != nil {
		return err
	}
	out, code, err := p.run("bash", "-c", c.text)
	if err != nil {
		return err
	}
	if code != c.exit {
		return fmt.Errorf("exit %d, want %d\n%s", code, c.exit, out)
	}
	after, err := files(p.dir)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(out)) == 0 && before == after {
		return errors.New("it printed nothing and left no file")
	}
	return nil
}

// checkMake looks for the targets; variables are not targets.
func (p *place) checkMake(args string) error {
	for _, a := range strings.Fields(args) {
		if !strings.Contains(a, "=") && !slices.Contains(p.targets, a) {
			return fmt.Errorf("the Makefile has no target %q", a)
		}
	}
	return nil
}

// run runs a program in the copy and returns all that it printed.
func (p *place) run(name string, args ...string) (out []byte, code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PATH="+p.path)
	cmd.WaitDelay = 10 * time.Second
	out, err = cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	if err != nil {
		return out, 0, fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return out, cmd.ProcessState.ExitCode(), nil
}

// files describes names, sizes and times of all files of the copy.
func files(dir string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return b.String(), err
}

// needsDocker is the kind of block whose commands start servers.
const needsDocker = "sh docker"

// docker skips a test where no servers can be started, unless they must be.
func docker(t *testing.T, p *place) {
	t.Helper()
	out, code, err := p.run("bash", "-c", "lockbench env")
	if err != nil || code != 0 {
		t.Fatalf("lockbench env: exit %d, %v", code, err)
	}
	_, servers, _ := strings.Cut(string(out), "servers for distributed locks:")
	if i := strings.Index(servers, "missing"); i >= 0 {
		line, _, _ := strings.Cut(servers[i:], "\n")
		if os.Getenv("LOCKBENCH_REQUIRE_DOCKER") != "" {
			t.Fatal("LOCKBENCH_REQUIRE_DOCKER is set: " + line)
		}
		t.Skip(line)
	}
}

// TestCommands executes all sh blocks, in order.
func TestCommands(t *testing.T) {
	p := newPlace(t)
	ran := 0
	for _, page := range pages(t) {
		for _, b := range page.blocks {
			if b.kind != "sh" && b.kind != needsDocker {
				continue
			}
			for _, c := range b.commands() {
				ran++
				t.Run(fmt.Sprintf("%s:%d", page.path, c.line), func(t *testing.T) {
					if b.kind == needsDocker {
						docker(t, p)
					}
					err := p.check(c)
					if errors.Is(err, errNoPython) {
						t.Skip(err)
					}
					if err != nil {
						t.Errorf("%s:%d: %s: %v", page.path, c.line, c.text, err)
					}
				})
			}
		}
	}
	if ran < 20 {
		t.Errorf("found %d commands only", ran)
	}
	// A check that finds nothing is none.
	for _, c := range []command{
		{text: "lockbench no-such-verb"}, {text: "lockbench version", exit: 2}, {text: "true"}, {text: "make no-such-target"},
	} {
		if p.check(c) == nil {
			t.Errorf("%q (exit %d) should be an error", c.text, c.exit)
		}
	}
}

// TestBlocks puts yaml and python blocks to the use that they are shown for.
func TestBlocks(t *testing.T) {
	p := newPlace(t)
	yaml, rules, python := 0, 0, 0
	for _, page := range pages(t) {
		for _, b := range page.blocks {
			name := fmt.Sprintf("%s:%d", page.path, b.line)
			switch {
			case b.kind == "yaml" && rulesRE.MatchString(b.text):
				rules++
				t.Run(name, func(t *testing.T) {
					if _, err := gate.ParseRules(page.path, []byte(b.text)); err != nil {
						t.Error(err)
					}
				})
			case b.kind == "yaml":
				yaml++
				t.Run(name, func(t *testing.T) { p.plan(t, b.text) })
			case b.kind == "python" && strings.HasPrefix(b.text, "#!"):
				python++
				t.Run(name, func(t *testing.T) { p.runner(t, b.text) })
			}
		}
	}
	if yaml == 0 || rules == 0 || python == 0 {
		t.Errorf("found %d yaml, %d rules and %d python blocks", yaml, rules, python)
	}
}

// rulesRE tells rules of a gate from settings.
var rulesRE = regexp.MustCompile(`(?m)^(rules|chaos):`)

func (p *place) plan(t *testing.T, text string) {
	file := filepath.Join(t.TempDir(), "matrix.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, code, err := p.run("bash", "-c", `lockbench plan -f "$0"`, file)
	if err != nil || code != 0 || len(out) == 0 {
		t.Errorf("lockbench plan -f: exit %d, %v\n%s", code, err, out)
	}
}

func (p *place) runner(t *testing.T, text string) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	file := filepath.Join(t.TempDir(), "runner.py")
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	out, code, err := p.run("bash", "-c",
		`lockbench run --runner shown="$0" --workload uncontended --reps 2 --duration 20ms --format csv`, file)
	if err != nil || code != 0 {
		t.Fatalf("lockbench run --runner: exit %d, %v\n%s", code, err, out)
	}
	if !regexp.MustCompile(`(?m)^.*\bshown\b.*,ok,`).Match(out) {
		t.Errorf("the runner has no ok row:\n%s", out)
	}
}

// TestToyRunner: the example in the tree measures, alone and contended, in
// fixed time and fixed work, and declines what it does not know.
func TestToyRunner(t *testing.T) {
	p := newPlace(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	for _, c := range []struct{ flags, want string }{
		{"--workload uncontended --duration 20ms", ",ok,"},
		{"--workload max-contention --section 20 --think uniform:10-30 --duration 20ms", ",ok,"},
		{"--workload max-contention --ops 2000", ",ok,"},
		{"--workload read-mostly --duration 20ms", ",skipped,"},
	} {
		out, code, err := p.run("bash", "-c", "lockbench run --runner toy=examples/runner/toy-runner.py --reps 2 --format csv "+c.flags)
		if err != nil || code != 0 {
			t.Errorf("%s: exit %d, %v\n%s", c.flags, code, err, out)
			continue
		}
		if !regexp.MustCompile(`(?m)^.*\btoy\b.*` + c.want).Match(out) {
			t.Errorf("%s: no row of toy with %q:\n%s", c.flags, c.want, out)
		}
	}
}

var flagRE = regexp.MustCompile("`[^`]*`")
var nameRE = regexp.MustCompile(`--[a-z][a-z-]*`)

// TestFlags: flags in running text, in backquotes, are flags of lockbench.
func TestFlags(t *testing.T) {
	p := newPlace(t)
	help := ""
	for _, verb := range []string{"run", "plan", "chaos", "plan chaos", "report", "compare", "ab", "gate", "list locks", "env", "version", "completion"} {
		out, code, err := p.run("bash", "-c", "lockbench "+verb+" --help")
		if err != nil || code != 0 {
			t.Fatalf("lockbench %s --help: exit %d, %v\n%s", verb, code, err, out)
		}
		help += string(out)
	}
	known := nameRE.FindAllString(help, -1)
	seen := 0
	for _, page := range pages(t) {
		for _, code := range flagRE.FindAllString(prose(page.text), -1) {
			for _, f := range nameRE.FindAllString(code, -1) {
				seen++
				if !slices.Contains(known, f) {
					t.Errorf("%s: %s: lockbench has no flag %s", page.path, code, f)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("found %d flags only", seen)
	}
}

// TestPresets: the table of docs/WORKLOADS.md is the list of presets.
func TestPresets(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "docs", "WORKLOADS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range workloads.Presets() {
		row := "| `" + p.Name + "` | " + p.Spec().Workers.String() + " |"
		_, rest, ok := strings.Cut(string(b), row)
		if !ok {
			t.Errorf("docs/WORKLOADS.md has no row %q", row)
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		for _, knob := range strings.Fields(p.Knobs) {
			if !strings.HasPrefix(knob, "workers=") && !strings.Contains(line, knob) {
				t.Errorf("docs/WORKLOADS.md, %s: the row lacks %q:%s", p.Name, knob, line)
			}
		}
		for _, code := range flagRE.FindAllString(line, -1) {
			for _, knob := range strings.Fields(strings.Trim(code, "`")) {
				if !slices.Contains(strings.Fields(p.Knobs), knob) {
					t.Errorf("docs/WORKLOADS.md, %s: the preset does not have %q", p.Name, knob)
				}
			}
		}
	}
}
