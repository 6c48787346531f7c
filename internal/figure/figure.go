// Package figure is how the project's programs state what they measured of the
// project itself: a value with its interval, held against a target, one line
// each:
//
//	figure NAME VALUE UNIT target OP LIMIT ok|short
//
// "ok" is said only if the bound of the interval that is nearer to the limit
// meets it. A figure that could not be measured is "short", with the reason in
// parentheses in place of the value.
package figure

import (
	"fmt"
	"math"

	"lockbench/results"
)

// Op says on which side of the limit a value must be.
type Op int

// The two directions of a target.
const (
	AtMost  Op = iota // value <= limit
	AtLeast           // value >= limit
)

// String is "<=" or ">=".
func (o Op) String() string {
	if o == AtLeast {
		return ">="
	}
	return "<="
}

// A Figure is a target (Name, Unit, Op, Limit), and, once it was measured, a
// value. Name and Unit are words without white space.
type Figure struct {
	Name, Unit string
	Op         Op
	Limit      float64

	Value  float64
	Lo, Hi float64 // what How says; the bound on the wrong side of Value decides
	How    string  // "" = the 95 % interval of the median
	N      int     // measurements; 0 = not measured
	Err    error   // why it could not be measured
}

// Median gives the target the median of repeated measurements, in its unit, with
// the 95 % interval. Fewer than results.MinReps have none: then, and when a
// measurement is NaN, the figure has Err.
func (f Figure) Median(values []float64) Figure {
	if err := check(values); err != nil {
		return f.Failed(err)
	}
	e := results.NewEstimate(values)
	if e.Lo == nil || e.Hi == nil {
		return f.Failed(fmt.Errorf("%d measurements have no 95 %% interval", len(values)))
	}
	return f.Measured(e.Median, *e.Lo, *e.Hi, "", len(values))
}

// Worst gives the target the worst of a few measurements: the largest where the
// limit is an upper one, else the smallest. The bounds are the best and the
// worst.
func (f Figure) Worst(values []float64) Figure {
	if err := check(values); err != nil {
		return f.Failed(err)
	}
	lo, hi := values[0], values[0]
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	value := hi
	if f.Op == AtLeast {
		value = lo
	}
	return f.Measured(value, lo, hi, "from smallest to largest", len(values))
}

func check(values []float64) error {
	if len(values) == 0 {
		return fmt.Errorf("no measurements")
	}
	for _, v := range values {
		if math.IsNaN(v) {
			return fmt.Errorf("a measurement is not a number")
		}
	}
	return nil
}

// Measured gives the target a value, bounds and what they are, of n
// measurements.
func (f Figure) Measured(value, lo, hi float64, how string, n int) Figure {
	f.Value, f.Lo, f.Hi, f.How, f.N, f.Err = value, lo, hi, how, n, nil
	return f
}

// Failed says why the figure could not be measured.
func (f Figure) Failed(err error) Figure {
	f.N, f.Err = 0, err
	return f
}

// OK reports whether the figure was measured and its interval meets the limit.
func (f Figure) OK() bool {
	if f.N < 1 || f.Err != nil || !(f.Lo <= f.Value && f.Value <= f.Hi) { // NaN is no measurement
		return false
	}
	if f.Op == AtLeast {
		return f.Lo >= f.Limit
	}
	return f.Hi <= f.Limit
}

// String is the line that programs read, without its end.
func (f Figure) String() string {
	verdict := "short"
	if f.OK() {
		verdict = "ok"
	}
	value := fmt.Sprintf("%.4g", f.Value)
	if f.N < 1 || f.Err != nil {
		value = "(" + f.reason() + ")"
	}
	return fmt.Sprintf("figure %s %s %s target %s %g %s", f.Name, value, f.Unit, f.Op, f.Limit, verdict)
}

// Detail is the line for people, without the name.
func (f Figure) Detail() string {
	target := fmt.Sprintf("target %s %g %s", f.Op, f.Limit, f.Unit)
	if f.N < 1 || f.Err != nil {
		return "not measured: " + f.reason() + ", " + target
	}
	how := f.How
	if how == "" {
		how = "95 % interval"
	}
	return fmt.Sprintf("%.4g %s, %s %.4g to %.4g, %d measurements, %s", f.Value, f.Unit, how, f.Lo, f.Hi, f.N, target)
}

// reason is one line, whatever a child process printed.
func (f Figure) reason() string {
	if f.Err == nil {
		return "not measured"
	}
	return oneLine(f.Err.Error())
}
