package charts

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func labels(s *scale) []string {
	var out []string
	for _, t := range s.ticks {
		out = append(out, t.Label)
	}
	return out
}

func TestScale(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []float64
		log    bool
		want   []string
	}{
		{"nothing", nil, false, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{"only zeros", []float64{0, 0}, false, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{"from 0", []float64{3e6, 24.1e6}, false, []string{"0", "5 M", "10 M", "15 M", "20 M", "25 M"}},
		{"a zero is no reason for a logarithm", []float64{0, 10}, false, []string{"0", "2", "4", "6", "8", "10"}},
		{"wide", []float64{210, 40, 774e6}, true, []string{"100", "1 k", "10 k", "100 k", "1 M", "10 M", "100 M", "1 G"}},
		{"two decades", []float64{8e6, 778e6}, true, []string{"5 M", "10 M", "20 M", "50 M", "100 M", "200 M", "500 M", "1 G"}},
		{"infinite", []float64{1, math.Inf(1)}, false, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{"absurd", []float64{1e-300, 1e300}, true, nil},
	} {
		s := newScale("x", tc.values, rateTick)
		if s.log != tc.log || s.log != strings.Contains(s.name, "log scale") {
			t.Errorf("%s: log %v, name %q; want log %v, and the name to say so", tc.name, s.log, s.name, tc.log)
		}
		if got := labels(s); tc.want != nil && !slices.Equal(got, tc.want) {
			t.Errorf("%s: got ticks %q, want %q", tc.name, got, tc.want)
		}
		if n := len(s.ticks); n < 2 || n > 12 {
			t.Errorf("%s: %d ticks", tc.name, n)
		}
		s.pixels = 400
		for _, v := range append(tc.values, -1, 0, 1e301, math.Inf(1)) {
			if at := s.Translate(v); at < 0 || at > 400 {
				t.Errorf("%s: %g is drawn at %d of 400", tc.name, v, at)
			}
		}
		if s.Translate(s.min) != 0 || s.Translate(s.max) != 400 {
			t.Errorf("%s: the ends are at %d and %d of 400", tc.name, s.Translate(s.min), s.Translate(s.max))
		}
	}
}

func TestRatioScale(t *testing.T) {
	for _, tc := range []struct {
		ratios []float64
		want   []string
	}{
		{[]float64{1}, []string{"0.98×", "0.99×", "1.00×", "1.01×", "1.02×"}},
		{[]float64{0.95, 1.07}, []string{"0.91×", "0.95×", "1.00×", "1.05×", "1.10×"}},
		{[]float64{0, 3}, []string{"0.20×", "0.50×", "1.00×", "2.00×", "5.00×"}},
	} {
		s := ratioScale(tc.ratios)
		if got := labels(s); !slices.Equal(got, tc.want) {
			t.Errorf("%v: got %q, want %q", tc.ratios, got, tc.want)
		}
		s.pixels = 400
		if at := s.Translate(1); at != 200 {
			t.Errorf("%v: 1 is at %d of 400, want the middle", tc.ratios, at)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, tc := range []struct{ at, want []int }{
		{nil, []int{}},
		{[]int{50}, []int{50}},
		{[]int{50, 50, 50}, []int{50, 60, 70}},
		{[]int{98, 99, 10}, []int{90, 100, 10}},
		{[]int{0, 100}, []int{0, 100}},
	} {
		if got := spread(tc.at, 10, 0, 100); !slices.Equal(got, tc.want) {
			t.Errorf("spread(%v): got %v, want %v", tc.at, got, tc.want)
		}
	}
}

func TestInverses(t *testing.T) {
	all := inverses()
	if !slices.IsSorted(all) || all[0] != 2 || all[len(all)-1] != 10000 {
		t.Errorf("from %g to %g, sorted %v", all[0], all[len(all)-1], slices.IsSorted(all))
	}
	for _, tick := range percentileTicks {
		if !slices.Contains(all, tick.inverse) {
			t.Errorf("no point at %s", tick.label)
		}
	}
}

func TestJitter(t *testing.T) {
	seen := map[int]bool{}
	for rep := range 7 {
		j := jitter(rep)
		if j < -6 || j > 6 {
			t.Errorf("repetition %d is moved by %d pixels", rep, j)
		}
		seen[j] = true
	}
	if len(seen) < 6 {
		t.Errorf("seven repetitions are at %d heights", len(seen))
	}
}

func TestFold(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"a bc def", []string{"a bc", "def"}},
		{"abcdefghijkl m", []string{"abcdef", "ghijkl", "m"}},
	} {
		if got := fold(tc.in, 6); !slices.Equal(got, tc.want) {
			t.Errorf("fold(%q): got %q, want %q", tc.in, got, tc.want)
		}
	}
}

// TestThinned: labels do not touch, and the tick that matters stays.
func TestThinned(t *testing.T) {
	s := ratioScale([]float64{9})
	for _, tc := range []struct{ pixels, want int }{{600, len(s.ticks)}, {150, 3}, {10, 1}} {
		got := s.thinned(tc.pixels)
		one := false
		for _, tick := range got.ticks {
			one = one || tick.Value == 1
		}
		if len(got.ticks) != tc.want || !one {
			t.Errorf("%d pixels: got %v, want %d ticks and 1 among them", tc.pixels, got.ticks, tc.want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		in     string
		pixels int
		want   string
	}{
		{"mcs", 108, "mcs"}, {"", 108, ""}, {"WWWWWWWWWWWW", 108, "WWWWWWWW…"}, {"iiiiiiiiiiiiiiii", 108, "iiiiiiiiiiiiiiii"},
		{"錠錠錠錠錠錠錠錠錠", 108, "錠錠錠錠錠錠錠…"},
	} {
		got := fit(tc.in, tc.pixels)
		if got != tc.want || textWidth(got) > tc.pixels {
			t.Errorf("fit(%q, %d): got %q of %d pixels, want %q", tc.in, tc.pixels, got, textWidth(got), tc.want)
		}
	}
}
