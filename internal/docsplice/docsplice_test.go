package docsplice

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var marks = Marks{Begin: "<!-- a: begin -->", End: "<!-- a: end -->"}

func TestSplice(t *testing.T) {
	for _, c := range []struct{ name, doc, text, want, err string }{
		{"empty", "", "x", "", `no line "<!-- a: begin -->"`},
		{"no marks", "# x\n", "x", "", `no line "<!-- a: begin -->"`},
		{"one mark", marks.Begin + "\n", "x", "", `"<!-- a: end -->" behind the other one`},
		{"the wrong order", marks.End + "\n" + marks.Begin + "\n", "x", "", "behind the other one"},
		{"no end of the line", marks.Begin + "\n" + marks.End, "x", "", "behind the other one"},
		{"within a line", "see " + marks.Begin + "\n" + marks.End + "\n", "x", "", "no line"},
		{"nothing around", marks.Begin + "\nold\n" + marks.End + "\n", "new", marks.Begin + "\n\nnew\n\n" + marks.End + "\n", ""},
		{"text around", "a\n\n" + marks.Begin + "\n" + marks.End + "\n\nb\n", "\n\nx\n\ny\n\n", "a\n\n" + marks.Begin + "\n\nx\n\ny\n\n" + marks.End + "\n\nb\n", ""},
		{"mentioned before", "see " + marks.Begin + "\n" + marks.Begin + "\n" + marks.End + "\n", "x", "see " + marks.Begin + "\n" + marks.Begin + "\n\nx\n\n" + marks.End + "\n", ""},
	} {
		got, err := marks.Splice([]byte(c.doc), c.text)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || string(got) != c.want {
			t.Errorf("%s: %q with %q: got %q, %v, want %q, %q", c.name, c.doc, c.text, got, err, c.want, c.err)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "doc.md")
	if err := os.WriteFile(path, []byte("# x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"check": marks.Check(path), "write": marks.Write(path, "x"),
		"check none": marks.Check(path + "none"), "write none": marks.Write(path+"none", "x")} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := os.WriteFile(path, []byte("# x\n\n"+marks.Begin+"\nold\n"+marks.End+"\n\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := marks.Check(path); err != nil {
		t.Error(err)
	}
	for range 2 { // writing twice is writing once
		if err := marks.Write(path, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if want := "# x\n\n" + marks.Begin + "\n\nnew\n\n" + marks.End + "\n\nafter\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}
