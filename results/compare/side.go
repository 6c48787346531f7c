package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/results"
)

// A Side is one half of a comparison: one run, or several that were measured
// alike, whose repetitions count together.
type Side struct {
	Label  string
	Report *results.Report
}

// Load reads a side: a file, or a directory, of which all *.jsonl files at any
// depth are read in order of their names. arg may be "label=path", which names
// the side in the output; a path that exists is taken as it is, "=" or not.
// Without a label it has the default. The error is a *results.FileError or an
// *Error.
func Load(arg, label string) (*Side, error) {
	path := arg
	info, err := os.Stat(path)
	if err != nil {
		if l, p, ok := strings.Cut(arg, "="); ok && l != "" && p != "" {
			label, path = l, p
			info, err = os.Stat(path)
		}
	}
	if err != nil {
		cause := err
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			cause = pe.Err
		}
		return nil, refuse("a side is a file that lockbench run --out wrote, a directory of them, or label=path", "%s: open results: %w", path, cause)
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = below(path); err != nil {
			return nil, err
		}
	}
	b := results.NewBuilder()
	for _, f := range files {
		if err := b.AddFile(f); err != nil {
			return nil, err
		}
	}
	return &Side{Label: results.Printable(label), Report: b.Report()}, nil
}

func below(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".jsonl" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, refuse("", "read directory: %w", err)
	}
	if len(files) == 0 {
		return nil, refuse("results files end in .jsonl; another name must be given by itself", "%s: no results file (*.jsonl) in this directory or below", dir)
	}
	slices.Sort(files)
	return files, nil
}

// PairedRun is the first run of a paired session on the side, nil if there is
// none.
func (s *Side) PairedRun() *results.RunReport {
	for _, r := range s.Report.Runs {
		if len(r.Run.Programs) > 0 {
			return r
		}
	}
	return nil
}

// check refuses what is not one side.
func (s *Side) check() error {
	if r := s.PairedRun(); r != nil {
		return refuse("compare its own halves: lockbench compare FILE, or judge them: lockbench gate",
			"%s: run %s is a paired session, which has both sides in itself", s.Label, r.Run.RunID)
	}
	runs := s.Report.Runs
	if len(runs) == 0 {
		return refuse("", "%s: there is no run", s.Label)
	}
	for _, r := range runs[1:] {
		const tip = "repetitions of one side count together only if they were measured alike: give one of the runs, or compare them with each other"
		if d := differences(runs[:1], []*results.RunReport{r}); len(d) > 0 {
			return refuse(tip, "%s: runs %s and %s differ in %s: %s and %s", s.Label, runs[0].Run.RunID, r.Run.RunID, d[0].What, d[0].Old, d[0].New)
		}
		if d := serverDifferences(runs[0].Samples, r.Samples); len(d) > 0 {
			return refuse(tip, "%s: runs %s and %s differ in %s: %s and %s", s.Label, runs[0].Run.RunID, r.Run.RunID, d[0].What, d[0].Old, d[0].New)
		}
		first := remoteOf(runs[0].Samples)
		for _, y := range r.Samples {
			if x, ok := first[keyOf(y)]; ok && y.Remote != nil {
				if what := remoteDiffer(x, y.Remote.Settings()); what != "" {
					return refuse(tip, "%s: runs %s and %s differ in %s of %s", s.Label, runs[0].Run.RunID, r.Run.RunID, what, y.Cell)
				}
			}
		}
		if what := settingsOf(runs[0]).differ(settingsOf(r), nil); what != "" {
			return refuse(tip, "%s: runs %s and %s differ in %s", s.Label, runs[0].Run.RunID, r.Run.RunID, what)
		}
		if what := settingsOf(runs[0]).lengths(settingsOf(r)); len(what) > 0 {
			return refuse(tip, "%s: runs %s and %s differ in %s", s.Label, runs[0].Run.RunID, r.Run.RunID, what[0])
		}
	}
	return nil
}

func (s *Side) info() SideInfo {
	i := SideInfo{Label: s.Label}
	for _, r := range s.Report.Runs {
		for _, f := range r.Files {
			if !slices.Contains(i.Files, f) {
				i.Files = append(i.Files, f)
			}
		}
		i.RunIDs = append(i.RunIDs, r.Run.RunID)
	}
	first := s.Report.Runs[0]
	i.Host, i.Programs = first.Host.String(), []string{strings.TrimSpace(first.Run.Program.Path + " " + first.Run.Program.String())}
	return i
}

func (s *Side) warnings() []string {
	var out []string
	for _, w := range s.Report.Warnings {
		out = append(out, s.Label+": "+w)
	}
	for _, r := range s.Report.Runs {
		for _, w := range r.Warnings {
			out = append(out, s.Label+": "+w)
		}
	}
	if n := len(s.Report.Runs); n > 1 {
		out = append(out, fmt.Sprintf("%s: the repetitions of %d runs of one host count together, though time passed between them", s.Label, n))
	}
	return out
}

// cellKey tells cells apart. base is the name without how it was measured.
type cellKey struct {
	base, dispatch, threads string
	clients                 int
}

// A cell is all repetitions of a cell on a side.
type cell struct {
	key                  cellKey
	name, lock, workload string
	workers, cores       int
	control              bool
	rw                   string
	n                    int               // repetitions
	ok                   []*results.Sample // those that figures are made from
	outcomes             map[string]int
	reasons              map[string]string // outcome -> of the first repetition with it
}

// measured reports whether the cell has figures that mean something: a lock
// that let two workers in has none.
func (c *cell) measured() bool {
	return c != nil && len(c.ok) > 0 && c.outcomes[results.OutcomeViolation] == 0
}

// why is the reason why a cell has no figures; "" = it is not there.
func (c *cell) why() string {
	if c == nil {
		return ""
	}
	for _, o := range []string{results.OutcomeViolation, results.OutcomeHang, results.OutcomeError, results.OutcomeSkipped} {
		if c.outcomes[o] > 0 {
			return strings.TrimSuffix(o+": "+c.reasons[o], ": ")
		}
	}
	return "no repetition"
}

type cellSet struct {
	at    map[cellKey]*cell
	order []*cell
}

func (s *Side) cells() *cellSet {
	set := &cellSet{at: map[cellKey]*cell{}}
	for _, r := range s.Report.Runs {
		for _, x := range r.Samples {
			k := keyOf(x)
			c := set.at[k]
			if c == nil {
				c = &cell{key: k, name: x.Cell, lock: x.Lock, workload: x.Workload, workers: x.Workers, cores: x.Cores,
					control: x.Control, rw: x.RW, outcomes: map[string]int{}, reasons: map[string]string{}}
				set.at[k] = c
				set.order = append(set.order, c)
			}
			c.n++
			if c.outcomes[x.Outcome]++; c.outcomes[x.Outcome] == 1 {
				c.reasons[x.Outcome] = x.Reason
			}
			if x.Outcome == results.OutcomeOK {
				c.ok = append(c.ok, x)
			}
		}
	}
	return set
}

func keyOf(s *results.Sample) cellKey {
	var parts []string
	for p := range strings.SplitSeq(s.Cell, "/") {
		if k, _, _ := strings.Cut(p, "="); k != "dispatch" && k != "threads" {
			parts = append(parts, p)
		}
	}
	return cellKey{base: strings.Join(parts, "/"), dispatch: s.Dispatch, threads: s.Threads, clients: s.Clients}
}

// matching are the keys of both sides that pass the filters: sections in the
// old side's order, within them locks by name, so that a cell is always in the
// same place, however fast it was.
func (o *Options) matching(a, b *cellSet) ([]cellKey, error) {
	var all []*cell
	for _, set := range []*cellSet{a, b} {
		for _, c := range set.order {
			if !slices.ContainsFunc(all, func(have *cell) bool { return have.key == c.key }) {
				all = append(all, c)
			}
		}
	}
	first := map[string]int{} // section -> place
	for _, c := range all {
		if _, ok := first[c.section()]; !ok {
			first[c.section()] = len(first)
		}
	}
	kept, err := filter(o.Filters, all, func(c *cell) Named { return Named{c.name, c.lock, c.workload, c.workers} })
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(kept, func(x, y *cell) int {
		return cmp.Or(cmp.Compare(first[x.section()], first[y.section()]), boolOrder(x.control, y.control), strings.Compare(x.name, y.name))
	})
	var keys []cellKey
	for _, c := range kept {
		keys = append(keys, c.key)
	}
	return keys, nil
}

func (c *cell) section() string { return sectionOf(c.name, c.lock) }

// sectionOf is the part of a cell's name that the rows of a table share.
func sectionOf(name, lock string) string {
	variant, _ := results.Place(name, lock)
	return variant
}

// boolOrder puts true first.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
