package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockbench/internal/docsplice"
)

// marks are the lines between which the tables stand.
var marks = docsplice.Marks{Begin: "<!-- begin of what is generated from chaos/expect.yaml -->", End: "<!-- end of what is generated from chaos/expect.yaml -->"}

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
