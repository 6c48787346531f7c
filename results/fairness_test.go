package results

import (
	"math"
	"testing"
)

func TestFairnessOf(t *testing.T) {
	for _, c := range []struct {
		name              string
		counts            []int64
		jain, maxMin, rsd float64 // -1: absent
	}{
		{"equal", []int64{5, 5, 5, 5}, 1, 1, 0},
		{"one of four got all", []int64{8, 0, 0, 0}, 0.25, -1, math.Sqrt(3)},
		{"two to one", []int64{2, 1}, 0.9, 2, 1.0 / 3},
		{"one worker", []int64{7}, -1, -1, -1},
		{"nobody got anything", []int64{0, 0}, -1, -1, -1},
		{"none", nil, -1, -1, -1},
	} {
		f := FairnessOf(c.counts)
		for _, x := range []struct {
			name string
			got  *float64
			want float64
		}{{"jain", f.Jain, c.jain}, {"max/min", f.MaxMin, c.maxMin}, {"rsd", f.RSD, c.rsd}} {
			switch {
			case x.want < 0 && x.got != nil:
				t.Errorf("%s: %s is %v, want it absent", c.name, x.name, *x.got)
			case x.want >= 0 && (x.got == nil || math.Abs(*x.got-x.want) > 1e-12):
				t.Errorf("%s: %s is %v, want %v", c.name, x.name, x.got, x.want)
			}
		}
	}
}
