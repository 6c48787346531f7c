package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// page is one Markdown file.
type page struct {
	path   string // slash separated, from the root
	text   string
	blocks []block
}

// block is a fenced block; line is that of its first line of text, 1-based.
type block struct {
	kind string
	line int
	text string
}

// command is one line of a sh block.
type command struct {
	line int
	text string // without the comment that gives the exit code
	exit int
}

// pages returns the Markdown files of the repository that users read.
func pages(t *testing.T) []page {
	t.Helper()
	var out []page
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "examples/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, page{path: filepath.ToSlash(rel), text: string(b), blocks: blocks(string(b))})
		}
	}
	if len(out) < 10 {
		t.Fatalf("found %d Markdown files only", len(out))
	}
	return out
}

// blocks returns the fenced blocks of a text.
func blocks(text string) []block {
	var out []block
	var in *block
	n := 0
	for line := range strings.Lines(text) {
		n++
		kind, fence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case fence && in == nil:
			in = &block{kind: strings.TrimSpace(kind), line: n + 1}
		case fence:
			out = append(out, *in)
			in = nil
		case in != nil:
			in.text += line
		}
	}
	if in != nil { // never closed: the rest of the page is a block
		out = append(out, *in)
	}
	return out
}

// prose returns the text without its fenced blocks.
func prose(text string) string {
	for _, b := range blocks(text) {
		text = strings.Replace(text, b.text, "", 1)
	}
	return text
}

var exitRE = regexp.MustCompile(`\s+# exit (\d+)$`)

// commands returns the lines to execute; a line that ends with a backslash
// goes on in the next one.
func (b block) commands() []command {
	var out []command
	text, first := "", 0
	for i, line := range strings.Split(b.text, "\n") {
		if text == "" {
			first = b.line + i
		}
		if head, more := strings.CutSuffix(line, "\\"); more {
			text += head
			continue
		}
		c := command{line: first, text: strings.TrimSpace(text + line)}
		text = ""
		if c.text == "" || strings.HasPrefix(c.text, "#") {
			continue
		}
		if m := exitRE.FindStringSubmatch(c.text); m != nil {
			c.exit, _ = strconv.Atoi(m[1])
			c.text = strings.TrimSuffix(c.text, m[0])
		}
		out = append(out, c)
	}
	return out
}

func TestCommandsOfABlock(t *testing.T) {
	text := "intro\n```sh\n# a comment\nlockbench plan\n\nlockbench run \\\n  --reps 0 # exit 2\n```\n```text\nnot this\n```\n"
	got := blocks(text)
	if len(got) != 2 || got[0].kind != "sh" || got[1].kind != "text" {
		t.Fatalf("blocks: got %+v", got)
	}
	want := []command{{4, "lockbench plan", 0}, {6, "lockbench run   --reps 0", 2}}
	if cs := got[0].commands(); !slices.Equal(cs, want) {
		t.Errorf("commands: got %+v, want %+v", cs, want)
	}
	if p := prose(text); strings.Contains(p, "plan") || strings.Contains(p, "not this") || !strings.Contains(p, "intro") {
		t.Errorf("prose: got %q", p)
	}
}

var linkRE = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// deadLinks returns the relative links of a page that lead nowhere; dir is the
// root of the repository.
func deadLinks(p page, dir string) []string {
	var out []string
	for _, m := range linkRE.FindAllStringSubmatch(prose(p.text), -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.Dir(filepath.FromSlash(p.path)), filepath.FromSlash(target))); err != nil {
			out = append(out, target)
		}
	}
	return out
}

func TestLinks(t *testing.T) {
	links := 0
	for _, p := range pages(t) {
		links += len(linkRE.FindAllString(p.text, -1))
		for _, l := range deadLinks(p, root) {
			t.Errorf("%s: the link %s leads to no file", p.path, l)
		}
	}
	if links < 10 {
		t.Errorf("found %d links only", links)
	}
	bad := page{path: "docs/x.md", text: "see [a](../README.md) and [b](no-such-file.md#part)"}
	if got := deadLinks(bad, root); !slices.Equal(got, []string{"no-such-file.md"}) {
		t.Errorf("dead links: got %v, want the one", got)
	}
}
