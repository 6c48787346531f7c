package figure

import (
	"errors"
	"math"
	"testing"
)

var (
	fast = Figure{Name: "cost", Unit: "ns", Limit: 10}
	safe = Figure{Name: "found", Unit: "pct", Op: AtLeast, Limit: 99}
)

func TestString(t *testing.T) {
	six := func(v float64) []float64 { return []float64{v - 2, v - 1, v, v, v + 1, v + 2} }
	for _, tc := range []struct {
		name string
		f    Figure
		want string
	}{
		{"within", fast.Median(six(7)), "figure cost 7 ns target <= 10 ok"},
		{"on the limit", fast.Median(six(8)), "figure cost 8 ns target <= 10 ok"},
		{"bound beyond", fast.Median(six(9)), "figure cost 9 ns target <= 10 short"},
		{"too few", fast.Median([]float64{1, 2, 3}), "figure cost (3 measurements have no 95 % interval) ns target <= 10 short"},
		{"none", fast.Median(nil), "figure cost (no measurements) ns target <= 10 short"},
		{"worst", fast.Worst([]float64{3, 12, 5}), "figure cost 12 ns target <= 10 short"},
		{"worst is good", fast.Worst([]float64{3, 9.5}), "figure cost 9.5 ns target <= 10 ok"},
		{"at least", safe.Measured(99.9, 99.1, 100, "95 % Clopper-Pearson", 300), "figure found 99.9 pct target >= 99 ok"},
		{"at least, bound below", safe.Measured(99.9, 98.7, 100, "", 300), "figure found 99.9 pct target >= 99 short"},
		{"at least, worst", safe.Worst([]float64{100, 98}), "figure found 98 pct target >= 99 short"},
		{"failed", fast.Failed(errors.New("child:\n exit 3\x1b[31m")), "figure cost (child: exit 3\ufffd[31m) ns target <= 10 short"},
		{"failed after a value", fast.Worst([]float64{1}).Failed(errors.New("gone")), "figure cost (gone) ns target <= 10 short"},
		{"never measured", fast, "figure cost (not measured) ns target <= 10 short"},
		{"NaN", fast.Measured(1, math.NaN(), math.NaN(), "", 7), "figure cost 1 ns target <= 10 short"},
		{"NaN measured", fast.Worst([]float64{1, math.NaN()}), "figure cost (a measurement is not a number) ns target <= 10 short"},
		{"value outside of its bounds", fast.Measured(11, 1, 2, "", 7), "figure cost 11 ns target <= 10 short"},
		{"infinite", fast.Worst([]float64{1, math.Inf(1)}), "figure cost +Inf ns target <= 10 short"},
		{"rounding", fast.Worst([]float64{1234.5678}), "figure cost 1235 ns target <= 10 short"},
	} {
		if got := tc.f.String(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestDetail(t *testing.T) {
	for _, tc := range []struct {
		f    Figure
		want string
	}{
		{fast.Median([]float64{1, 2, 3, 4, 5, 6}), "3.5 ns, 95 % interval 1 to 6, 6 measurements, target <= 10 ns"},
		{safe.Worst([]float64{100, 98}), "98 pct, from smallest to largest 98 to 100, 2 measurements, target >= 99 pct"},
		{fast.Failed(errors.New("gone")), "not measured: gone, target <= 10 ns"},
	} {
		if got := tc.f.Detail(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
