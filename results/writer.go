package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A Writer appends records to a results file, each with one Write of one whole
// line and nothing held back, so that a killed program loses at most the record
// that it was writing. It is for one goroutine.
//
// After a failed write (disk full) the Writer cuts the file back to its last
// whole record if it can, and answers every later call with the same error.
type Writer struct {
	w    io.Writer
	name string
	file *os.File // nil over a plain io.Writer
	// fresh: the file's old content is still there. It is dropped by the first
	// record, not by Create, so that a run which fails before its first record
	// destroys nothing.
	fresh   bool
	regular bool
	good    int64 // length of the whole records written
	buf     bytes.Buffer
	err     error
}

// Create opens path for the records of a run. It is called before measuring,
// so that an unwritable path costs nothing. An existing regular file is an
// error that wraps fs.ErrExist unless force is set. With force the old content
// is replaced when the first record is written. A device or pipe, such as
// /dev/stdout, needs no force: there is nothing to lose.
func Create(path string, force bool) (*Writer, error) {
	regular := true
	st, err := os.Stat(path)
	switch {
	case err == nil:
		regular = st.Mode().IsRegular()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, createError(path, err)
	}
	flags := os.O_WRONLY | os.O_CREATE
	if regular && !force {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, createError(path, err)
	}
	return &Writer{w: f, name: path, file: f, fresh: true, regular: regular}, nil
}

func createError(path string, err error) error {
	e := &FileError{File: path, Err: fmt.Errorf("create results file: %w", cause(err))}
	switch {
	case errors.Is(err, fs.ErrExist):
		e.Tip = "choose another name, or replace the file with --force"
	case errors.Is(err, fs.ErrNotExist):
		e.Tip = "make the directory first"
	default:
		e.Tip = "choose a path that you can write"
	}
	return e
}

// cause takes the path and the operation off an error of package os, since
// FileError and its text name them already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// NewWriter writes records to w; name stands for it in errors. Close does not
// close w.
func NewWriter(w io.Writer, name string) *Writer {
	return &Writer{w: w, name: name}
}

// Write appends one record: a Run, Sample, Event or ChaosVerdict, by value or by
// pointer, whose Type it fills in, or any other value that marshals to an object
// with a "type". A Sample or ChaosVerdict that a Reader would refuse is refused
// here: the fault is then found by who made it.
func (w *Writer) Write(rec any) error {
	if w.err != nil {
		return w.err
	}
	rec, err := typed(rec)
	if err != nil {
		return fmt.Errorf("write record to %s: %w", Printable(w.name), err)
	}
	w.buf.Reset()
	enc := json.NewEncoder(&w.buf) // ends the line
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rec); err != nil {
		return fmt.Errorf("write record to %s: %w", Printable(w.name), err)
	}
	if err := w.write(); err != nil {
		tip := "nothing was written; choose another path, or make room"
		if w.good > 0 {
			tip = "the records before this one are in the file"
		}
		w.err = &FileError{File: w.name, Err: fmt.Errorf("write results: %w", cause(err)), Tip: tip}
	}
	return w.err
}

// typed returns a copy of a known record with its type, checked.
func typed(rec any) (any, error) {
	switch r := rec.(type) {
	case *Run:
		return typed(*r)
	case *Sample:
		return typed(*r)
	case *Event:
		return typed(*r)
	case *ChaosVerdict:
		return typed(*r)
	case Run:
		r.Type = TypeRun
		if r.Schema == 0 {
			r.Schema = SchemaMajor
		}
		return r, nil
	case Sample:
		r.Type = TypeSample
		return r, r.Validate()
	case Event:
		r.Type = TypeEvent
		return r, nil
	case ChaosVerdict:
		r.Type = TypeVerdict
		return r, r.Validate()
	}
	return rec, nil
}

// write brings out the buffered line.
func (w *Writer) write() error {
	if w.file != nil && w.fresh && w.regular {
		if err := w.file.Truncate(0); err != nil {
			return err
		}
	}
	w.fresh = false
	_, err := w.w.Write(w.buf.Bytes())
	if err == nil {
		w.good += int64(w.buf.Len())
		return nil
	}
	if w.file != nil && w.regular {
		// Best effort: a reader copes with a part of a last line, too.
		_ = w.file.Truncate(w.good)
	}
	return err
}

// Name is the path, as given.
func (w *Writer) Name() string { return w.name }

// Close brings a file to the disk and closes it.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	var err error
	if w.regular {
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return &FileError{File: w.name, Err: fmt.Errorf("close results file: %w", cause(err))}
	}
	return nil
}

var _ io.Closer = (*Writer)(nil)
