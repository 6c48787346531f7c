package claims

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// create makes an arena for the test.
func create(t testing.TB, keys, workers, lines int) (*Arena, string) {
	t.Helper()
	a, path, err := Create(t.TempDir(), keys, workers, lines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, path
}

func TestCreateRefuses(t *testing.T) {
	for _, x := range []struct{ keys, workers, lines int }{
		{0, 1, 0}, {-1, 1, 0}, {MaxKeys + 1, 1, 0}, {1, 0, 0}, {1, -1, 0}, {1, MaxWorkers + 1, 0}, {1, 1, -1},
	} {
		dir := t.TempDir()
		if _, _, err := Create(dir, x.keys, x.workers, x.lines); err == nil {
			t.Errorf("%+v: no error", x)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%+v: left %v", x, left)
		}
	}
	if _, _, err := Create(filepath.Join(t.TempDir(), "none"), 1, 1, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: got %v", err)
	}
}

// What one mapping of the file writes, the other reads, also when the file is removed.
func TestOpen(t *testing.T) {
	a, path := create(t, 3, 5, 2)
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if b.Keys() != 3 || b.Workers() != 5 || len(b.Lines(2)) != 2*LineBytes {
		t.Errorf("got %d keys, %d workers, %d bytes a key", b.Keys(), b.Workers(), len(b.Lines(2)))
	}
	for k := range 3 {
		copy(a.Lines(k), bytes.Repeat([]byte{byte(k + 1)}, 2*LineBytes))
	}
	for k := range 3 {
		if got := b.Lines(k); got[0] != byte(k+1) || got[2*LineBytes-1] != byte(k+1) {
			t.Errorf("the lines of key %d are another's: %d to %d", k, got[0], got[2*LineBytes-1])
		}
	}
	e := a.Enter(4, 2, 0, false)
	if !b.Busy(2) || b.Busy(1) {
		t.Error("the claim of key 2 is not seen, or one of key 1 is")
	}
	if got := b.Enter(0, 2, 0, false); got.Overlap != 4 {
		t.Errorf("got an overlap with %d, want one with 4", got.Overlap)
	}
	a.Exit(4, 2, e, 0)
	a.Finish()
	if b.Finished() != 1 {
		t.Errorf("%d have finished, want 1", b.Finished())
	}
}

func TestOpenDamaged(t *testing.T) {
	_, path := create(t, 2, 2, 1)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	with := func(at int, b ...byte) []byte {
		out := bytes.Clone(whole)
		copy(out[at:], b)
		return out
	}
	huge := bytes.Repeat([]byte{0xff}, 8)
	for name, data := range map[string][]byte{
		"empty": {}, "a part of the header": whole[:511], "the header alone": whole[:512], "the last byte is missing": whole[:len(whole)-1],
		"a byte more": append(bytes.Clone(whole), 0), "zeros": make([]byte, len(whole)), "text": []byte(strings.Repeat("text ", 1000)),
		"magic": with(0, 0), "version": with(8, 99), "no key": with(16, 0), "a key more": with(16, 3), "keys": with(16, huge...),
		"no worker": with(24, 0), "workers": with(24, huge...), "lines": with(32, 0), "long lines": with(32, huge...),
	} {
		path := filepath.Join(t.TempDir(), "claims")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := Open(path); err == nil {
			t.Errorf("%s: no error", name)
			_ = a.Close()
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder: no error")
	}
}

// An arena of the largest size can be made: its file is sparse.
func TestLargest(t *testing.T) {
	a, path := create(t, MaxKeys, MaxWorkers, 0)
	e := a.Enter(MaxWorkers-1, MaxKeys-1, 1, true)
	a.Exit(MaxWorkers-1, MaxKeys-1, e, 0)
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := b.Ring(MaxWorkers - 1); len(got) != 1 || got[0].Key != MaxKeys-1 {
		t.Errorf("got %+v", got)
	}
}
