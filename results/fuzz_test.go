package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReader feeds files to the decoder: it may refuse them, with a place, but
// never panics, and what it accepts can be written and read again.
func FuzzReader(f *testing.F) {
	seeds, err := filepath.Glob("testdata/seeds/*")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range seeds {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(runLine + sampleLine(f, func(s *Sample) { s.Reason = strings.Repeat("x", 20<<10) }))) // a huge line
	var remote bytes.Buffer
	if err := NewWriter(&remote, "").Write(remoteSample(f, "redis", "/topology=redis-aof", 0, 1000)); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(runLine + remote.String()))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		w := NewWriter(&out, "out")
		var want []string
		for rec, err := range NewReader(bytes.NewReader(in), "in").Records() {
			if err != nil {
				var fe *FileError
				if !errors.As(err, &fe) || fe.Line < 1 {
					t.Errorf("error without a place: %v", err)
				}
				break
			}
			switch {
			case rec.Run != nil:
				err = w.Write(rec.Run)
			case rec.Sample != nil:
				err = w.Write(rec.Sample)
			case rec.Event != nil:
				err = w.Write(rec.Event)
			case rec.Verdict != nil:
				err = w.Write(rec.Verdict)
			default:
				continue
			}
			if err != nil {
				t.Fatalf("record of line %d cannot be written again: %v", rec.Line, err)
			}
			want = append(want, rec.Type)
		}
		if len(want) == 0 || want[0] != TypeRun {
			return
		}
		n := 0
		for rec, err := range NewReader(&out, "out").Records() {
			if err != nil {
				t.Fatalf("read again: %v", err)
			}
			if rec.Type != want[n] {
				t.Errorf("record %d read again: got %q, want %q", n, rec.Type, want[n])
			}
			n++
		}
		if n != len(want) {
			t.Errorf("read again: got %d records, want %d", n, len(want))
		}
	})
}

// FuzzVerdict feeds single verdicts to the decoder: what it accepts can be written and read again, and has a place in
// a matrix.
func FuzzVerdict(f *testing.F) {
	b, err := os.ReadFile("testdata/seeds/chaos.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		f.Add(bytes.TrimSuffix(line, []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsRune(line, '\n') {
			return
		}
		var all []*ChaosVerdict
		var out bytes.Buffer
		w := NewWriter(&out, "out")
		for rec, err := range NewReader(bytes.NewReader(append([]byte(runLine), line...)), "in").Records() {
			if err != nil {
				var fe *FileError
				if !errors.As(err, &fe) || fe.Line < 1 {
					t.Errorf("error without a place: %v", err)
				}
				return
			}
			if rec.Run != nil {
				err = w.Write(rec.Run)
			}
			if rec.Verdict != nil {
				all, err = append(all, rec.Verdict), w.Write(rec.Verdict)
			}
			if err != nil {
				t.Fatalf("record of line %d cannot be written again: %v", rec.Line, err)
			}
		}
		m := NewChaosReport(&Run{}, append(all, all...), nil).Matrix()
		cells := 0
		for _, row := range m.Rows {
			for _, col := range m.Columns {
				if m.At(row, col) != nil {
					cells++
				}
			}
		}
		want := 0
		for _, v := range all {
			if !v.Control {
				want += 2
			}
		}
		if cells != want {
			t.Errorf("%d cells in the matrix, want %d", cells, want)
		}
		for rec, err := range NewReader(&out, "out").Records() {
			if err != nil {
				t.Fatalf("read again: %v", err)
			}
			if rec.Verdict != nil && (len(all) == 0 || rec.Verdict.Verdict != all[0].Verdict || rec.Verdict.Bad != all[0].Bad) {
				t.Errorf("read again: got %+v, want %+v", rec.Verdict, all)
			}
		}
	})
}
