package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/stat"
)

// DefaultAlpha is the probability of a false difference in a whole table.
const DefaultAlpha = 0.05

// DefaultMetrics are few, because every further one weakens the others by the
// correction: speed, its latency, and fairness, without which speed means
// little.
func DefaultMetrics() []string { return []string{"throughput_ops_s", "acquire_p99_ns", "jain"} }

// Options of a comparison. The zero value asks for the defaults.
type Options struct {
	Metrics []results.Metric // none: DefaultMetrics
	Filters []Filter         // none: all cells
	Alpha   float64          // above 0 and below 1; 0: DefaultAlpha
}

// An Error is two sides that cannot be compared. Hint says what can be done.
type Error struct {
	Err error
	Tip string
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what the user can do about it.
func (e *Error) Hint() string { return e.Tip }

func refuse(tip, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Tip: tip}
}

// A Comparison is what renderers write.
type Comparison struct {
	Paired   bool
	Old, New SideInfo
	Alpha    float64
	// Tests is the number of probabilities that were corrected together, of
	// which TooFew could not have passed whatever was measured. NeedReps is how
	// many repetitions (pairs) a side would make all of them able to; 0 if
	// none are too few.
	Tests, TooFew, NeedReps int
	Metrics                 []string
	Rows                    []*Row // by cell, in the order of reports, then metric
	Alarms                  []Alarm
	OneSided                []OneSided
	Notes                   []Difference // of host, toolchain, program and servers
	Warnings                []string     // what makes the comparison doubtful
	Dropped                 []Dropped    // paired: pairs that are no evidence
	Programs                []Combination
}

// SideInfo says what a side is.
type SideInfo struct {
	Label    string
	Files    []string
	RunIDs   []string
	Host     string   // one line
	Programs []string // version, in a paired session file and version
}

// A Value is a metric of one side's repetitions of a cell.
type Value struct {
	N      int     // repetitions that have it; 0: Median means nothing
	Median float64 // 0 to +Inf
}

// A Row is one metric of one cell.
type Row struct {
	Cell, Lock, Workload string
	Workers              int
	Control              bool
	Metric               results.Metric
	Old, New             Value
	Pairs                int // paired: those that the row is made from
	// Ratio is new/old, 0 to +Inf; its bounds are for this row alone, and
	// absent (OK false) where there are too few repetitions. N is 0 where a side
	// does not have the metric.
	Ratio stat.Interval
	// P is the probability of the test, AdjP corrected; nil with fewer than
	// two repetitions a side. MinP is the smallest that so many could give.
	P, AdjP *float64
	MinP    float64
	Verdict Verdict
	Notes   []string // doubts about this row

	min float64 // corrected MinP
}

// Verdict is what a row shows.
type Verdict string

// Verdicts. Faster and slower are for speeds and times, better and worse for
// other metrics with a direction, higher and lower for those without.
const (
	Faster        Verdict = "faster"
	Slower        Verdict = "slower"
	IsBetter      Verdict = "better"
	IsWorse       Verdict = "worse"
	IsHigher      Verdict = "higher"
	IsLower       Verdict = "lower"
	NotShown      Verdict = "no difference shown"
	TooFew        Verdict = "cannot be told (too few)"
	ControlAlike  Verdict = "control: no difference shown"
	ControlDiffer Verdict = "control: DIFFERS"
	Absent        Verdict = "absent on a side"
)

// An Alarm is a cell with an outcome that no speed makes up for.
type Alarm struct {
	Side, Cell, Outcome string // Side is a label
	K, N                int    // in K of N repetitions
	Reason              string
}

// OneSided is a cell without rows, because a side has no figures of it.
type OneSided struct {
	Side   string // that has figures, a label; "" = there are none to compare
	Cell   string
	Reason string // why there are none, "" = the cell is not there
}

// Dropped are the pairs of a cell that are no evidence.
type Dropped struct {
	Cell   string
	Kept   int
	Reason map[string]int // pairs.Dropped... -> pairs
}

// A Combination is one metric of one cell between two of the programs of a
// paired session with several a side: builds that differ in code layout only
// show here what layout is worth.
type Combination struct {
	Cell, Metric, Old, New string
	Ratio                  stat.Interval
}

// Compare compares all repetitions of two sides. The error is an *Error.
func Compare(old, new *Side, o Options) (*Comparison, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	for _, s := range []*Side{old, new} {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	if old.Label == new.Label {
		return nil, refuse("name the sides: before=OLD after=NEW", "both sides are named %q", old.Label)
	}
	a, b := old.cells(), new.cells()
	keys, err := o.matching(a, b)
	if err != nil {
		return nil, err
	}
	if err := alike(old, new, a, b, keys, o.Metrics); err != nil {
		return nil, err
	}
	c := &Comparison{Old: old.info(), New: new.info(), Alpha: o.Alpha, Metrics: names(o.Metrics)}
	c.Notes = append(differences(old.Report.Runs, new.Report.Runs), serverDifferences(samplesOf(old.Report.Runs), samplesOf(new.Report.Runs))...)
	c.Warnings = slices.Concat(old.warnings(), new.warnings(), doubts(old, new))
	for _, k := range keys {
		x, y := a.at[k], b.at[k]
		c.alarm(old.Label, x)
		c.alarm(new.Label, y)
		if c.lone(old.Label, new.Label, x, y) {
			continue
		}
		for _, m := range o.Metrics {
			if r := newRow(x, y, m, o.Alpha); r != nil {
				c.Rows = append(c.Rows, r)
			}
		}
	}
	return c, c.finish()
}

func (o *Options) fill() error {
	if o.Alpha == 0 {
		o.Alpha = DefaultAlpha
	}
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return refuse("0.05 is usual", "alpha: %g: want a number above 0 and below 1", o.Alpha)
	}
	if len(o.Metrics) == 0 {
		for _, n := range DefaultMetrics() {
			m, err := results.LookupMetric(n)
			if err != nil {
				return err
			}
			o.Metrics = append(o.Metrics, m)
		}
	}
	return nil
}

func names(metrics []results.Metric) []string {
	var out []string
	for _, m := range metrics {
		out = append(out, m.Name)
	}
	return out
}

// newRow is nil where neither side has the metric.
func newRow(x, y *cell, m results.Metric, alpha float64) *Row {
	a, b := values(x.ok, m), values(y.ok, m)
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	r := &Row{Cell: x.name, Lock: x.lock, Workload: x.workload, Workers: x.workers, Control: x.control || y.control,
		Metric: m, Old: valueOf(a), New: valueOf(b), MinP: stat.MinMannWhitneyP(len(a), len(b))}
	r.Notes = rowNotes(x, y)
	if len(a) == 0 || len(b) == 0 {
		r.Verdict = Absent
		return r
	}
	// One scale for both: values may differ where their logarithms do not.
	before, after := logs(a), logs(b)
	r.Ratio = ratio(stat.MannWhitney(before, after, alpha))
	if len(a) > 1 && len(b) > 1 {
		p := stat.MannWhitneyP(before, after)
		r.P = &p
	}
	return r
}

func values(samples []*results.Sample, m results.Metric) []float64 {
	var out []float64
	for _, s := range samples {
		if v, ok := m.Of(s); ok {
			out = append(out, v)
		}
	}
	return out
}

func valueOf(v []float64) Value {
	e := results.NewEstimate(v)
	if e == nil {
		return Value{}
	}
	return Value{N: e.N, Median: e.Median}
}

// logs turns 0 into -Inf and keeps +Inf: rank statistics take both as they are.
func logs(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Log(x)
	}
	return out
}

// ratio is an interval of log ratios as one of ratios. What lies beside 0 lies
// beside 1, though the exponential of a small logarithm is rounded to 1: a Jain
// index may differ in its last digit alone.
func ratio(i stat.Interval) stat.Interval {
	exp := func(x float64) float64 {
		switch y := math.Exp(x); {
		case x > 0:
			return max(y, math.Nextafter(1, 2))
		case x < 0:
			return min(y, math.Nextafter(1, 0))
		default:
			return y
		}
	}
	i.Center, i.Lo, i.Hi = exp(i.Center), exp(i.Lo), exp(i.Hi)
	return i
}

// modeFactor tells coherence modes of a machine apart, as pairs does.
const modeFactor = 1.5

// rowNotes are what about a cell differs between the sides.
func rowNotes(x, y *cell) []string {
	var out []string
	if x.cores != y.cores {
		out = append(out, fmt.Sprintf("%d and %d cores", x.cores, y.cores))
	}
	if x.rw != y.rw {
		out = append(out, fmt.Sprintf("rw=%s and rw=%s", orNone(x.rw), orNone(y.rw)))
	}
	if note := missedNote(x.ok, y.ok); note != "" {
		out = append(out, note)
	}
	m, err := results.LookupMetric("coherence_ns")
	if err != nil {
		return out
	}
	a, b := valueOf(values(x.ok, m)), valueOf(values(y.ok, m))
	if a.N > 0 && b.N > 0 && (a.Median > modeFactor*b.Median || b.Median > modeFactor*a.Median) {
		out = append(out, fmt.Sprintf("coherence %.3g and %.3g ns", a.Median, b.Median))
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// alarm notes the outcomes of a cell that must not be overlooked.
func (c *Comparison) alarm(label string, x *cell) {
	if x == nil {
		return
	}
	for _, outcome := range []string{results.OutcomeViolation, results.OutcomeHang, results.OutcomeError} {
		if k := x.outcomes[outcome]; k > 0 {
			c.Alarms = append(c.Alarms, Alarm{Side: label, Cell: x.name, Outcome: outcome, K: k, N: x.n, Reason: x.reasons[outcome]})
		}
	}
}

// lone notes a cell that one side alone can say something about.
func (c *Comparison) lone(old, new string, x, y *cell) bool {
	hasX, hasY := x.measured(), y.measured()
	switch {
	case hasX && hasY:
		return false
	case hasX:
		c.OneSided = append(c.OneSided, OneSided{Side: old, Cell: x.name, Reason: y.why()})
	case hasY:
		c.OneSided = append(c.OneSided, OneSided{Side: new, Cell: y.name, Reason: x.why()})
	default:
		name, why := "", []string{}
		for _, z := range []*cell{x, y} {
			if z != nil {
				name = z.name
				if w := z.why(); !slices.Contains(why, w) {
					why = append(why, w)
				}
			}
		}
		c.OneSided = append(c.OneSided, OneSided{Cell: name, Reason: strings.Join(why, "; ")})
	}
	return true
}
