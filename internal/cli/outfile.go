package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"lockbench/results"
)

// An outFile is a file that --out names. It is opened before anything is read or
// computed, so that a path which cannot be written costs nothing; its old
// content is there until the new one is written.
type outFile struct {
	file           *os.File
	fresh, regular bool
}

// openOut opens path. An existing regular file needs force, and may not be one
// of inputs: it would be gone when it is read.
func openOut(path string, force bool, inputs []string) (*outFile, error) {
	bad := func(err error, hint string) error {
		return usageErr(fmt.Errorf("--out: %s: %w", results.Printable(path), err), hint)
	}
	o := &outFile{regular: true}
	st, err := os.Stat(path)
	switch {
	case err == nil:
		o.regular = st.Mode().IsRegular()
	case errors.Is(err, fs.ErrNotExist):
		o.fresh = true
	}
	for _, in := range inputs {
		if in, e := os.Stat(in); err == nil && e == nil && os.SameFile(st, in) && o.regular {
			return nil, bad(errors.New("is one of the files to be read"), "choose another name")
		}
	}
	flags := os.O_WRONLY | os.O_CREATE
	if o.regular && !force {
		flags |= os.O_EXCL
	}
	o.file, err = os.OpenFile(path, flags, 0o644)
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	switch {
	case err == nil:
		return o, nil
	case errors.Is(err, fs.ErrExist):
		return nil, bad(err, "choose another name, or replace the file with --force")
	case errors.Is(err, fs.ErrNotExist):
		return nil, bad(err, "make the directory first")
	}
	return nil, bad(err, "choose a path that you can write")
}

// write replaces the content and closes the file.
func (o *outFile) write(content func(io.Writer) error) error {
	var err error
	if o.regular {
		err = o.file.Truncate(0)
	}
	if err == nil {
		w := bufio.NewWriter(o.file)
		err = errors.Join(content(w), w.Flush())
	}
	return errors.Join(err, o.file.Close())
}

// abandon closes the file without a change; one that was made for this is taken
// away.
func (o *outFile) abandon() {
	o.file.Close()
	if o.fresh {
		os.Remove(o.file.Name())
	}
}
