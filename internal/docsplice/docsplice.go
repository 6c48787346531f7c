// Package docsplice writes what programs have found out into documents that people write: between two lines, which
// stay where they are.
package docsplice

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Marks are the two lines, without their ends. What stands between them belongs to the program.
type Marks struct{ Begin, End string }

// Splice puts the text between the marks, with an empty line on both sides.
func (m Marks) Splice(doc []byte, text string) ([]byte, error) {
	head, rest, ok := cutLine(doc, m.Begin)
	if !ok {
		return nil, fmt.Errorf("there is no line %q", m.Begin)
	}
	_, tail, ok := cutLine(rest, m.End)
	if !ok {
		return nil, fmt.Errorf("there is no line %q behind the other one", m.End)
	}
	return fmt.Appendf(nil, "%s%s\n\n%s\n\n%s\n%s", head, m.Begin, strings.TrimSpace(text), m.End, tail), nil
}

// cutLine cuts a document at its first line that is so.
func cutLine(doc []byte, line string) (before, after []byte, ok bool) {
	for at := 0; at < len(doc); {
		l, _, ended := bytes.Cut(doc[at:], []byte("\n"))
		if ended && string(l) == line {
			return doc[:at], doc[at+len(line)+1:], true
		}
		at += len(l) + 1
	}
	return nil, nil, false
}

// Check finds out before minutes of work whether the text has a place in the file.
func (m Marks) Check(path string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := m.Splice(doc, ""); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Write puts the text into the file, which it replaces in one step.
func (m Marks) Write(path, text string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if doc, err = m.Splice(doc, text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".docsplice-*")
	if err != nil {
		return err
	}
	_, err = f.Write(doc)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
