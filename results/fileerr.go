package results

import (
	"fmt"
	"strings"
)

// A FileError says what is wrong with a results file, and where. Its Hint is
// what the user can do; the command line prints it on a line of its own.
type FileError struct {
	File  string // as the user named it
	Line  int64  // 1-based; 0 = the file as a whole
	Field string // JSON name of the offending field, "" if none is to blame
	Err   error
	Tip   string
}

// Error is "file:line: field: what", without the parts that are absent.
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(Printable(e.File))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Field != "" {
		fmt.Fprintf(&b, ": field %q", e.Field)
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Hint is what the user can do about it, "" if nothing is known.
func (e *FileError) Hint() string { return e.Tip }

// Printable replaces what a terminal would obey instead of show: control
// characters, escapes, and the Unicode marks that reorder text. Names and
// reasons come from files that others wrote.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case r < 0x20, r >= 0x7f && r < 0xa0, // C0, DEL, C1
			r == 0x061c, r == 0x200e, r == 0x200f, // direction marks
			r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // separators, overrides, isolates
			r == 0xfeff:
			return '\ufffd'
		}
		return r
	}, s)
}
