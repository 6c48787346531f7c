package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "lockbench"

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string // direct, without those of tests
	Deps       []string // direct and indirect
}

// importRule forbids imports. Paths are import paths; those of this module
// are relative to it, the root package being ".".
type importRule struct {
	name   string
	reason string
	of     func(pkg string) bool
	// allowed reports whether a package that the rule is for may import dep.
	allowed func(dep string) bool
	// deep looks at indirect imports as well.
	deep bool
	// breaks is an import that the rule must catch: package, import.
	breaks [2]string
}

// within reports whether path is dir or below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func one(path string) func(string) bool { return func(p string) bool { return p == path } }

func below(dirs ...string) func(string) bool {
	return func(p string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return within(p, d) })
	}
}

// std reports whether an import path, as rules see it, is the standard
// library's: its first element has no dot, and it is not this module's.
func std(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !ours(path) && !strings.Contains(first, ".")
}

var topLevel = []string{"lock", "impls", "workloads", "results", "cmd", "backends", "chaos"}

func ours(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return path == "." || slices.Contains(topLevel, first) || strings.HasPrefix(path, "internal/")
}

// stdAnd allows the standard library and the packages named.
func stdAnd(paths ...string) func(string) bool {
	return func(p string) bool { return std(p) || slices.Contains(paths, p) }
}

// ofOurs allows everything outside of this module, and the packages named.
func ofOurs(paths ...string) func(string) bool {
	return func(p string) bool { return !ours(p) || slices.Contains(paths, p) }
}

func not(f func(string) bool) func(string) bool { return func(p string) bool { return !f(p) } }

func either(fs ...func(string) bool) func(string) bool {
	return func(p string) bool {
		return slices.ContainsFunc(fs, func(f func(string) bool) bool { return f(p) })
	}
}

func both(f, g func(string) bool) func(string) bool {
	return func(p string) bool { return f(p) && g(p) }
}

// families are the folders of locks that run in this process.
var families = both(below("impls"), not(either(one("impls"), below("impls/locktest", "impls/distributed"))))

// clients are the modules of clients of servers.
var clients = []string{"github.com/redis", "go.etcd.io", "github.com/go-zookeeper", "github.com/jackc", "github.com/go-redsync",
	"github.com/bsm", "github.com/testcontainers", "github.com/moby/moby"}

var importRules = []importRule{
	{"lock/arch", "it is the lowest layer, and whoever writes a lock gets nothing else with it",
		one("lock/arch"), stdAnd(), false, [2]string{"lock/arch", "golang.org/x/sys/cpu"}},
	{"lock/loop", "generated loops in other people's modules run on it: the standard library and lock/arch only",
		one("lock/loop"), stdAnd("lock/arch"), false, [2]string{"lock/loop", "lock"}},
	{"lock", "the contract: whoever writes a lock gets nothing else with it",
		one("lock"), stdAnd("lock/loop", "lock/arch"), false, [2]string{"lock", "results"}},
	{"locks know the contract only", "a lock that knew the harness could behave otherwise when it is measured",
		families, ofOurs("lock", "lock/loop", "lock/arch"), false, [2]string{"impls/mcs", "internal/engine"}},
	{"locks have no dependencies", "a benchmark of a spin lock must not link a client; semaphore and futex need theirs",
		both(families, not(below("impls/std", "impls/futex"))), either(std, ours), true, [2]string{"impls/mcs", "go.etcd.io/etcd/client/v3"}},
	{"dependencies of std and futex", "x/sync has the semaphore that is measured, x/sys the futex call",
		below("impls/std", "impls/futex"), either(std, ours, below("golang.org/x/sync", "golang.org/x/sys")), true,
		[2]string{"impls/std", "github.com/redis/go-redis/v9"}},
	{"locks have no network", "package net starts a resolver and a poller, which the measured process must not have",
		families, not(below("net")), true, [2]string{"impls/spin", "net/http"}},
	{"workloads", "workloads are data for every runner: they know neither locks nor the harness",
		below("workloads"), ofOurs("lock/loop", "internal/near"), false, [2]string{"workloads", "lock"}},
	{"cell imports no lock", "a lock of a user's own program must be measured like a built-in one: the child gets it by value",
		below("internal/cell"), not(below("impls")), true, [2]string{"internal/cell", "impls/spin"}},
	{"yamldoc", "settings and rules are read by the same code, which knows what neither says",
		below("internal/yamldoc"), ofOurs("internal/near"), false, [2]string{"internal/yamldoc", "internal/engine"}},
	{"results", "files must be readable by programs that measure nothing",
		one("results"), ofOurs("internal/near"), false, [2]string{"results", "internal/host"}},
	{"figure", "what the project promises is stated from measurements of any kind: it knows records, not who made them",
		one("internal/figure"), ofOurs("results"), false, [2]string{"internal/figure", "internal/engine"}},
	{"what is below results", "statistics, verdicts and reports are made of records alone; rules of gates are files of their own",
		both(below("results"), not(one("results"))), either(ofOurs("internal/near", "internal/yamldoc"), below("results")), false, [2]string{"results/render", "workloads"}},
	{"results/stat", "statistics are of numbers: whatever the numbers are of, they decide the same",
		one("results/stat"), stdAnd(), false, [2]string{"results/stat", "results"}},
	{"results/compare", "what two sides differ in does not depend on how it is printed",
		one("results/compare"), ofOurs("internal/near", "results", "results/pairs", "results/stat"), false, [2]string{"results/compare", "results/render"}},
	{"publish", "what is published is made of records, by the code of lockbench report: whoever has the records can make it again",
		one("internal/publish"), either(ofOurs("internal/exitcode"), below("results")), false, [2]string{"internal/publish", "internal/engine"}},
	{"formats of figures", "tables and charts of whatever package write a figure the same way",
		one("results/num"), stdAnd(), false, [2]string{"results/num", "results"}},
	{"the page", "it knows how a page looks; what stands on it is the renderer's",
		one("results/page"), stdAnd(), false, [2]string{"results/page", "results"}},
	{"one package draws", "the chart library can be exchanged in one place",
		not(one("results/charts")), not(below("github.com/go-analyze/charts")), false, [2]string{"results/page", "github.com/go-analyze/charts/chartdraw"}},
	{"the small part of the chart library", "the program is the child of every repetition too: what is linked in must do nothing at the start (docs/adr/0012)",
		one("results/charts"), not(one("github.com/go-analyze/charts")), true, [2]string{"results/charts", "github.com/go-analyze/charts"}},
	{"no browser in the program", "it writes files: a page is opened by a browser, and the tests that drive one stay tests",
		one("cmd/lockbench"), not(below("github.com/chromedp")), true, [2]string{"cmd/lockbench", "github.com/chromedp/chromedp"}},
	{"clients stay in their leaves", "whoever reads records, or writes a lock, links no client of a server; the engine gets its servers by value (docs/adr/0017)",
		both(ours, not(either(below("impls/distributed", "backends", "chaos", "cmd/lockbench", "internal/cli", "internal/figures", "internal/watchdog"), one("."), one("impls"), below("internal/gatestudy", "examples")))),
		not(below(clients...)), true, [2]string{"internal/engine", "github.com/redis/go-redis/v9"}},
	{"containers stay in backends", "how servers are brought up can be exchanged in one place; the watchdog removes them, whatever brought them up",
		both(ours, not(below("backends", "internal/watchdog"))), not(below("github.com/testcontainers", "github.com/moby/moby")), false, [2]string{"internal/cli", "github.com/testcontainers/testcontainers-go"}},
	{"distributed locks know the contract only", "a lock that knew the harness could behave otherwise when it is measured",
		below("impls/distributed"), either(ofOurs("lock"), below("impls/distributed")), false, [2]string{"impls/distributed/etcd", "internal/engine"}},
	{"engine does not know the command line", "it runs plans for whoever asks; flags and printing are cli's",
		below("internal/engine"), not(below("internal/cli", "impls")), true, [2]string{"internal/engine", "internal/cli"}},
	{"the study of the gate", "it sees what a user sees: the program records, and results/gate decides, without a way of its own into the harness",
		one("internal/gatestudy"), not(below("internal/engine", "internal/cli", "internal/cell")), true, [2]string{"internal/gatestudy", "internal/engine"}},
	{"backends name no lock", "they start the server of the controls, as they start any other; which locks run on it is the catalogue's",
		below("backends"), either(not(below("impls")), one("impls/distributed/loopback")), false, [2]string{"backends", "impls/spin"}},
	{"children of chaos get their lock by value", "a lock of a user's own program must be hit like a built-in one, and what acts inside a round cannot know who judges it",
		one("chaos/actor"), ofOurs("lock", "internal/clock", "internal/claims", "chaos/witness"), false, [2]string{"chaos/actor", "chaos"}},
	{"children of in-process chaos get their lock by value", "the process that is hit has the lock and the clock; records are its parent's side",
		one("chaos/inproc"), ofOurs("lock", "internal/clock", "internal/near", "results", "results/num"), false, [2]string{"chaos/inproc", "backends"}},
	{"parts of chaos link no lock and no client", "locks and servers come by value: only the package that runs rounds brings clusters up",
		below("chaos/actor", "chaos/inproc", "chaos/witness", "chaos/linear", "chaos/timeline", "chaos/proxy"), not(either(below("impls", "backends", "internal/cli", "internal/engine"), one("chaos"), below(clients...))), true,
		[2]string{"chaos/inproc", "impls/distributed/redis"}},
	{"chaos/witness", "the stores are what a lock protects: they know no lock, no fault and no record",
		one("chaos/witness"), ofOurs("internal/clock"), false, [2]string{"chaos/witness", "lock"}},
	{"chaos/linear", "a history is judged by its operations alone, whoever made them",
		one("chaos/linear"), ofOurs("chaos/witness"), false, [2]string{"chaos/linear", "chaos/actor"}},
	{"one package checks histories", "the checker can be exchanged in one place",
		not(one("chaos/linear")), not(below("github.com/anishathalye/porcupine")), false, [2]string{"chaos", "github.com/anishathalye/porcupine"}},
	{"chaos/timeline", "it writes lines that somebody else has understood",
		one("chaos/timeline"), ofOurs("results"), false, [2]string{"chaos/timeline", "chaos/actor"}},
	{"chaos/proxy", "a proxy passes bytes on, and knows of a lock only where its servers are",
		one("chaos/proxy"), ofOurs("lock"), false, [2]string{"chaos/proxy", "backends"}},
	{"chaos/expect", "what theory says is data: it can be read without whatever measures it",
		one("chaos/expect"), ofOurs("results", "internal/near", "internal/yamldoc"), false, [2]string{"chaos/expect", "chaos"}},
	{"chaos does not know the command line", "it runs matrices for whoever asks, and starts its children by a function that it is given",
		below("chaos"), not(below("internal/cli", "internal/engine", "internal/cell")), true, [2]string{"chaos", "internal/engine"}},
	// chaos/expect/expectdoc checks that the expectations are complete for the catalogue, so it has to have it. It is a
	// program of its own, which nobody can import.
	{"one catalogue", "lists of locks are explicit and in one place: the core names no lock",
		not(either(below("impls"), one("internal/cli"), one("backends"), below("internal/gatestudy"), one("chaos/expect/expectdoc"))), not(below("impls")), false,
		[2]string{"internal/engine", "impls"}},
}

// broken returns the imports of p that break the rule.
func (r importRule) broken(p pkg) []string {
	path := relative(p.ImportPath)
	if !r.of(path) {
		return nil
	}
	imports := p.Imports
	if r.deep {
		imports = p.Deps
	}
	var out []string
	for _, i := range imports {
		// "C" and the vendored packages of the standard library are std's.
		if i = relative(i); !r.allowed(strings.TrimPrefix(i, "vendor/")) && !strings.HasPrefix(i, "vendor/") {
			out = append(out, i)
		}
	}
	return out
}

func relative(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// TestImports checks the rules on all platforms that are built for.
func TestImports(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		pkgs := list(t, goos)
		for _, r := range importRules {
			seen := false
			for _, p := range pkgs {
				seen = seen || r.of(relative(p.ImportPath))
				for _, i := range r.broken(p) {
					t.Errorf("%s: %s imports %s: forbidden by rule %q, because: %s", goos, p.ImportPath, i, r.name, r.reason)
				}
			}
			if !seen {
				t.Errorf("rule %q is about no package: has one been renamed?", r.name)
			}
		}
	}
}

// TestImportRulesCatch breaks each rule.
func TestImportRulesCatch(t *testing.T) {
	for _, r := range importRules {
		p := pkg{ImportPath: module + "/" + r.breaks[0]}
		dep := r.breaks[1]
		if ours(dep) {
			dep = module + "/" + dep
		}
		p.Imports, p.Deps = []string{"fmt", dep}, []string{"fmt", dep}
		if got := r.broken(p); !slices.Equal(got, []string{r.breaks[1]}) {
			t.Errorf("rule %q on %v: got %v, want the import to be caught", r.name, r.breaks, got)
		}
		if r.reason == "" {
			t.Errorf("rule %q has no reason", r.name)
		}
	}
}

func list(t *testing.T, goos string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Standard,Imports,Deps", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 20 {
		t.Fatalf("go list found %d packages", len(pkgs))
	}
	return pkgs
}
