package num

import (
	"math"
	"testing"
)

func TestFormats(t *testing.T) {
	for _, tc := range []struct {
		name   string
		format func(float64) string
		in     float64
		want   string
	}{
		{"Three", Three, 0, "0"},
		{"Three", Three, 0.00012, "0.00012"},
		{"Three", Three, 0.0123, "0.0123"},
		{"Three", Three, 0.5, "0.500"},
		{"Three", Three, 1, "1.00"},
		{"Three", Three, 9.996, "10.0"},
		{"Three", Three, 12.34, "12.3"},
		{"Three", Three, 99.96, "100"},
		{"Three", Three, 999.4, "999"},
		{"Three", Three, 123456, "123456"},
		{"Three", Three, math.Inf(1), "inf"},
		{"Whole", Whole, 2, "2"},
		{"Whole", Whole, 1.9, "1.9"},
		{"Whole", Whole, 0.5, "0.5"},
		{"Rate", Rate, 0, "0 /s"},
		{"Rate", Rate, 999.6, "1.00 k/s"},
		{"Rate", Rate, 12.34e6, "12.3 M/s"},
		{"Rate", Rate, 5e15, "5000 T/s"},
		{"Span", Span, 21, "21 ns"},
		{"Span", Span, 9.6, "9.6 ns"},
		{"Span", Span, 200, "200 ns"},
		{"Span", Span, 999.4, "999 ns"},
		{"Span", Span, 999.6, "1.00 µs"},
		{"Span", Span, 1234, "1.23 µs"},
		{"Span", Span, 999_600, "1.00 ms"},
		{"Span", Span, 45e6, "45.0 ms"},
		{"Span", Span, 3.6e12, "3600 s"},
		{"Span", Span, math.Inf(1), "inf"},
	} {
		if got := tc.format(tc.in); got != tc.want {
			t.Errorf("%s(%v): got %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 cores", 1: "1 core", 2: "2 cores"} {
		if got := Count(n, "core"); got != want {
			t.Errorf("Count(%d): got %q, want %q", n, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{{"", 1, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöüß", 3, "äö…"}} {
		if got := Cut(tc.in, tc.n); got != tc.want {
			t.Errorf("Cut(%q, %d): got %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
}
