package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/compare"
	"lockbench/results/pairs"
	"lockbench/results/stat"
)

// Replay decides about a recorded paired session as its gate would have. The
// budget is the number of pairs that the session planned. An error is an *Error.
func Replay(rules *Rules, rep *results.Report) (*Result, error) {
	run, err := only(rep)
	if err != nil {
		return nil, err
	}
	if len(run.Run.Programs) == 0 {
		e := &Error{File: strings.Join(run.Files, ", "), Err: errors.New("one file, and it is not of a paired session"),
			Tip: "give two files, OLD NEW, or one that lockbench ab --out wrote"}
		if run.Chaos != nil {
			e.Tip = "it has the verdicts of lockbench chaos: a file of rules has demands on them under chaos:, and no rules:"
		}
		return nil, e
	}
	measured := pairs.Of(run)
	budget := run.Run.Reps
	var cells []Cell
	for _, c := range measured {
		cells = append(cells, Cell{Name: c.Name, Lock: c.Lock, Workload: c.Workload, Workers: c.Workers, Control: c.Control, Skipped: skipped(c)})
		if run.Run.Reps < 1 {
			budget = max(budget, c.Measured())
		}
	}
	if len(cells) == 0 {
		return nil, &Error{File: strings.Join(run.Files, ", "), Err: errors.New("the session has no repetitions"), Tip: hintMeasure}
	}
	g, err := New(rules, cells, budget)
	if err != nil {
		return nil, err
	}
	if run.Interrupted {
		g.Interrupt()
	}
	for _, c := range measured {
		g.Update(c)
	}
	res := g.Result()
	for _, p := range run.Run.Programs {
		side := &res.Old
		if p.Side == results.SideNew {
			side = &res.New
		}
		side.Files, side.RunIDs = run.Files, []string{run.Run.RunID}
		side.Programs = append(side.Programs, results.Printable(strings.TrimSpace(p.File+" "+p.Version)))
	}
	res.Notes = append(slices.Clone(rep.Warnings), run.Warnings...)
	if n := sessionLayout(&run.Run); n != "" {
		res.Notes = append(res.Notes, n)
	}
	return res, nil
}

const hintMeasure = "measure again"

// skipped is why a cell was not measured at all.
func skipped(c *pairs.Cell) string {
	if c.Measured() > 0 {
		return ""
	}
	return c.Skipped
}

// only is the one run of a report.
func only(rep *results.Report) (*results.RunReport, error) {
	if len(rep.Runs) == 1 {
		return rep.Runs[0], nil
	}
	var files []string
	for _, r := range rep.Runs {
		for _, f := range r.Files {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	return nil, &Error{File: strings.Join(files, ", "), Err: fmt.Errorf("%d runs, where a gate wants one", len(rep.Runs)),
		Tip: "runs are never pooled: each has its own plan, and perhaps host; give the files of one run"}
}

// Files decides about two sides that were measured at different times, each
// one run or several that were measured alike. There is one look, by the
// Mann-Whitney interval of the shift of logarithms, at the rule's share of
// alpha. What the machine did in between is not in it, and so a relative rule
// is inconclusive unless the hosts are alike and the controls agree, see
// controls; and the interval is widened by all that they leave possible, see drift. What compare refuses is refused here, too. Errors have hints.
func Files(rules *Rules, old, new *compare.Side) (*Result, error) {
	c, err := compare.Compare(old, new, compare.Options{Metrics: rules.present(old, new)})
	if err != nil {
		return nil, err
	}
	for _, id := range c.Old.RunIDs {
		if id != "" && slices.Contains(c.New.RunIDs, id) {
			return nil, &Error{File: strings.Join(c.New.Files, ", "), Err: fmt.Errorf("run %s is on both sides", id),
				Tip: "a run that is compared with itself passes whatever it says"}
		}
	}
	f := filesGate{rules: rules, old: old.Report.Runs, new: new.Report.Runs}
	f.join()
	res, err := f.decide()
	if err != nil {
		return nil, err
	}
	res.Old = Side{Files: c.Old.Files, RunIDs: c.Old.RunIDs, Programs: c.Old.Programs}
	res.New = Side{Files: c.New.Files, RunIDs: c.New.RunIDs, Programs: c.New.Programs}
	res.Notes = slices.Concat(c.Warnings, res.Notes)
	return res, nil
}

// present are the metrics of rules that some repetition has, and throughput,
// which all have: compare refuses metrics of which there is nothing, while to a
// rule they are no samples.
func (rs *Rules) present(sides ...*compare.Side) []results.Metric {
	var out []results.Metric
	for _, m := range results.MetricList() {
		asked := slices.ContainsFunc(rs.List, func(r Rule) bool { return r.Metric.Name == m.Name })
		has := slices.ContainsFunc(sides, func(s *compare.Side) bool {
			return slices.ContainsFunc(s.Report.Runs, func(r *results.RunReport) bool { return len(figures(m, r.Samples)) > 0 })
		})
		if asked && has || m.Name == "throughput_ops_s" {
			out = append(out, m)
		}
	}
	return out
}

// A filesGate is a gate on two runs.
type filesGate struct {
	rules    *Rules
	old, new []*results.RunReport
	cells    []*fileCell
	at       map[place]map[string]*fileCell // by lock
	tests    int
	hosts    string // how they differ
}

// A place is a section of both runs: what a cell is apart from its lock.
type place struct {
	workload, variant, pin, dispatch, threads string
	workers, cores, clients                   int
}

type fileCell struct {
	Cell
	place    place
	old, new fileSide
}

type fileSide struct {
	ok       []*results.Sample
	outcomes map[string]int
}

func (f *filesGate) join() {
	f.at = map[place]map[string]*fileCell{}
	for _, run := range slices.Concat(f.old, f.new) {
		for _, s := range run.Samples {
			f.add(s, slices.Contains(f.new, run))
		}
	}
	for _, c := range f.cells {
		if len(c.old.ok)+len(c.new.ok) > 0 {
			c.Skipped = ""
		}
	}
}

func (f *filesGate) add(s *results.Sample, isNew bool) {
	p := place{s.Workload, strings.TrimPrefix(s.Cell, s.Lock), s.Pin, s.Dispatch, s.Threads, s.Workers, s.Cores, s.Clients}
	if f.at[p] == nil {
		f.at[p] = map[string]*fileCell{}
	}
	c := f.at[p][s.Lock]
	if c == nil {
		c = &fileCell{Cell: Cell{Name: s.Cell, Lock: s.Lock, Workload: s.Workload, Workers: s.Workers, Control: s.Control}, place: p}
		c.old.outcomes, c.new.outcomes = map[string]int{}, map[string]int{}
		f.at[p][s.Lock] = c
		f.cells = append(f.cells, c)
	}
	side := &c.old
	if isNew {
		side = &c.new
	}
	side.outcomes[s.Outcome]++
	switch s.Outcome {
	case results.OutcomeOK:
		side.ok = append(side.ok, s)
	case results.OutcomeSkipped:
		c.Skipped = s.Reason
	}
}

func (f *filesGate) decide() (*Result, error) {
	res := &Result{Kind: KindFiles, Rules: results.Printable(f.rules.File)}
	type test struct {
		r *Rule
		c *fileCell
	}
	var tests []test
	for i := range f.rules.List {
		r := &f.rules.List[i]
		before := len(tests)
		var all []Cell
		for _, c := range f.cells {
			all = append(all, c.Cell)
			if r.Matches(c.Cell) {
				tests = append(tests, test{r, c})
				if c.Skipped == "" {
					f.tests++
				}
			}
		}
		if len(tests) == before {
			return nil, f.rules.noCell(r, all)
		}
	}
	res.Plan = Plan{Alpha: f.rules.Alpha, Tests: f.tests, Looks: []Look{}}
	f.hosts, res.Notes = hosts(f.old[0], f.new[0])
	if n := fileLayout(f.old, f.new); n != "" {
		res.Notes = append(res.Notes, n)
	}
	for _, c := range f.cells {
		res.Safety = append(res.Safety, findings(c.Name, results.SideOld, c.old.outcomes)...)
		res.Safety = append(res.Safety, findings(c.Name, results.SideNew, c.new.outcomes)...)
		level := vetoAlpha / float64(max(1, f.tests))
		res.Safety = append(res.Safety, idleFiles(c, level)...)
		if !f.rules.decided(c.Cell) {
			res.Safety = append(res.Safety, missedFiles(c, level)...)
		}
		if n := len(c.new.ok); n > 0 {
			res.SafetyCells++
			res.SafetyReps += n
		}
	}
	for _, t := range tests {
		out := f.test(t.r, t.c)
		out.spoil(res.Safety)
		res.Tests = append(res.Tests, out)
	}
	res.settle()
	return res, nil
}

// test decides about one rule and cell.
func (f *filesGate) test(r *Rule, c *fileCell) Test {
	t := newTest(r, c.Cell)
	if c.Skipped != "" {
		t.inconclusive("no samples: the cell is skipped: " + c.Skipped)
		return t
	}
	level := f.rules.Alpha / float64(max(1, f.tests))
	before, after := columns(r.Metric, c.old.ok), columns(r.Metric, c.new.ok)
	t.count(before, after)
	for _, side := range []struct {
		name    string
		all     int
		missing int
		needed  bool
	}{{results.SideOld, len(before), t.MissingOld, r.relative()}, {results.SideNew, len(after), t.MissingNew, true}} {
		switch {
		case !side.needed:
		case side.all == 0:
			t.inconclusive(fmt.Sprintf("no samples of the %s side", side.name))
			return t
		case 2*side.missing >= side.all:
			t.inconclusive(fmt.Sprintf("no samples: %d of %d repetitions of the %s side do not have %s", side.missing, side.all, side.name, r.Metric.Name))
			return t
		}
	}
	if !r.relative() {
		d := Decision{}
		d.look(Plan{Tests: f.tests}, r, after, nil, Look{Alpha: level})
		switch least := stat.MinSignedRank(level); {
		case len(after) < least:
			d.Needed = least
			d.Reason = fmt.Sprintf("%d repetitions can prove nothing at this level; it takes %d", len(after), least)
		case d.Verdict == Inconclusive:
			d.project(r, "repetitions")
		}
		t.take(d)
	} else {
		f.compare(r, c, &t, logs(before), logs(after), level)
	}
	t.lacking("repetition")
	return t
}

// count fills in how many figures there are, and are not.
func (t *Test) count(before, after []float64) {
	missing := func(xs []float64) (n int) {
		for _, x := range xs {
			switch {
			case math.IsNaN(x):
				n++
			case math.IsInf(x, 0):
				t.Infinite++
			}
		}
		return n
	}
	t.MissingOld, t.MissingNew = missing(before), missing(after)
	t.OldReps, t.NewReps = len(before)-t.MissingOld, len(after)-t.MissingNew
	t.Missing = t.MissingOld + t.MissingNew
}

// compare decides by the shift between two sides, less what the controls say
// that the machine may have done.
func (f *filesGate) compare(r *Rule, c *fileCell, t *Test, before, after []float64, level float64) {
	d := Decision{Verdict: Inconclusive, Look: Look{Alpha: level}, blocked: t.Missing > 0}
	d.Interval = shift(before, after, level)
	d.Interval.N /= 2 // repetitions a side
	measured := d.Interval
	why := f.hosts
	if why == "" {
		why = f.controls(r, c)
	}
	var drift stat.Interval
	switch {
	case why != "":
		d.Reason = why
	case stat.MinMannWhitneyP(len(before), len(after)) > level:
		d.Needed = minReps(level)
		d.Reason = fmt.Sprintf("%d against %d repetitions can prove nothing at this level; it takes %d a side", len(before), len(after), d.Needed)
	default:
		drift = f.drift(r, c, level)
		d.Interval = without(measured, drift)
		d.Verdict, d.Reason = r.judge(d.Interval)
		if d.Verdict == Pass {
			if veto := r.vetoFiles(before, after, vetoAlpha/float64(max(1, f.tests))); veto != "" {
				d.Verdict, d.Reason, d.blocked = Inconclusive, veto, true
			}
		}
		d.blocked = d.blocked || math.IsInf(drift.Lo, 0) || math.IsInf(drift.Hi, 0)
		if d.Verdict == Inconclusive {
			d.project(r, "repetitions a side")
		}
	}
	corrected := d.Interval
	d.Interval = measured
	t.take(d)
	if drift.OK {
		t.Drift, t.Corrected = ratio(drift), ratio(corrected)
		t.Reason += fmt.Sprintf("; measured %s, and the controls leave a drift of %s", inWords(measured), inWords(drift))
	}
}

// minReps is how many repetitions a side can prove something at a level.
func minReps(level float64) int {
	n := 1
	for stat.MinMannWhitneyP(n, n) > level && n < MaxBudget {
		n++
	}
	return n
}

// columns are the figures of samples, unknown where there is none.
func columns(m results.Metric, samples []*results.Sample) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = unknown
		if v, ok := m.Of(s); ok {
			out[i] = v
		}
	}
	return out
}

func figures(m results.Metric, samples []*results.Sample) []float64 {
	var out []float64
	for _, s := range samples {
		if v, ok := m.Of(s); ok {
			out = append(out, v)
		}
	}
	return out
}

func logs(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Log(x)
	}
	return out
}
