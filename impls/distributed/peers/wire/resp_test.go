package wire_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"lockbench/impls/distributed/peers/wire"
)

func command(args ...string) string {
	var b strings.Builder
	b.WriteString("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		b.WriteString("$" + strconv.Itoa(len(a)) + "\r\n" + a + "\r\n")
	}
	return b.String()
}

// TestCount cuts streams at random places: the number of commands does not depend on it.
func TestCount(t *testing.T) {
	for _, tc := range []struct {
		stream string
		want   int64
	}{
		{"", 0},
		{command("PING"), 1},
		{command("SET", "k", "", "NX", "PX", "1000"), 1},
		{command("SET", "k", "*3\r\n$1\r\n", "NX"), 1}, // a value that looks like a command
		{command("EVALSHA", strings.Repeat("a", 40), "1", "key", strings.Repeat("\r\n", 300)) + command("GET", "k"), 2},
		{strings.Repeat(command("PING"), 100), 100},
		{"*0\r\n" + command("PING"), 1},
		{"PING\r\n" + command("PING"), 2},
		{command("PING")[:7], 0},
	} {
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, 1))
			var c wire.Counter
			var got int64
			for p := []byte(tc.stream); len(p) > 0; {
				n := 1 + r.IntN(min(len(p), 1+r.IntN(40)))
				got += c.Count(p[:n])
				p = p[n:]
			}
			if got != tc.want {
				t.Fatalf("seed %d: %.60q: %d commands, want %d", seed, tc.stream, got, tc.want)
			}
		}
	}
}

// FuzzCount feeds anything in two parts: it must not panic, and a cut changes nothing.
func FuzzCount(f *testing.F) {
	f.Add([]byte(command("GET", "k")), 3)
	f.Add([]byte("*99999999999999999999\r\n$1\r\n"), 1)
	f.Add([]byte("*1\r\n$9223372036854775807\r\nx"), 9)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		var whole, parts wire.Counter
		want := whole.Count(p)
		if cut < 0 || cut > len(p) {
			cut = 0
		}
		if got := parts.Count(p[:cut]) + parts.Count(p[cut:]); got != want {
			t.Fatalf("%q cut at %d: %d commands, want %d", p, cut, got, want)
		}
	})
}
