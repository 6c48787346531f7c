package zookeeper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// node makes a name as the server does (PrepRequestProcessor: "%010d").
func node(id byte, seq int32) string {
	return fmt.Sprintf("%s-%010d", strings.Repeat(string(id), idLen), seq)
}

func TestPlace(t *testing.T) {
	id := strings.Repeat("b", idLen)
	for _, c := range []struct {
		name        string
		names       []string
		own, before string
		extra       []string
	}{
		{"empty", nil, "", "", nil},
		{"missing", []string{node('a', 1)}, "", "", nil},
		{"alone", []string{node('b', 7)}, node('b', 7), "", nil},
		{"first", []string{node('c', 8), node('b', 7)}, node('b', 7), "", nil},
		{"nearest", []string{node('a', 1), node('d', 9), node('c', 5), node('b', 7), node('e', 3)}, node('b', 7), node('c', 5), nil},
		{"foreign names", []string{"value", "_c_" + id + "-lock-0000000001", node('b', 7), id + "-x"}, node('b', 7), "", nil},
		{"after the wrap", []string{node('a', math.MaxInt32), node('b', math.MinInt32)}, node('b', math.MinInt32), node('a', math.MaxInt32), nil},
		{"before the wrap", []string{node('a', math.MinInt32), node('b', math.MaxInt32)}, node('b', math.MaxInt32), "", nil},
		{"across it", []string{node('a', math.MaxInt32-1), node('c', math.MaxInt32), node('b', math.MinInt32+3), node('d', math.MinInt32+1)},
			node('b', math.MinInt32+3), node('d', math.MinInt32+1), nil},
		{"twice", []string{node('b', 9), node('a', 1), node('b', 7), node('b', 8)}, node('b', 7), node('a', 1), []string{node('b', 9), node('b', 8)}},
	} {
		own, before, extra := place(c.names, id)
		if own != c.own || before != c.before || !slices.Equal(extra, c.extra) {
			t.Errorf("%s: place(%q) = %q, %q, %q; want %q, %q, %q", c.name, c.names, own, before, extra, c.own, c.before, c.extra)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(node('a', 1))
	f.Add(node('a', math.MinInt32))
	f.Add("-")
	f.Fuzz(func(t *testing.T, name string) {
		if id, seq, ok := parse(name); ok && (len(id) != idLen || !strings.HasPrefix(name, id+"-") || !strings.Contains(name, strings.TrimLeft(fmt.Sprint(seq), "-"))) {
			t.Errorf("parse(%q) = %q, %d", name, id, seq)
		}
	})
}

// TestHeartbeat: what was sent less than a fifth of T ago proves nothing yet.
func TestHeartbeat(t *testing.T) {
	const T = 20 * time.Second
	start := time.Now()
	h := heartbeat{ttl: T, base: start, candidate: start}
	for _, c := range []struct{ sent, until time.Duration }{
		{5 * time.Second, 20 * time.Second},  // proves the request for the session
		{10 * time.Second, 25 * time.Second}, // the one of 5 s
		{12 * time.Second, 25 * time.Second}, // too early to prove that of 10 s
		{15 * time.Second, 30 * time.Second}, // that of 10 s, not that of 12 s
		{40 * time.Second, 35 * time.Second}, // too late for all
	} {
		if got := start.Add(c.sent).Add(h.answered(start.Add(c.sent))).Sub(start); got != c.until {
			t.Errorf("answered at %v: lasts until %v, want %v", c.sent, got, c.until)
		}
	}
	for i, want := range []bool{false, true, false, true} {
		if got := h.missed(); got != want {
			t.Errorf("miss %d: dead %v, want %v", i+1, got, want)
		}
	}
	h.answered(start.Add(41 * time.Second))
	if h.missed() {
		t.Error("one miss after an answer: dead")
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		data   string
		v      int64
		writer string
		bad    bool
	}{
		{"", 0, "", false}, {"-3 a.1", -3, "a.1", false}, {"7", 7, "", false}, {"x 1", 0, "", true}, {" ", 0, "", true},
	} {
		v, writer, err := parseValue([]byte(c.data))
		if v != c.v || (err != nil) != c.bad || !c.bad && writer != c.writer {
			t.Errorf("parseValue(%q) = %d, %q, %v", c.data, v, writer, err)
		}
	}
}
