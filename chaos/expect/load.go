package expect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"lockbench/internal/yamldoc"
)

// MaxFile bounds a file of expectations, in bytes.
const MaxFile = 1 << 20

const hint = `the file has maps "groups" and "sources" and lists "rules" and "findings": see package chaos/expect`

var fileKeys = []string{"groups", "sources", "rules", "findings"}

// nameRE is what names of locks, faults, topologies, policies and groups look like; patternRE allows a
// star behind it.
var (
	nameRE    = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	patternRE = regexp.MustCompile(`^[a-z][a-z0-9-]*\*?$`)
)

// Load reads a file of expectations. Errors are *yamldoc.Error, with the line and column: unknown keys,
// names that are not defined or never used, formulas that cannot be evaluated, entries without a reason.
func Load(b []byte) (*Table, error) {
	if len(b) > MaxFile {
		return nil, fmt.Errorf("read expectations: the file is larger than %d bytes", MaxFile)
	}
	l := &loader{t: &Table{}, groups: map[string][]string{}, used: map[string]bool{}}
	if err := l.file(b); err != nil {
		return nil, fmt.Errorf("read expectations: %w", err)
	}
	return l.t, nil
}

// loader is what is known while a file is read.
type loader struct {
	yamldoc.Nodes
	t      *Table
	groups map[string][]string
	used   map[string]bool // groups, and sources with a blank before their keys
}

func (l *loader) file(b []byte) error {
	n, body, err := yamldoc.Parse(b, hint, "put all expectations into one document")
	if err != nil {
		return err
	}
	if body == nil {
		return errors.New("the file is empty")
	}
	l.Nodes = n
	parts := map[string]ast.Node{}
	if err := l.Mapping(body, "the file", "rules: [...]", fileKeys, collect(parts)); err != nil {
		return err
	}
	if parts["rules"] == nil {
		return yamldoc.At(body, errors.New("the file has no rules"), hint)
	}
	defined := map[string]ast.Node{}
	for _, part := range []struct {
		key  string
		read func(ast.Node) error
	}{
		{"groups", func(v ast.Node) error { return l.named(v, "groups", defined, "", l.group) }},
		{"sources", func(v ast.Node) error { return l.named(v, "sources", defined, " ", l.source) }},
		{"rules", func(v ast.Node) error { return l.each(v, "rules", l.block) }},
		{"findings", func(v ast.Node) error { return l.each(v, "findings", l.finding) }},
	} {
		if v := parts[part.key]; v != nil {
			if err := part.read(v); err != nil {
				return err
			}
		}
	}
	return l.unused(defined)
}

// collect keeps the values of a map by their keys.
func collect(to map[string]ast.Node) func(string, ast.Node) error {
	return func(key string, v ast.Node) error { to[key] = v; return nil }
}

// named reads a map whose keys are names, and notes them with a mark.
func (l *loader) named(v ast.Node, what string, defined map[string]ast.Node, mark string, read func(string, ast.Node) error) error {
	return l.Mapping(v, what, "name: ...", nil, func(key string, v ast.Node) error {
		if !nameRE.MatchString(key) {
			return yamldoc.At(v, fmt.Errorf("%s: %q is no name", what, key), "small letters, digits and single dashes")
		}
		defined[mark+key] = v
		return read(key, v)
	})
}

// unused returns an error for the first name that nothing refers to.
func (l *loader) unused(defined map[string]ast.Node) error {
	first, name := ast.Node(nil), ""
	at := func(n ast.Node) int { line, _ := yamldoc.Place(n); return line }
	for key, v := range defined {
		if !l.used[key] && (first == nil || at(v) < at(first)) {
			first, name = v, strings.TrimSpace(key)
		}
	}
	if first == nil {
		return nil
	}
	return yamldoc.At(first, fmt.Errorf("%q is used nowhere", name), "delete it")
}

// each reads the items of a list.
func (l *loader) each(v ast.Node, what string, read func(ast.Node) error) error {
	if l.IsMapping(v) {
		return yamldoc.At(v, fmt.Errorf("%s: want a list", what), `begin each entry with "- "`)
	}
	items, err := l.List(v)
	for _, item := range items {
		if err == nil {
			err = read(item)
		}
	}
	return err
}

func (l *loader) group(name string, v ast.Node) error {
	var members []string
	err := l.each(v, "group "+name, func(v ast.Node) error {
		s, err := l.Scalar(v)
		switch {
		case err != nil:
			return err
		case !nameRE.MatchString(s):
			return yamldoc.At(v, fmt.Errorf("group %s: %q is no name of a lock", name, s), "members are names, not patterns or groups")
		case slices.Contains(members, s):
			return yamldoc.At(v, fmt.Errorf("group %s has %q twice", name, s), "delete one")
		}
		members = append(members, s)
		return nil
	})
	if err == nil && len(members) == 0 {
		err = yamldoc.At(v, fmt.Errorf("group %s has no members", name), "")
	}
	l.groups[name] = members
	return err
}

func (l *loader) source(key string, v ast.Node) error {
	text, err := l.text(v, "source "+key)
	l.t.sources = append(l.t.sources, source{key, text})
	return err
}

// text is a value that must not be empty, on one line.
func (l *loader) text(v ast.Node, what string) (string, error) {
	s, err := l.Scalar(v)
	if s = strings.Join(strings.Fields(s), " "); err == nil && s == "" {
		err = yamldoc.At(v, fmt.Errorf("%s is empty", what), "")
	}
	return s, err
}

// sentence is a text that ends as one, so that others can be put behind it.
func (l *loader) sentence(v ast.Node, what string) (string, error) {
	s, err := l.text(v, what)
	if err == nil && !strings.HasSuffix(s, ".") {
		err = yamldoc.At(v, fmt.Errorf("%s: %q does not end with a full stop", what, s), "write one sentence")
	}
	return s, err
}

func (l *loader) oneOf(v ast.Node, what string, words []string) (string, error) {
	s, err := l.Scalar(v)
	if err == nil && !slices.Contains(words, s) {
		err = yamldoc.At(v, fmt.Errorf("%s: %q is none", what, s), "want one of "+strings.Join(words, ", "))
	}
	return s, err
}
