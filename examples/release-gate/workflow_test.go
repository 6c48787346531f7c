package releasegate

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockbench/results/gate"
	"lockbench/workloads"
)

const workflowFile = ".github/workflows/release-gate.yml"

type workflow struct {
	Name        string            `yaml:"name"`
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Concurrency map[string]any    `yaml:"concurrency"`
	Env         map[string]string `yaml:"env"`
	Defaults    struct {
		Run struct {
			Shell string `yaml:"shell"`
		} `yaml:"run"`
	} `yaml:"defaults"`
	Jobs map[string]struct {
		RunsOn  string `yaml:"runs-on"`
		Timeout int    `yaml:"timeout-minutes"`
		Steps   []step `yaml:"steps"`
	} `yaml:"jobs"`
}

type step struct {
	Name string            `yaml:"name"`
	If   string            `yaml:"if"`
	Uses string            `yaml:"uses"`
	With map[string]any    `yaml:"with"`
	Env  map[string]string `yaml:"env"`
	Run  string            `yaml:"run"`
}

// github are the steps that need GitHub's services, and what stands for them
// here. A step with "uses" that is not named here fails the test.
var github = map[string]string{
	"Check out with history": "the test clones a repository of its own",
	"Set up Go":              "the Go that runs the test",
	"Keep the records":       "there is nowhere to upload to; the files stay in RUNNER_TEMP",
}

// always is the condition of steps that also run after a failure.
const always = "${{ !cancelled() }}"

func load(t *testing.T) workflow {
	t.Helper()
	b, err := os.ReadFile(workflowFile)
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.UnmarshalWithOptions(b, &w, yaml.Strict()); err != nil {
		t.Fatalf("%s: %s", workflowFile, yaml.FormatError(err, false, true))
	}
	return w
}

// TestWorkflow checks what need not run to be wrong.
func TestWorkflow(t *testing.T) {
	w := load(t)
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	text, err := os.ReadFile(workflowFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 1 || w.Defaults.Run.Shell != "bash" || w.Permissions["contents"] != "read" || len(w.Permissions) != 1 {
		t.Errorf("jobs %d, shell %q, permissions %v", len(w.Jobs), w.Defaults.Run.Shell, w.Permissions)
	}
	seen := map[string]bool{}
	for _, s := range w.Jobs["gate"].Steps {
		switch {
		case s.Name == "" || seen[s.Name] || (s.Uses == "") == (s.Run == ""):
			t.Errorf("step %+v: want a name of its own, and either uses or run", s)
		case s.Uses != "" && github[s.Name] == "":
			t.Errorf("step %q needs GitHub; say in this test what stands for it", s.Name)
		case s.Uses != "" && !pinned.MatchString(s.Uses):
			t.Errorf("step %q: %s is not pinned to a commit", s.Name, s.Uses)
		case s.Uses != "" && !regexp.MustCompile(regexp.QuoteMeta(s.Uses)+` # v\d+\.\d+\.\d+\n`).Match(text):
			t.Errorf("step %q: no tag beside the commit of %s", s.Name, s.Uses)
		case strings.Contains(s.Run, "${{"):
			t.Errorf("step %q puts an expression into its script: a branch's name could be a command; pass it in env", s.Name)
		case s.If != "" && s.If != always:
			t.Errorf("step %q: condition %q is not known to this test", s.Name, s.If)
		}
		seen[s.Name] = true
	}
	for name := range github {
		if !seen[name] {
			t.Errorf("there is no step %q", name)
		}
	}
}

// TestRules sees that the shipped rules and matrix are about each other.
func TestRules(t *testing.T) {
	w := load(t)
	b, err := os.ReadFile(w.Env["RULES"])
	if err != nil {
		t.Fatal(err)
	}
	rules, err := gate.ParseRules(w.Env["RULES"], b)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(w.Env["MATRIX"]); err != nil {
		t.Fatal(err)
	}
	var m struct {
		Locks     []string `yaml:"locks"`
		Workloads []string `yaml:"workloads"`
		Cores     []int    `yaml:"cores"`
	}
	if err := yaml.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	var cells []gate.Cell
	seen := map[string]int{}
	for _, l := range m.Locks {
		for _, load := range m.Workloads {
			w, err := workloads.Get(load)
			if err != nil {
				t.Fatal(err)
			}
			for _, cores := range m.Cores {
				n := w.Workers.On(cores)
				seen[load] = n
				cells = append(cells, gate.Cell{Name: fmt.Sprintf("%s/%s/%d", l, load, n), Lock: l, Workload: load, Workers: n})
			}
		}
	}
	if _, err := gate.New(rules, cells, 128); err != nil {
		t.Errorf("rules and matrix: %v", err)
	}
	if seen["uncontended"] != 1 || seen["moderate"] != 2 {
		t.Errorf("workers: got %v, want one without contention and two with", seen)
	}
}

// A repository is a clone as actions/checkout would leave it, with a branch to
// merge into and the commit to gate checked out.
type repository struct{ dir string }

func (r repository) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepository makes a repository of the custom lock, tagged, with a second
// commit in which edit changed lock.go, and clones it.
func newRepository(t *testing.T, edit func(string) string) repository {
	t.Helper()
	origin := repository{filepath.Join(t.TempDir(), "origin")}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(origin.dir, os.DirFS("../customlock")); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(origin.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(origin.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(origin.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	write("go.mod", strings.Replace(read("go.mod"), "=> ../..", "=> "+root, 1))
	// Small: the example's own rules and matrix measure for half an hour.
	write("gate/rules.yaml", "rules:\n  - name: speed\n    lock: graunke-*\n    metric: throughput_ops_s\n    max-regression: 90%\n")
	write("gate/matrix.yaml", "locks: [graunke-thakkar]\nworkloads: [uncontended]\nworkers: [1]\nduration: 5ms\nprobe: 2ms\nwarmup: 1ms\n")
	origin.git(t, "init", "--quiet", "--initial-branch=main")
	origin.git(t, "add", ".")
	origin.git(t, "commit", "--quiet", "-m", "the first release")
	origin.git(t, "tag", "v1.0.0")
	origin.git(t, "checkout", "--quiet", "-b", "change")
	before := read("lock.go")
	after := edit(before)
	if after == before {
		t.Fatal("the edit changes nothing: lock.go of examples/customlock is not what this test expects")
	}
	write("lock.go", after)
	origin.git(t, "commit", "--quiet", "-am", "a change")
	clone := repository{filepath.Join(t.TempDir(), "clone")}
	repository{t.TempDir()}.git(t, "clone", "--quiet", "--branch", "change", origin.dir, clone.dir)
	return clone
}

// A run is what a job left behind.
type run struct {
	temp, summary string
	log           map[string]string // step -> its output
	code          int               // of the step that failed, 0 = none
	failed        string            // its name
}

// runSteps runs the job as GitHub does: each script in a bash of its own, with
// the variables that steps before it have set; after a failure, only the steps
// that say so. baseRef is the branch of a pull request, "" for a tag.
func runSteps(t *testing.T, w workflow, repo repository, baseRef string) run {
	t.Helper()
	temp := t.TempDir()
	envFile, summary := filepath.Join(temp, "env"), filepath.Join(temp, "summary.md")
	r := run{temp: temp, log: map[string]string{}}
	env := maps.Clone(w.Env)
	env["PROGRAM"], env["BUDGET"] = ".", "64"
	env["RUNNER_TEMP"], env["GITHUB_ENV"], env["GITHUB_STEP_SUMMARY"] = temp, envFile, summary
	for _, s := range w.Jobs["gate"].Steps {
		if why := github[s.Name]; why != "" {
			t.Logf("step %q is skipped: %s", s.Name, why)
			continue
		}
		if r.failed != "" && s.If != always {
			continue
		}
		vars := maps.Clone(env)
		for k, v := range s.Env {
			if v != "${{ github.base_ref }}" {
				t.Fatalf("step %q: %s: expression %q is not known to this test", s.Name, k, v)
			}
			vars[k] = baseRef
		}
		out, err := script(repo.dir, s.Run, vars)
		r.log[s.Name] = out
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			r.code, r.failed = exit.ExitCode(), s.Name
		case err != nil:
			t.Fatal(err)
		}
		set, err := os.ReadFile(envFile)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(set)) {
			if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				env[k] = v
			}
		}
	}
	b, err := os.ReadFile(summary)
	if err != nil {
		t.Fatalf("no job summary: %v; steps: %v", err, r.log)
	}
	r.summary = string(b)
	return r
}

// script runs a script as "shell: bash" does.
func script(dir, text string, vars map[string]string) (string, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		cmd.Env = append(cmd.Env, k+"="+vars[k])
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// slower makes every acquisition some microseconds longer, which no noise
// hides.
func slower(code string) string {
	return strings.Replace(code, "func (h *gtHandle) Lock() {\n",
		"func (h *gtHandle) Lock() {\n\tfor range 1000 {\n\t\tatomic.AddUint32(&h.waits, 0)\n\t}\n", 1)
}

// harmless changes a comment.
func harmless(code string) string { return strings.Replace(code, "// gtLock is", "// A gtLock is", 1) }

// broken does not compile.
func broken(code string) string { return code + "\nfunc\n" }

func TestSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("builds four programs")
	}
	w := load(t)
	for _, tc := range []struct {
		name    string
		edit    func(string) string
		baseRef string
		failed  string
		code    int
		verdict string // of the summary's first line
		log     string // of the deciding step
	}{
		{"a pull request that slows down", slower, "main", "Measure and decide", 4, "## gate: FAIL", "::error file=gate/rules.yaml,line=2,title=gate%3A fail%3A speed::"},
		{"a tag without a change", harmless, "", "", 0, "## gate: PASS", "::notice file=gate/rules.yaml,title=lockbench gate::gate: PASS"},
		{"a pull request that does not build", broken, "main", "Build old and new", 1, "There is no verdict", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			repo := newRepository(t, tc.edit)
			r := runSteps(t, w, repo, tc.baseRef)
			old := repo.git(t, "rev-parse", "origin/main")
			if !strings.Contains(r.log["Find the old commit"], "old: "+old) {
				t.Errorf("old commit: got %q, want %s", r.log["Find the old commit"], old)
			}
			if r.failed != tc.failed || r.code != tc.code {
				t.Fatalf("failed step: got %q with %d, want %q with %d\n%v", r.failed, r.code, tc.failed, tc.code, r.log)
			}
			if !strings.HasPrefix(r.summary, tc.verdict) {
				t.Errorf("summary: got %.300q, want %q first", r.summary, tc.verdict)
			}
			if got := r.log["Measure and decide"]; !strings.Contains(got, tc.log) {
				t.Errorf("annotations: got\n%s\nwant %s", got, tc.log)
			}
			if tc.log != "" {
				checkFiles(t, r, tc.code == 0)
			}
		})
	}
}

// checkFiles looks at what would be uploaded.
func checkFiles(t *testing.T, r run, pass bool) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.temp, "gate.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	if err := xml.Unmarshal(b, &suites); err != nil || (suites.Failures+suites.Errors == 0) != pass {
		t.Errorf("gate.xml: got %+v, %v, want pass %v", suites, err, pass)
	}
	for _, name := range []string{"session.jsonl", "gate.json"} {
		if st, err := os.Stat(filepath.Join(r.temp, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
