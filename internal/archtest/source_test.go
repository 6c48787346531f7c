package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// maxFile is the largest size of a file of Go code, in bytes.
const maxFile = 16_000

// sourceRule says what no file may be or contain.
type sourceRule struct {
	name   string
	reason string
	of     func(path string) bool // slash separated, from the root
	broken func(path string, text []byte) []string
	// breaks is a file that the rule must catch.
	breaks [2]string // path, text
}

// later is what unfinished code is marked with, in two parts so that this
// file does not contain it.
var later = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

var sourceRules = []sourceRule{
	{"no init", "registries are explicit lists, and importing a package changes nothing; a child process pays for each init in every repetition",
		goCode, noInit, [2]string{"impls/mcs/mcs.go", "package mcs\n\nfunc init() {}\n"}},
	{"no exit below main", "main only wires: whatever ends the process cannot be tested, and skips what was deferred",
		both(goCode, not(one("lockbench.go"))), noExit,
		[2]string{"internal/cli/run.go", "package cli\n\nimport \"os\"\n\nfunc f() { os.Exit(1) }\n"}},
	{"no default.pgo", "go build would use it: with a 4:1 profile one of two identical locks ran five times faster",
		func(string) bool { return true }, noProfile, [2]string{"cmd/lockbench/default.pgo", ""}},
	{"builds with -pgo=off", "a profile makes the compiler inline one lock and not the other: with a 4:1 profile one of two identical locks ran five times faster",
		one("Makefile"), profileOff, [2]string{"Makefile", "build:\n\tgo build -o bin/lockbench ./cmd/lockbench\n"}},
	{"nothing left for later", "the repository has no stub that claims to work; what is missing is an issue",
		text, nothingLater, [2]string{"docs/METHOD.md", "clock: TO" + "DO\n"}},
	{"small files", "one file an algorithm, a verb, a concept: what does not fit is two things",
		both(goCode, not(generated)), small, [2]string{"impls/mcs/mcs.go", strings.Repeat("// x\n", maxFile/5)}},
}

// goCode is Go code that is not tests'.
func goCode(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "testdata/")
}

func generated(path string) bool { return strings.HasSuffix(path, "_gen.go") }

func text(path string) bool {
	return slices.Contains([]string{".go", ".s", ".tmpl", ".md", ".sh", ".py", ".yaml", ".yml", ".mod", ".txtar"}, filepath.Ext(path)) ||
		filepath.Base(path) == "Makefile"
}

func parse(path string, text []byte) (*ast.File, *token.FileSet, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
	return f, fset, err
}

func noInit(path string, text []byte) []string {
	f, fset, err := parse(path, text)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, fmt.Sprintf("line %d: func init", fset.Position(fn.Pos()).Line))
		}
	}
	return out
}

// noExit finds os.Exit and log.Fatal outside of package main. Packages are
// found by the names that files import them by.
func noExit(path string, text []byte) []string {
	f, fset, err := parse(path, text)
	if err != nil {
		return []string{err.Error()}
	}
	if f.Name.Name == "main" {
		return nil
	}
	names := map[string]string{} // local name -> import path
	for _, i := range f.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		name := p
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = p
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		p := names[x.Name]
		if p == "os" && s.Sel.Name == "Exit" || p == "log" && strings.HasPrefix(s.Sel.Name, "Fatal") {
			out = append(out, fmt.Sprintf("line %d: %s.%s", fset.Position(s.Pos()).Line, p, s.Sel.Name))
		}
		return true
	})
	return out
}

func noProfile(path string, _ []byte) []string {
	if filepath.Base(path) == "default.pgo" {
		return []string{"is a profile"}
	}
	return nil
}

var goBuild = regexp.MustCompile(`(?:\$\(GO\)|\bgo) build (.*)`)

// profileOff looks for builds in the Makefile that could use a profile: of
// this program, not of tools that are named with a version.
func profileOff(_ string, text []byte) []string {
	flags := ""
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "BUILDFLAGS :="); ok {
			flags = v
		}
	}
	var out []string
	n := 0
	for line := range strings.Lines(string(text)) {
		m := goBuild.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(line, "\t") {
			continue
		}
		n++
		if !strings.Contains(strings.ReplaceAll(m[1], "$(BUILDFLAGS)", flags), "-pgo=off") {
			out = append(out, "builds without -pgo=off: "+strings.TrimSpace(line))
		}
	}
	if n == 0 {
		out = append(out, "builds nothing")
	}
	return out
}

func nothingLater(_ string, text []byte) []string {
	var out []string
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if m := later.FindString(line); m != "" {
			out = append(out, fmt.Sprintf("line %d: %s", n, m))
		}
	}
	return out
}

func small(_ string, text []byte) []string {
	if len(text) >= maxFile {
		return []string{fmt.Sprintf("%d bytes: want less than %d", len(text), maxFile)}
	}
	return nil
}

// TestSource checks the rules on every file.
func TestSource(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "out"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		var content []byte
		if text(rel) {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
			files++
		}
		for _, r := range sourceRules {
			if !r.of(rel) {
				continue
			}
			for _, what := range r.broken(rel, content) {
				t.Errorf("%s: %s: forbidden by rule %q, because: %s", rel, what, r.name, r.reason)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("looked at %d files only", files)
	}
}

// TestSourceRulesCatch breaks each rule.
func TestSourceRulesCatch(t *testing.T) {
	for _, r := range sourceRules {
		if !r.of(r.breaks[0]) {
			t.Errorf("rule %q is not about %s", r.name, r.breaks[0])
		}
		if len(r.broken(r.breaks[0], []byte(r.breaks[1]))) == 0 {
			t.Errorf("rule %q does not catch its example", r.name)
		}
		if r.reason == "" {
			t.Errorf("rule %q has no reason", r.name)
		}
	}
}
