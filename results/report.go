package results

import (
	"fmt"
	"slices"
	"strings"
)

// A Report is what the renderers write: runs, each with its cells. Runs are
// never pooled: another run has another plan, and perhaps another host.
type Report struct {
	Runs     []*RunReport
	Warnings []string // doubts about the files
}

// A RunReport is one run. Its parts in several files (the same run ID) are put
// together.
type RunReport struct {
	Run      Run
	Host     HostFacts
	Files    []string
	Sections []*Section
	Samples  []*Sample // in order of cell, then repetition; without histograms; none with SummariesOnly
	Events   []*Event  // without dumps
	// Chaos is what faults did to the run's locks, nil if it injected none.
	Chaos    *ChaosReport
	Warnings []string
	// Interrupted: the run was stopped before its plan was done.
	Interrupted bool
}

// Cells are the cells of all sections, in order.
func (r *RunReport) Cells() []*CellSummary {
	var out []*CellSummary
	for _, s := range r.Sections {
		out = append(out, s.Cells...)
	}
	return out
}

// A Builder collects records into a Report, from files or as they are
// measured. It keeps of each sample what reports need: about 1 KiB, with
// SummariesOnly a third of that.
type Builder struct {
	hists, slim bool
	metrics     []Metric
	runs        []*building
	current     map[string]*building // file -> the run whose header came last
	names       map[string]string    // what Printable makes of a text; see text
	warnings    []string
}

type building struct {
	report *RunReport
	cells  map[cellKey]*cellData
	twice  map[string]int // file -> samples and verdicts that another had already
	// verdicts are those of faults, and where each is from, to know one that is read again.
	verdicts []*ChaosVerdict
	from     map[string]string
}

type cellKey struct {
	section        sectionKey
	lock, topology string
}

// cellData is what was added of one cell.
type cellData struct {
	first   *Sample // what all repetitions have in common
	seen    map[int]bool
	samples []*Sample
	rows    []row // with SummariesOnly, instead of samples
	acquire *MergedHist
	handoff *MergedHist
	release *MergedHist
	remote  *RemoteSettings
	counts  *RemoteCounts
}

// A BuilderOption changes what a Builder keeps.
type BuilderOption func(*Builder)

// KeepHistograms merges the histograms of each cell's ok repetitions into
// CellSummary.AcquireHist, HandoffHist and ReleaseHist. Decoding them takes many times as
// long as the rest of a file, and each cell keeps some KiB. A histogram that
// cannot be decoded is then an error of AddFile and Add.
func KeepHistograms() BuilderOption { return func(b *Builder) { b.hists = true } }

// SummariesOnly leaves RunReport.Samples empty, for what shows cells and not
// repetitions. A file of 100,000 records then needs a third of the memory.
func SummariesOnly() BuilderOption { return func(b *Builder) { b.slim = true } }

// NewBuilder returns an empty Builder.
func NewBuilder(opts ...BuilderOption) *Builder {
	b := &Builder{metrics: MetricList(), current: map[string]*building{}, names: map[string]string{}}
	for _, o := range opts {
		o(b)
	}
	return b
}

// AddFile adds all records of the file at path. On an error the Builder has
// what came before it.
func (b *Builder) AddFile(path string) error {
	var opts []ReadOption
	if b.hists {
		opts = append(opts, WithHistograms())
	}
	r, err := ReadFile(path, func(rec Record) error { return b.Add(path, rec) }, opts...)
	if err != nil {
		return err
	}
	if r.Truncated != "" {
		b.warnings = append(b.warnings, r.Truncated)
	}
	for _, typ := range sortedKeys(r.Unknown) {
		b.warnings = append(b.warnings, fmt.Sprintf("%s: records of the unknown type %q are passed over: %d",
			Printable(path), typ, r.Unknown[typ]))
	}
	return nil
}

// Add adds one record of the named file (or of a run in progress, by any
// name). Records that reports do not show are ignored. It keeps the structs it is
// given.
func (b *Builder) Add(file string, rec Record) error {
	if rec.Run != nil {
		b.current[file] = b.run(file, rec.Run)
		return nil
	}
	if rec.Sample == nil && rec.Event == nil && rec.Verdict == nil {
		return nil
	}
	cur := b.current[file]
	if cur == nil {
		return &FileError{File: file, Line: rec.Line, Err: fmt.Errorf("a %s before the run header", rec.Type)}
	}
	if e := rec.Event; e != nil {
		slim := *e
		slim.Dump, slim.Text, slim.Cell, slim.Kind = "", Printable(e.Text), Printable(e.Cell), Printable(e.Kind)
		cur.report.Events = append(cur.report.Events, &slim)
		return nil
	}
	if rec.Verdict != nil {
		cur.addVerdict(file, rec.Verdict)
		return nil
	}
	return b.addSample(cur, file, rec)
}

// addVerdict keeps a verdict, unless another file of the run has the same cell: the same fault may come several
// times to a lock of one file, with other parameters.
func (r *building) addVerdict(file string, v *ChaosVerdict) {
	if have, ok := r.from[v.Cell()]; ok && have != file {
		r.twice[file]++
		return
	}
	r.from[v.Cell()] = file
	r.verdicts = append(r.verdicts, v)
}

func (b *Builder) addSample(cur *building, file string, rec Record) error {
	slim := b.printableSample(*rec.Sample)
	key := cellKey{section: keyOf(&slim), lock: slim.Lock}
	_, key.topology = Place(slim.Cell, slim.Lock)
	c := cur.cells[key]
	if c == nil {
		c = &cellData{first: &slim, seen: map[int]bool{}}
		cur.cells[key] = c
	}
	if c.seen[slim.Rep] {
		cur.twice[file]++ // counting it twice would feign repetitions
		return nil
	}
	c.seen[slim.Rep] = true
	if b.hists && slim.Outcome == OutcomeOK {
		if err := c.addHists(&slim); err != nil {
			return &FileError{File: file, Line: rec.Line, Field: err.Field, Err: err.Err, Tip: hintDamaged}
		}
	}
	slim.Acquire, slim.Handoff = withoutHDR(slim.Acquire), withoutHDR(slim.Handoff)
	slim.Lateness = withoutHDR(slim.Lateness)
	slim.CPUs, slim.PerWorkerNS = nil, nil
	if r := slim.Remote; r != nil { // printableSample made it ours
		c.remote, c.counts = addRemote(c.remote, c.counts, &slim)
		r.Release, r.HandoffTripCounts = withoutHDR(r.Release), nil
	}
	if b.slim {
		c.rows = append(c.rows, rowOf(&slim, b.metrics))
		return nil
	}
	c.samples = append(c.samples, &slim)
	return nil
}

func withoutHDR(l *Latency) *Latency {
	if l == nil || l.HDR == "" {
		return l
	}
	slim := *l
	slim.HDR = ""
	return &slim
}

// run finds the run of a header, or begins it. A run without an ID is its own.
func (b *Builder) run(file string, run *Run) *building {
	header, name := printableRun(*run), Printable(file)
	for _, r := range b.runs {
		if run.RunID != "" && r.report.Run.RunID == header.RunID {
			if !slices.Contains(r.report.Files, name) {
				r.report.Files = append(r.report.Files, name)
			}
			return r
		}
	}
	r := &building{
		report: &RunReport{Run: header, Host: hostFacts(run.Host), Files: []string{name}},
		cells:  map[cellKey]*cellData{}, twice: map[string]int{}, from: map[string]string{},
	}
	b.runs = append(b.runs, r)
	return r
}

// Report summarises what was added so far.
func (b *Builder) Report() *Report {
	rep := &Report{Warnings: slices.Clone(b.warnings)}
	for _, r := range b.runs {
		rep.Runs = append(rep.Runs, r.build(b.metrics))
	}
	return rep
}

func (r *building) build(list []Metric) *RunReport {
	out := *r.report
	out.Warnings = nil
	for _, file := range sortedKeys(r.twice) {
		what := "repetitions"
		if len(r.verdicts) > 0 {
			what = "records"
		}
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %s of run %s that were read before are not counted again: %d",
			Printable(file), what, out.Run.RunID, r.twice[file]))
	}
	for _, e := range out.Events {
		if e.Kind == EventInterrupted {
			out.Interrupted = true
			out.Warnings = append(out.Warnings, strings.TrimSuffix("the run was interrupted: "+e.Text, ": "))
		}
	}
	out.Sections, out.Samples = sections(&out, r.cells, list)
	if len(r.verdicts) > 0 {
		out.Chaos = NewChaosReport(&out.Run, r.verdicts, out.Events)
	}
	if len(out.Sections) == 0 && out.Chaos == nil {
		out.Warnings = append(out.Warnings, "the run has no repetitions")
	}
	return &out
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
