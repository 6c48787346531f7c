package charts

import (
	"fmt"
	"math"
	"strconv"

	"github.com/go-analyze/charts/chartdraw"

	"lockbench/results/num"
)

// A scale maps figures to pixels, linearly or by their logarithm. It is the
// library's Range. What lies outside is drawn at the edge: a zero has no place
// on a logarithmic scale, and must not vanish.
type scale struct {
	name     string // of the axis, with the unit
	min, max float64
	log      bool
	ticks    []chartdraw.Tick
	keep     int // the tick that stays when there is room for some only
	pixels   int
}

var _ chartdraw.Range = (*scale)(nil)

// Translate implements chartdraw.Range.
func (s *scale) Translate(v float64) int {
	lo, hi := s.min, s.max
	if s.log {
		if v <= 0 {
			return 0
		}
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	at := math.Round((v - lo) / (hi - lo) * float64(s.pixels))
	return int(max(0, min(float64(s.pixels), at)))
}

func (s *scale) GetMin() float64    { return s.min }
func (s *scale) GetMax() float64    { return s.max }
func (s *scale) GetDelta() float64  { return s.max - s.min }
func (s *scale) GetDomain() int     { return s.pixels }
func (s *scale) SetDomain(n int)    { s.pixels = n }
func (s *scale) IsDescending() bool { return false }
func (s *scale) IsZero() bool       { return false }
func (s *scale) String() string     { return fmt.Sprintf("%g to %g", s.min, s.max) }

// SetMin and SetMax do nothing: the library would end the axis at its first and
// last tick.
func (s *scale) SetMin(float64) {}
func (s *scale) SetMax(float64) {}

// copied returns a scale for another panel; each has its own pixels.
func (s *scale) copied() *scale {
	c := *s
	return &c
}

// thinned leaves out ticks, the same number between any two, until their labels
// do not touch on an axis of so many pixels.
func (s *scale) thinned(pixels int) *scale {
	c := s.copied()
	c.pixels = pixels
	for step := 1; step < len(s.ticks); step++ {
		c.ticks = nil
		for i := s.keep % step; i < len(s.ticks); i += step {
			c.ticks = append(c.ticks, s.ticks[i])
		}
		if !c.crowded() {
			break
		}
	}
	return c
}

func (s *scale) crowded() bool {
	const gap = 4
	for i := 1; i < len(s.ticks); i++ {
		a, b := s.ticks[i-1], s.ticks[i]
		if s.Translate(b.Value)-s.Translate(a.Value) < (textWidth(a.Label)+textWidth(b.Label))/2+gap {
			return true
		}
	}
	return false
}

// logFrom is the ratio of the largest to the smallest figure from which a scale
// is logarithmic: beyond, the smaller half of the figures would be flat on the
// axis.
const logFrom = 15

// newScale fits a scale to figures from 0 up. Infinite ones and NaN are left
// out; with no figure at all it goes from 0 to 1.
func newScale(name string, values []float64, label func(float64) string) *scale {
	lo, hi := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	switch {
	case hi == 0:
		return linear(name, 1, label)
	case hi/lo >= logFrom:
		return logarithmic(name, lo, hi, label)
	}
	return linear(name, hi, label)
}

// linear goes from 0 to a round number from hi up.
func linear(name string, hi float64, label func(float64) string) *scale {
	step := math.Pow(10, math.Floor(math.Log10(hi)))
	for _, f := range []float64{0.2, 0.25, 0.5, 1} {
		if hi/(step*f) <= 6 {
			step *= f
			break
		}
	}
	n := math.Ceil(hi/step - 1e-9)
	s := &scale{name: name, max: n * step}
	for i := range int(n) + 1 {
		v := float64(i) * step
		s.ticks = append(s.ticks, chartdraw.Tick{Value: v, Label: label(v)})
	}
	return s
}

// logarithmic goes from lo to hi, each moved to the next of 1, 2, 5, 10, ...
func logarithmic(name string, lo, hi float64, label func(float64) string) *scale {
	s := &scale{name: name + ", log scale", log: true, min: round125(lo, false), max: round125(hi, true)}
	if s.min == s.max {
		s.max = round125(hi*1.5, true)
	}
	decades := math.Log10(s.max) - math.Log10(s.min)
	digits, step := []float64{1, 2, 5}, 1
	if decades > 2.5 {
		digits, step = digits[:1], int(math.Ceil(decades/8))
	}
	for e := int(math.Floor(math.Log10(s.min))); e <= int(math.Ceil(math.Log10(s.max))); e++ {
		if e%step != 0 {
			continue
		}
		for _, d := range digits {
			v := decimal(d, e)
			if v >= s.min*(1-1e-9) && v <= s.max*(1+1e-9) {
				s.ticks = append(s.ticks, chartdraw.Tick{Value: v, Label: label(v)})
			}
		}
	}
	return s
}

// decimal is d times ten to the power of e, the float64 nearest to it.
func decimal(d float64, e int) float64 {
	v, err := strconv.ParseFloat(fmt.Sprintf("%ge%d", d, e), 64)
	if err != nil { // beyond the largest number
		return math.MaxFloat64
	}
	return v
}

// round125 is the next of 1, 2, 5 times a power of ten.
func round125(v float64, up bool) float64 {
	e := int(math.Floor(math.Log10(v)))
	steps := []float64{1, 2, 5, 10}
	if up {
		for _, d := range steps {
			if w := decimal(d, e); w >= v*(1-1e-9) {
				return w
			}
		}
		return decimal(10, e)
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if w := decimal(steps[i], e); w <= v*(1+1e-9) {
			return w
		}
	}
	return decimal(1, e)
}

// rateTick labels an axis of rates: "10 M".
func rateTick(v float64) string {
	v, p := num.Scaled(v, num.RatePrefixes)
	if p != "" {
		p = " " + p
	}
	return num.Whole(v) + p
}

// spanTick labels an axis of times given in nanoseconds: "10 µs".
func spanTick(ns float64) string {
	if ns < 999.5 {
		return num.Whole(ns) + " ns"
	}
	v, unit := num.Scaled(ns/1000, []string{"µs", "ms", "s"})
	return num.Whole(v) + " " + unit
}
