package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"lockbench/results"
)

// An outFile is a file for a report or a verdict. It is opened before anything is read or
// computed, so that a path which cannot be written costs nothing; its old
// content is there until the new one is written.
type outFile struct {
	file           *os.File
	fresh, regular bool
}

// openOut opens path, which the named flag gave. An existing regular file needs
// force, and may not be one of inputs.
func openOut(flag, path string, force bool, inputs []string) (*outFile, error) {
	bad := func(err error, hint string) error {
		return usageErr(fmt.Errorf("%s: %s: %w", flag, results.Printable(path), err), hint)
	}
	if err := notAnInput(flag, path, inputs); err != nil {
		return nil, err
	}
	o := &outFile{regular: true}
	st, err := os.Stat(path)
	switch {
	case err == nil:
		o.regular = st.Mode().IsRegular()
	case errors.Is(err, fs.ErrNotExist):
		o.fresh = true
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

// notAnInput refuses a file to be written that is read, run or written otherwise,
// by whatever name: it would be gone when it is wanted. Directories among inputs
// are the files in them.
func notAnInput(flag, path string, inputs []string) error {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return nil // a new file, a pipe or a device
	}
	for _, in := range inputs {
		same := false
		// What cannot be looked at is somebody else's error to report.
		_ = filepath.WalkDir(in, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := os.Stat(in); err == nil && !info.IsDir() {
				same = same || os.SameFile(st, info) // a link is followed
			} else if info, err := d.Info(); err == nil {
				same = same || os.SameFile(st, info)
			}
			return nil
		})
		if same {
			return usageErr(fmt.Errorf("%s: %s: is one of the files to be read, run or written", flag, results.Printable(path)), "choose another name")
		}
	}
	return nil
}
