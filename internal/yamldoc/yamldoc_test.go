package yamldoc

import (
	"errors"
	"slices"
	"testing"

	"github.com/goccy/go-yaml/ast"
)

func TestErrors(t *testing.T) {
	for _, tc := range []struct{ in, want, hint string }{
		{"a: [", "1:4: sequence end token ']' not found", "syntax"},
		{"a: 1\n---\nb: 2", "3:1: a second document", "one"},
		{"a: 1\n---\nb: 2\nc: 3", "3:1: a second document", "one"},
		{"a: 1\nc: 2", `2:1: unknown key "c"`, "did you mean a? keys: a, list"},
		{"a: 1\nlits: 2", `2:1: unknown key "lits"`, "did you mean list? keys: a, list"},
		{"a: {b: 1}", "1:4: want one value, not a list, a map or nothing", ""},
		{"a: *x", `1:4: no anchor is named "x"`, ""},
		{"list: {b: 1}", "1:7: want a list", "for instance [a, b]"},
		{"- a", "1:1: the file: want a map of keys and values", "for instance a: 1"},
	} {
		_, err := read(tc.in)
		var e *Error
		if !errors.As(err, &e) || e.Error() != tc.want || e.Hint() != tc.hint {
			t.Errorf("%q: got %v, hint %q, want %s, hint %q", tc.in, err, hintOf(e), tc.want, tc.hint)
		}
	}
}

func hintOf(e *Error) string {
	if e == nil {
		return ""
	}
	return e.Tip
}

// read reads a file that has the keys a, a scalar, and list.
func read(text string) (map[string][]string, error) {
	n, body, err := Parse([]byte(text), "syntax", "one")
	if err != nil || body == nil {
		return nil, err
	}
	got := map[string][]string{}
	err = n.Mapping(body, "the file", "a: 1", []string{"a", "list"}, func(key string, v ast.Node) error {
		items := []ast.Node{v}
		if key == "list" {
			if items, err = n.List(v); err != nil {
				return err
			}
		}
		for _, i := range items {
			s, err := n.Scalar(i)
			if err != nil {
				return err
			}
			got[key] = append(got[key], s)
		}
		return nil
	})
	return got, err
}

func TestValues(t *testing.T) {
	for _, tc := range []struct {
		in, key string
		want    []string
	}{
		{"", "a", nil},
		{"# nothing\n", "a", nil},
		{"a: 5us", "a", []string{"5us"}},
		{"a: 010", "a", []string{"010"}}, // the text, not the number
		{"a: .nan", "a", []string{".nan"}},
		{"a: &x 1\nlist: [*x, 2]", "list", []string{"1", "2"}},
		{"list: one", "list", []string{"one"}},
	} {
		got, err := read(tc.in)
		if err != nil || !slices.Equal(got[tc.key], tc.want) {
			t.Errorf("%q: %s: got %v, %v, want %v", tc.in, tc.key, got[tc.key], err, tc.want)
		}
	}
}
