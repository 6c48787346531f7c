package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/exitcode"
	"lockbench/results"
	"lockbench/results/num"
)

// A host may have, beside its measurement or without one, what faults did to its locks: the records of lockbench
// chaos, and what is made of them.
const (
	chaosName  = "chaos.jsonl"
	chaosTable = "chaos.md"
	chaosPage  = "chaos.html"
)

const hintChaos = "the file must be what one complete `lockbench chaos --out` wrote"

// loadChaos reads the chaos beside a measurement, nil if there is none.
func loadChaos(path string) (*records, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return loadFile(path, chaosName, hintChaos, fitChaos)
}

// fitChaos returns why chaos cannot be published: its controls failed, or it was stopped.
func fitChaos(r *results.RunReport) error {
	switch {
	case r.Chaos == nil:
		return errors.New("it has no verdicts of faults")
	case r.Interrupted:
		return errors.New("the run was interrupted")
	case len(r.Chaos.Controls) == 0:
		return errors.New("no control was run")
	}
	if failed := r.Chaos.FailedControls(); len(failed) > 0 {
		return fmt.Errorf("the control %s failed: no verdict of the run counts", failed[0].Lock)
	}
	for _, v := range r.Chaos.Verdicts {
		if filepath.IsAbs(v.Counterfile) || drive.MatchString(v.Counterfile) {
			return fmt.Errorf("the verdict of %s under %s names a file of the machine that measured", v.Lock, v.Fault)
		}
	}
	return nil
}

// addChaos makes what is published of the chaos in dir, if there is any.
func (m *measurement) addChaos(dir string) error {
	var err error
	if m.chaos, err = loadChaos(filepath.Join(dir, chaosName)); err != nil || m.chaos == nil {
		return err
	}
	for name, format := range map[string]string{chaosTable: "markdown", chaosPage: "html"} {
		if m.files[name], err = formatted(m.chaos.report, format); err != nil {
			return fmt.Errorf("%s: make %s: %w", dir, name, err)
		}
	}
	return nil
}

// onlyChaos reports whether a host's directory has chaos and no measurement.
func onlyChaos(dir string) bool {
	_, raw := os.Stat(filepath.Join(dir, rawName))
	_, chaos := os.Stat(filepath.Join(dir, chaosName))
	return errors.Is(raw, fs.ErrNotExist) && chaos == nil
}

// name is that of the host.
func (m *measurement) name() string {
	if m.records == nil {
		return m.chaos.host
	}
	return m.host
}

// data are the files of a host's directory that everything else is made of.
func (m *measurement) data() []string {
	var out []string
	if m.records != nil {
		out = append(out, rawName, matrixName)
	}
	if m.chaos != nil {
		out = append(out, chaosName)
	}
	return out
}

// publishChaos puts a file of chaos into the directory of its host, beside the measurement if there is one and in
// the place of an older one.
func (s *site) publishChaos(file string, stdout io.Writer) error {
	c, err := loadFile(file, chaosName, hintChaos, fitChaos)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return fail(exitcode.Usage, "-out must be a directory that can be written", "make the directory: %w", err)
	}
	dir := filepath.Join(s.out, c.host)
	from := map[string]string{chaosName: file}
	if _, err := os.Stat(filepath.Join(dir, rawName)); err == nil {
		from[rawName], from[matrixName] = filepath.Join(dir, rawName), filepath.Join(dir, matrixName)
	}
	err = s.stage(func(fresh string) error {
		for _, to := range sortedKeys(from) {
			if err := copyFile(filepath.Join(fresh, to), from[to]); err != nil {
				return fmt.Errorf("copy the records: %w", err)
			}
		}
		m, err := read(fresh)
		if err != nil {
			return err
		}
		// The excerpt is made before anything is replaced: it may not be possible.
		if _, err := s.pages([]*measurement{m}, ""); err != nil {
			return fmt.Errorf("nothing is published: %w", err)
		}
		return s.install(m, fresh)
	})
	if err != nil {
		return err
	}
	all, err := s.hosts()
	if err != nil {
		return err
	}
	if err := s.writePages(all, ""); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "published %s: chaos of %d cells\n", dir, len(c.run.Chaos.Verdicts))
	return err
}

// chaosSummary is what a page says of the chaos of a host.
func (m *measurement) chaosSummary() string {
	c := m.chaos.run.Chaos
	locks, faults := map[string]bool{}, map[string]bool{}
	for _, v := range c.Verdicts {
		locks[v.Lock], faults[v.Fault] = true, true
	}
	return fmt.Sprintf("%s under %s, %s with a verdict, %d not as theory expects", num.Count(len(locks), "lock"), num.Count(len(faults), "fault"),
		num.Count(len(c.Verdicts)-len(c.With(results.VerdictSkipped)), "cell"), len(c.Differing()))
}

// chaosHost is the line about the host of the chaos, as its matrix has it.
func (m *measurement) chaosHost() string {
	if lines := facts(m.files[chaosTable], "host"); len(lines) > 0 {
		return lines[0]
	}
	return m.chaos.host
}

// chaosIndex is the line of the index about the chaos of a host, "" without any.
func (m *measurement) chaosIndex() string {
	if m.chaos == nil {
		return ""
	}
	return fmt.Sprintf("- chaos: %s; run on %s, with lockbench `%s`: [matrix](%[4]s/%[5]s), [report](%[4]s/%[6]s) (download and open it), [records](%[4]s/%[7]s)\n",
		m.chaosSummary(), m.chaos.date, m.chaos.version, m.chaos.host, chaosTable, chaosPage, chaosName)
}

// The faults of the excerpt. If none of them was injected, all stand there.
var chosenFaults = []string{
	"none", "holder-kill", "holder-pause", "holder-cutoff", "stale-unlock", "waiter-kill", "server-restart-empty", "server-pause", "leader-kill",
	"quorum-loss", "clock-forward", "conn-terminate", "panic-in-section",
}

// withChaos is the measurement whose chaos the page shows: the one that it shows anyway, or the first that has any.
func withChaos(m *measurement, all []*measurement) *measurement {
	if m != nil && m.chaos != nil {
		return m
	}
	for _, o := range all {
		if o.chaos != nil {
			return o
		}
	}
	return nil
}

// chaosBlock is the excerpt for README.md: the matrix, cut to the chosen faults.
func (m *measurement) chaosBlock(dir string) (string, error) {
	if m == nil {
		return "", nil
	}
	tables, err := grids(m.files[chaosTable])
	if err != nil {
		return "", err
	}
	at := func(name string) string { return path.Join(dir, m.chaos.host, name) }
	var b strings.Builder
	fmt.Fprintf(&b, "\n### When the holder dies, stalls or is cut off\n\n%s, run on %s on %s. `ok`: nobody else was inside; `fence`: two were, and a\n", m.chaosSummary(), m.chaos.date, m.chaosHost())
	fmt.Fprintf(&b, "store that checks tokens refused the late write; `UNSAFE`: two were, and nothing helps; `?`: not known; `-`: the lock\ncannot have it; `!`: not what theory expects. The time is the median until the next one got in. All faults, with their\n")
	fmt.Fprintf(&b, "figures, are in the [matrix](%s), beside it the [records](%s).\n", at(chaosTable), at(chaosName))
	for _, g := range tables {
		if g = g.cutFaults(); len(g.rows) > 0 {
			fmt.Fprintf(&b, "\n**%s**\n\n%s", g.title, g)
		}
	}
	return b.String(), nil
}

// cutFaults leaves the rows of the chosen faults; a row without a fault belongs to the one above it.
func (g grid) cutFaults() grid {
	out := grid{title: g.title, head: g.head, align: g.align}
	fault, known := "", false
	for _, row := range g.rows {
		known = known || slices.Contains(chosenFaults, row[0])
	}
	for _, row := range g.rows {
		if row[0] != "" {
			fault = row[0]
		}
		if !known || slices.Contains(chosenFaults, fault) {
			out.rows = append(out.rows, row)
		}
	}
	return out
}
