package near

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	names := []string{"mcs", "mcs-park", "mutex", "rwmutex", "ticket", "ticket-park", "tas"}
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"mutx", []string{"mutex"}},
		{"mcs-prak", []string{"mcs", "mcs-park"}},
		{"tikcet", []string{"ticket"}},
		{"MUTEX", []string{"mutex"}},
		{"zzzzz", nil},
		{"", nil},
	} {
		got := Names(c.in, names)
		for _, w := range c.want {
			if !slices.Contains(got, w) {
				t.Errorf("%q: %v, want %v among them", c.in, got, c.want)
			}
		}
		if c.want == nil && len(got) > 0 {
			t.Errorf("%q: %v, want none", c.in, got)
		}
	}
	if got := (&UnknownError{What: "lock", Name: "x", Near: []string{"tas"}}).Hint(); got != "did you mean tas? see: lockbench list locks" {
		t.Errorf("hint %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "xyz", 3}, {"", "ab", 2}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
