package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// What stands between these lines is generated.
const (
	begin = "<!-- begin of what is generated from chaos/expect.yaml -->\n"
	end   = "<!-- end of what is generated from chaos/expect.yaml -->\n"
)

// between puts a text between the markers.
func between(doc, text []byte) ([]byte, error) {
	head, rest, ok := bytes.Cut(doc, []byte(begin))
	if !ok {
		return nil, fmt.Errorf("there is no line %q", strings.TrimSpace(begin))
	}
	_, tail, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return nil, fmt.Errorf("there is no line %q behind the other one", strings.TrimSpace(end))
	}
	return bytes.Join([][]byte{head, []byte(begin + "\n"), text, []byte("\n" + end), tail}, nil), nil
}

// heading returns an error if a place, "docs/FILE.md#anchor", does not exist.
func heading(root, place string) error {
	file, anchor, ok := strings.Cut(place, "#")
	if !ok {
		return fmt.Errorf("%q: want FILE#heading", place)
	}
	b, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return fmt.Errorf("%q: %w", place, err)
	}
	for line := range strings.Lines(string(b)) {
		if h := strings.TrimLeft(line, "#"); h != line && anchorOf(h) == anchor {
			return nil
		}
	}
	return fmt.Errorf("%q: %w", place, errNoHeading)
}

var errNoHeading = errors.New("the file has no such heading")

// anchorOf is the anchor that GitHub gives a heading: small letters, digits, dashes for blanks.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			b.WriteRune(r)
		}
	}
	return b.String()
}
