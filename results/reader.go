package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// MaxLine is the longest line that a Reader accepts, in bytes. The longest
// record written is an event with a goroutine dump of 64 KiB.
const MaxLine = 16 << 20

// A Record is one line of a results file. Of Run, Sample, Event and Verdict the one that
// belongs to Type is set; for the other types Raw has the line.
type Record struct {
	Line   int64 // 1-based
	Type   string
	Run    *Run
	Sample *Sample
	Event  *Event
	// Verdict is that of a fault. Verdicts of other kinds, such as a gate's, are Raw.
	Verdict *ChaosVerdict
	// Raw is the line of a type without a Go struct here: summary, other verdicts, or
	// one that this version does not know. It is valid until the next record.
	Raw json.RawMessage
}

// A Reader reads the records of one file, a line at a time: its memory does not
// grow with the file. It is for one goroutine, and reads once.
type Reader struct {
	br   *bufio.Reader
	name string
	line int64
	long []byte // a line that did not fit into br's buffer
	hdr  bool   // keep encoded histograms

	// Unknown counts the records of types that this version does not know.
	Unknown map[string]int
	// Truncated is a warning, "" if there is none: the file ends in the middle
	// of a record. It is set when Records has ended.
	Truncated string
}

// A ReadOption changes what a Reader does.
type ReadOption func(*Reader)

// WithHistograms keeps the encoded histograms of samples (Latency.HDR), for
// DecodeHist. They are nine tenths of a file; without the option they are looked
// at, whether they can be histograms at all, and left out.
func WithHistograms() ReadOption { return func(r *Reader) { r.hdr = true } }

// NewReader reads from r; name stands for it in errors.
func NewReader(r io.Reader, name string, opts ...ReadOption) *Reader {
	out := &Reader{br: bufio.NewReaderSize(r, 64<<10), name: name, Unknown: map[string]int{}}
	for _, o := range opts {
		o(out)
	}
	return out
}

// ReadFile calls fn for every record of the file at path and returns the
// Reader for its warnings. It stops at the first error, fn's included.
func ReadFile(path string, fn func(Record) error, opts ...ReadOption) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &FileError{File: path, Err: fmt.Errorf("open results file: %w", cause(err))}
	}
	defer f.Close() // read only: nothing is lost
	r := NewReader(f, path, opts...)
	for rec, err := range r.Records() {
		if err != nil {
			return r, err
		}
		if err := fn(rec); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Records yields the records in order. An error is a *FileError and the last
// thing yielded.
func (r *Reader) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		seen := false // a run header
		for {
			line, whole, err := r.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if len(bytes.TrimSpace(line)) == 0 && whole {
				continue
			}
			rec, err := r.parse(line, seen)
			switch {
			case err != nil && !whole && seen && isSyntax(err):
				r.Truncated = fmt.Sprintf("%s:%d: the file is cut off in the middle of a record (%d bytes); the records before it are read",
					Printable(r.name), r.line, len(line))
				return
			case err != nil:
				yield(Record{}, err)
				return
			}
			seen = true
			if !yield(rec, nil) {
				return
			}
		}
		if !seen {
			yield(Record{}, r.fail("", errors.New("the file has no records"),
				"the run ended before it wrote its header; measure again"))
		}
	}
}

// next returns the next line without its end. whole is false for a last line
// that has none.
func (r *Reader) next() (line []byte, whole bool, err error) {
	r.line++
	r.long = r.long[:0]
	for {
		part, err := r.br.ReadSlice('\n')
		if len(r.long)+len(part) > MaxLine {
			return nil, false, r.fail("", fmt.Errorf("the line is longer than %d MiB", MaxLine>>20), hintForeign)
		}
		if err == nil && len(r.long) == 0 {
			return part[:len(part)-1], true, nil
		}
		r.long = append(r.long, part...)
		switch err {
		case nil:
			return r.long[:len(r.long)-1], true, nil
		case bufio.ErrBufferFull:
		case io.EOF:
			if len(r.long) == 0 {
				return nil, false, io.EOF
			}
			return r.long, false, nil
		default:
			return nil, false, r.fail("", fmt.Errorf("read results: %w", cause(err)), "")
		}
	}
}

const (
	hintForeign = "is this a file that `lockbench run --out` wrote?"
	hintDamaged = "the file was changed after it was written; restore it, or delete this line"
	hintRange   = "the record contradicts itself; it was changed by hand or written by a faulty program"
)

// samplePrefix is how the Writer begins a sample.
var samplePrefix = []byte(`{"type":"sample",`)

// parse turns a line into a record. Until a header was seen, anything else
// means that the file is not ours.
func (r *Reader) parse(line []byte, seen bool) (Record, error) {
	hint := hintDamaged
	if !seen {
		hint = hintForeign
	}
	var head struct {
		Type   string `json:"type"`
		Schema int    `json:"schema"`
		// Fault tells the verdict of a fault from others. Its type is checked with the rest.
		Fault json.RawMessage `json:"fault"`
	}
	rec := Record{Line: r.line}
	if bytes.HasPrefix(line, samplePrefix) {
		head.Type = TypeSample // spares most lines of a file the first pass
	} else if err := json.Unmarshal(line, &head); err != nil {
		return rec, r.jsonError(err, hint)
	}
	rec.Type = head.Type
	switch {
	case head.Type == "":
		return rec, r.fail("type", errors.New("a record without a type"), hint)
	case head.Type == TypeRun && head.Schema != SchemaMajor:
		return rec, r.fail("schema", fmt.Errorf("schema version %d; this program reads version %d", head.Schema, SchemaMajor),
			"read the file with the version of lockbench that wrote it")
	case head.Type != TypeRun && !seen:
		return rec, r.fail("type", fmt.Errorf("the file begins with a record of type %q, not with a run header", Printable(head.Type)), hint)
	}
	var into any
	switch head.Type {
	case TypeRun:
		rec.Run = new(Run)
		into = rec.Run
	case TypeSample:
		return r.sample(rec, line, hint)
	case TypeEvent:
		rec.Event = new(Event)
		into = rec.Event
	case TypeVerdict:
		if head.Fault == nil {
			rec.Raw = line
			return rec, nil
		}
		return r.verdict(rec, line, hint)
	case TypeSummary:
		rec.Raw = line
		return rec, nil
	default:
		r.countUnknown(head.Type)
		rec.Raw = line
		return rec, nil
	}
	if err := json.Unmarshal(line, into); err != nil {
		return rec, r.jsonError(err, hint)
	}
	return rec, nil
}

// sample decodes a sample's line, which it may change.
func (r *Reader) sample(rec Record, line []byte, hint string) (Record, error) {
	if !r.hdr {
		line = dropHists(line)
	}
	rec.Sample = new(Sample)
	if err := decodeSample(line, rec.Sample); err != nil {
		return rec, r.jsonError(err, hint)
	}
	if err := rec.Sample.Validate(); err != nil {
		var fe *FieldError
		errors.As(err, &fe)
		return rec, r.fail(fe.Field, fe.Err, hintRange)
	}
	if !r.hdr { // written in another way than the Writer does
		for _, l := range []*Latency{rec.Sample.Acquire, rec.Sample.Handoff, rec.Sample.Lateness, rec.Sample.Remote.release()} {
			if l != nil {
				l.HDR = ""
			}
		}
	}
	return rec, nil
}

// verdict decodes the line of a fault's verdict.
func (r *Reader) verdict(rec Record, line []byte, hint string) (Record, error) {
	rec.Verdict = new(ChaosVerdict)
	if err := json.Unmarshal(line, rec.Verdict); err != nil {
		return rec, r.jsonError(err, hint)
	}
	if err := rec.Verdict.Validate(); err != nil {
		var fe *FieldError
		errors.As(err, &fe)
		return rec, r.fail(fe.Field, fe.Err, hintRange)
	}
	return rec, nil
}

// maxUnknownTypes bounds Unknown in a file that invents a type a line; the rest
// is counted together.
const maxUnknownTypes = 32

func (r *Reader) countUnknown(typ string) {
	typ = Printable(typ)
	if _, ok := r.Unknown[typ]; !ok && len(r.Unknown) >= maxUnknownTypes {
		typ = "other"
	}
	r.Unknown[typ]++
}

func (r *Reader) jsonError(err error, hint string) error {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		if te.Field != "" {
			return r.fail(te.Field, fmt.Errorf("a %s does not fit", te.Value), hint)
		}
		return r.fail("", fmt.Errorf("not a record: a JSON %s, where an object is expected", te.Value), hint)
	}
	return r.fail("", fmt.Errorf("not a record: %w", err), hint)
}

// isSyntax tells a line that is cut off from one that is wrong.
func isSyntax(err error) bool {
	var se *json.SyntaxError
	return errors.As(err, &se)
}

func (r *Reader) fail(field string, err error, hint string) error {
	return &FileError{File: r.name, Line: r.line, Field: field, Err: err, Tip: hint}
}
