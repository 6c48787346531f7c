package expect

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var values = map[string]time.Duration{"T": time.Second, "tick": 500 * time.Millisecond, "poll": 50 * time.Millisecond, "jump": 3 * time.Second}

func TestFormula(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want float64 // ms
	}{
		{"T", 1000},
		{" T + poll ", 1050},
		{"T+0.5s", 1500},
		{"jump", 3000},
		{"2 * poll", 100},
		{"poll * 2", 100},
		{"2/4 * T", 500},
		{"T / 2 + tick", 1000},
		{"1.5 * tick", 750},
		{"max(T/2, 150ms)", 500},
		{"max(poll, 150ms, 20ms)", 150},
		{"max(T/2, 150ms) / 5", 100},
		{"2 * (T + tick)", 3000},
		{"(1 + 1) * T", 2000},
		{"0.1s", 100},
		{"never", math.Inf(1)},
	} {
		f, err := ParseFormula(tc.in)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
			continue
		}
		got, err := f.MS(values)
		if err != nil || math.Abs(got-tc.want) > 1e-6 {
			t.Errorf("%q: got %v ms, %v, want %v ms", tc.in, got, err, tc.want)
		}
		if f.String() != strings.TrimSpace(tc.in) || f.Never() != math.IsInf(tc.want, 1) {
			t.Errorf("%q: got text %q, never %v", tc.in, f, f.Never())
		}
	}
}

func TestFormulaErrors(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "it ends too early"},
		{"T +", "it ends too early"},
		{"3", "a unit, ms or s, is missing"},
		{"T + 3", "a unit, ms or s, is missing"},
		{"3 + T", "a unit, ms or s, is missing"},
		{"max(3)", "a unit, ms or s, is missing"},
		{"T * T", "multiplies two durations"},
		{"2 / T", "divides by a duration"},
		{"T / 0", "divides by 0"},
		{"2T", "is no unit"},
		{"3min", "is no unit"},
		{"T T", "cannot follow"},
		{"T)", "cannot follow"},
		{"(T", "parenthesis is missing"},
		{"max(T", "parenthesis is missing"},
		{"max T", "in parentheses"},
		{"never + T", `nothing is named "never"`},
		{"TTL", `nothing is named "TTL"`},
		{"-T", "cannot stand there"},
		{"1.2.3s", "is no number"},
		{"99999999999999999s", "too large"},
		{"99999999999999999 * T", "too large"},
		{strings.Repeat("(", 30) + "T" + strings.Repeat(")", 30), "too many parentheses"},
		{strings.Repeat("T + ", 60) + "T", "longer than"},
	} {
		if f, err := ParseFormula(tc.in); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got %v, %v, want an error with %q", tc.in, f, err, tc.want)
		}
	}
}

func TestFormulaNames(t *testing.T) {
	f, err := ParseFormula("max(T/2, poll) + tick + T")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Names(), []string{"T", "poll", "tick"}; !slices.Equal(got, want) {
		t.Errorf("names of %q: got %q, want %q", f, got, want)
	}
	got, err := f.MS(map[string]time.Duration{"T": time.Second, "tick": 0})
	if err == nil || !strings.Contains(err.Error(), "the value of poll is not known") {
		t.Errorf("%q without poll: got %v, %v, want an error that names poll", f, got, err)
	}
}

// FuzzFormula: whatever parses can be evaluated, and is parsed again from its own text.
func FuzzFormula(f *testing.F) {
	for _, s := range []string{"T + poll", "max(T/2, 150ms) / 3", "2 * (T + 1.5 * tick)", "never", "T + 0.5s", "((T", "1/0", "9e9s", "T+", "pause + election + T + tick"} {
		f.Add(s)
	}
	all := map[string]time.Duration{}
	for _, v := range Vars() {
		all[v.Name] = time.Second
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseFormula(text)
		if err != nil {
			return
		}
		ms, err := g.MS(all)
		if err != nil || math.IsNaN(ms) || ms < 0 || math.IsInf(ms, 0) != g.Never() {
			t.Fatalf("%q: got %v ms, %v, never %v", text, ms, err, g.Never())
		}
		again, err := ParseFormula(g.String())
		if err != nil {
			t.Fatalf("%q: its text %q: %v", text, g, err)
		}
		if got, _ := again.MS(all); got != ms {
			t.Fatalf("%q: %v ms, but its text %q: %v ms", text, ms, g, got)
		}
	})
}
