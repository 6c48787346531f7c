package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"lockbench/internal/golden"
)

const (
	us = int64(1000)
	ms = 1000 * us
)

var cases = []struct {
	name  string
	title string
	lines []Line
}{
	{"pause", "redis x holder-pause, careless, round 3: two inside for 1512.000 ms", []Line{
		{AtNS: 5000 * ms, Who: Holder, Text: "asks for the lock"},
		{AtNS: 5001*ms + 250*us, Who: Holder, Text: `granted, token 17, valid for 1000.000 ms from the request`},
		{AtNS: 5001*ms + 300*us, Who: Holder, Text: "inside; reads 0 from both stores", Begin: "holder inside"},
		{AtNS: 5020 * ms, Who: Next, Text: "asks for the lock"},
		{AtNS: 5021 * ms, Who: Second, Text: "asks for the lock"},
		{AtNS: 5100 * ms, Who: Holder, Text: "checked that it holds the lock, and is about to write"},
		{AtNS: 5100*ms + 90*us, Who: Fault, Text: "SIGSTOP to process 4711", Begin: "holder-pause"},
		{AtNS: 5100*ms + 310*us, Who: Harness, Text: "felt: /proc/4711/stat says T"},
		{AtNS: 6003 * ms, Who: Next, Text: "granted, token 18"},
		{AtNS: 6003*ms + 41*us + 500, Who: Next, Text: "inside, while the claim of holder stands; its lease was over since 2.000 ms", Begin: "next inside", Bad: true},
		{AtNS: 7500 * ms, Who: Fault, Text: "SIGCONT to process 4711", End: "holder-pause"},
		{AtNS: 7500*ms + 60*us, Who: Store, Text: "holder writes 1 with token 17: the unfenced store takes it, the fenced one, which has seen token 18 by then, refuses it and keeps what the next one wrote there before", Bad: true},
		{AtNS: 7515*ms + 41*us, Who: Holder, Text: "learns that its lease is lost, and leaves", End: "holder inside"},
		{AtNS: 7600 * ms, Who: Next, Text: "leaves", End: "next inside"},
		{AtNS: 7601 * ms, Who: Second, Text: "inside", Begin: "second inside"},
	}},
	{"no-fault", "control-naive, no fault", []Line{
		{AtNS: 3 * ms, Who: Next, Text: "leaves", End: "next inside"},
		{AtNS: 1 * ms, Who: Holder, Text: "a lone mark", End: "never begun"},
		{AtNS: 2 * ms, Who: Next, Text: "the first of two at one time", Begin: "next inside"},
		{AtNS: 2 * ms, Who: Holder, Text: "the second of two at one time"},
		{AtNS: 4 * ms, Who: Next, Text: "inside and out again", Begin: "next inside", End: "next inside"},
		{AtNS: 5 * ms, Who: Next, Text: "again", Begin: "next inside"},
		{AtNS: 5*ms + 1, Who: Next, Text: "a nanosecond later"},
	}},
	{"hostile", "a title\nwith \x1b[31mcontrol\x1b[0m characters", []Line{
		{AtNS: 1, Who: Fault, Text: "two\nlines\tand a bell\a, \u202eturned round, broken \xff\xfe bytes", Begin: "\x1b[2J"},
		{AtNS: 2, Who: "a name that is longer than others", Text: strings.Repeat("x", 200) + " y"},
		{AtNS: 3, Who: "", Text: ""},
		{AtNS: 3600_000*ms + 2, Who: Harness, Text: "an hour later", End: "\x1b[2J"},
	}},
	{"empty", "nothing at all", nil},
}

func TestWrite(t *testing.T) {
	for _, c := range cases {
		var b bytes.Buffer
		if err := Write(&b, c.title, c.lines); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		golden.Check(t, filepath.Join("testdata", c.name+".golden"), b.Bytes())
		tidy(t, c.name, b.String())
	}
}

// tidy checks what is true of every page that is not absurdly wide to begin with.
func tidy(t *testing.T, name, page string) {
	t.Helper()
	for i, row := range strings.Split(page, "\n") {
		if n := utf8.RuneCountInString(row); n > width {
			t.Errorf("%s: row %d has %d columns, want at most %d: %q", name, i+1, n, width, row)
		}
		if strings.TrimRight(row, " ") != row {
			t.Errorf("%s: row %d ends in blanks: %q", name, i+1, row)
		}
		if strings.ContainsFunc(row, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) {
			t.Errorf("%s: row %d has characters that a terminal obeys: %q", name, i+1, row)
		}
	}
}

func TestManySpans(t *testing.T) {
	var lines []Line
	for i := range MaxSpans + 3 {
		lines = append(lines, Line{AtNS: int64(i), Who: Next, Text: "in", Begin: fmt.Sprintf("span %d", i)})
	}
	var b bytes.Buffer
	if err := Write(&b, "many", lines); err != nil {
		t.Fatal(err)
	}
	tidy(t, "many", b.String())
	out := b.String()
	for want, times := range map[string]int{"L: span 11": 1, "M: ": 0, "others are not drawn": 1, "| | | | | | | | | | | |": 3} {
		if got := strings.Count(out, want); got != times {
			t.Errorf("%q is there %d times, want %d:\n%s", want, got, times, out)
		}
	}
}

func TestWriteLeavesItsInput(t *testing.T) {
	lines := []Line{{AtNS: 2, Who: "b\x00"}, {AtNS: 1, Who: "a"}}
	var b bytes.Buffer
	if err := Write(&b, "", lines); err != nil {
		t.Fatal(err)
	}
	if lines[0].Who != "b\x00" || lines[1].AtNS != 1 {
		t.Errorf("the caller's lines are now %+v", lines)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteFails(t *testing.T) {
	if err := Write(full{}, "t", cases[0].lines); !errors.Is(err, errFull) {
		t.Errorf("got %v, want the writer's error", err)
	}
}

func TestMillis(t *testing.T) {
	for in, want := range map[int64]string{0: "0.000", 1: "0.000", -1: "0.000", 499: "0.000", 500: "+0.001", -500: "-0.001",
		1_234_567: "+1.235", -1_234_567: "-1.235", 3_600_000_000_000: "+3600000.000"} {
		if got := millis(in); got != want {
			t.Errorf("millis(%d): got %q want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string // rows, with slashes between
	}{
		{"", ""},
		{"   ", ""},
		{"one", "one"},
		{"one two", "one two"},
		{"one two three", "one two/three"},
		{"one twotw three", "one twotw/three"},
		{"exactly ten ", "exactly/ten"},
		{"0123456789", "0123456789"},
		{"a 0123456789", "a/0123456789"},
		{"0123456789a b", "0123456789/a b"},
		{"ääääääääääö", "ääääääääää/ö"},
	} {
		if got := strings.Join(wrap(c.in, 10), "/"); got != c.want {
			t.Errorf("wrap(%q, 10): got %q want %q", c.in, got, c.want)
		}
	}
}

// FuzzWrite: whatever servers say, a page is as wide as it may be and has no character that a terminal obeys.
func FuzzWrite(f *testing.F) {
	f.Add("title", "text", "span", int64(5), true)
	f.Add("\x1b[1m", "\u2028 \u202e", "\r\n", int64(-1<<62), false)
	f.Fuzz(func(t *testing.T, title, text, span string, at int64, bad bool) {
		lines := []Line{{AtNS: at, Who: Holder, Text: text, Bad: bad, Begin: span}, {Who: Fault, Text: text + text, End: span}}
		var b bytes.Buffer
		if err := Write(&b, title, lines); err != nil {
			t.Fatal(err)
		}
		tidy(t, fmt.Sprintf("%+v", lines), b.String())
		b.Reset()
		if err := Write(&b, title, nil); err != nil {
			t.Fatal(err)
		}
		tidy(t, fmt.Sprintf("title %q", title), b.String())
	})
}
