package watchdog

import (
	"errors"
	"os"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n"
	for _, c := range []struct {
		name, line string
		want       uint64
		ok         bool
	}{
		{"plain", "12 (sleep) S" + rest, 4711, true},
		{"brackets and spaces in the name", "12 (a) Z (b c) R" + rest, 4711, true},
		{"stopped", "12 (sleep) T" + rest, 4711, true},
		{"short", "12 (sleep) S 1 2 3", 0, false},
		{"no name", "12 sleep S" + rest, 0, false},
		{"empty", "", 0, false},
	} {
		got, err := parseStat(12, []byte(c.line))
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: %q: got %d, %v, want %d, ok %v", c.name, c.line, got, err, c.want, c.ok)
		}
	}
	if _, err := parseStat(12, []byte("12 (sleep) Z"+rest)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("zombie: got %v, want %v", err, os.ErrNotExist)
	}
}
