package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"lockbench/internal/exitcode"
	"lockbench/results"
)

// Names of files in a host's directory.
const (
	rawName    = "raw.jsonl"
	matrixName = "matrix.yaml"
	tableName  = "table.md"
	pageName   = "report.html"
	chartsName = "charts"
)

// records are the measurement in a raw file, found fit to be published.
type records struct {
	host    string // the name of its directory
	date    string // of the start, YYYY-MM-DD
	version string // of the program that measured
	report  *results.Report
	run     *results.RunReport
}

const hintRaw = "the file must be what one complete `lockbench run --out` wrote"

// versionRE is what a version may be made of: it is printed as it stands.
var versionRE = regexp.MustCompile(`^[0-9A-Za-z.+()_-]{1,80}$`)

// load reads the raw file at path. Of what is wrong with it the error names the
// first.
func load(path string) (*records, error) {
	return loadFile(path, rawName, hintRaw, func(r *results.RunReport) error {
		if len(r.Run.Programs) > 0 {
			return errors.New("it is a paired session of lockbench ab, not a run")
		}
		return complete(r)
	})
}

// loadFile reads a file that is published under a name, and is fit for that. Errors come with the hint.
func loadFile(path, name, hint string, fit func(*results.RunReport) error) (*records, error) {
	refuse := func(format string, args ...any) error {
		return fail(exitcode.Runtime, hint, "%s: %s", path, fmt.Sprintf(format, args...))
	}
	b, headers := results.NewBuilder(results.KeepHistograms()), 0
	file, err := results.ReadFile(path, func(rec results.Record) error {
		if rec.Run != nil {
			headers++
		}
		return b.Add(name, rec) // reports name the file, and must not say where it lay
	}, results.WithHistograms())
	switch {
	case err != nil:
		return nil, err
	case file.Truncated != "":
		return nil, refuse("%s", strings.TrimPrefix(file.Truncated, path+":"))
	case len(file.Unknown) > 0:
		return nil, refuse("it has records of the unknown type %q", sortedKeys(file.Unknown)[0])
	case headers != 1:
		return nil, refuse("%d runs in one file", headers)
	}
	rep := b.Report()
	r := &records{report: rep, run: rep.Runs[0]}
	run := &r.run.Run
	if err := fit(r.run); err != nil {
		return nil, refuse("%v", err)
	}
	if len(r.run.Warnings) > 0 {
		return nil, refuse("%s", r.run.Warnings[0])
	}
	if field := privatePath(run); field != "" {
		return nil, fail(exitcode.Runtime, "leave out of the matrix what names files of this machine",
			"%s: the header's %s is a path of the machine that measured", path, field)
	}
	if r.host, err = hostName(r.run.Host); err != nil {
		return nil, refuse("%v", err)
	}
	started, err := time.Parse(time.RFC3339, run.Started)
	if err != nil {
		return nil, refuse("the header's start %q is no time", run.Started)
	}
	r.date = started.UTC().Format(time.DateOnly)
	if r.version = run.Program.String(); !versionRE.MatchString(r.version) {
		return nil, refuse("the header's program version %q is none", r.version)
	}
	return r, nil
}

// complete returns what a run lacks: it was stopped, or some repetition failed.
func complete(r *results.RunReport) error {
	if r.Interrupted {
		return fmt.Errorf("the run was interrupted")
	}
	cells := r.Cells()
	if len(cells) == 0 || len(cells) != r.Run.CellsPlanned {
		return fmt.Errorf("%d of %d planned cells are there", len(cells), r.Run.CellsPlanned)
	}
	figures := false
	for _, c := range cells {
		switch {
		case c.Outcome == results.OutcomeSkipped && c.OKReps == 0: // the lock cannot do it
		case c.Outcome != results.OutcomeOK:
			return fmt.Errorf("cell %s: %s in %d of %d repetitions: %s", c.Cell, c.Outcome, c.WorstOf, c.Reps, c.Reason)
		case c.OKReps != r.Run.Reps || c.Reps != c.OKReps:
			return fmt.Errorf("cell %s: %d of %d repetitions are there", c.Cell, c.OKReps, r.Run.Reps)
		default:
			figures = true
		}
	}
	if !figures {
		return fmt.Errorf("every cell is skipped")
	}
	return nil
}

// privatePath returns the field of a run's header that is a path of the machine,
// "" if there is none. The program's import path is no such one.
func privatePath(run *results.Run) string {
	b, err := json.Marshal(run)
	if err != nil {
		return "content"
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		return "content"
	}
	return findPath("", v)
}

var drive = regexp.MustCompile(`^[A-Za-z]:\\`)

func findPath(at string, v any) string {
	sub := func(key string, v any) string { return findPath(strings.TrimPrefix(at+"."+key, "."), v) }
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "/sys/") || strings.HasPrefix(v, "/proc/") {
			return "" // the kernel's: a fact that is absent says where it was looked for
		}
		if filepath.IsAbs(v) || strings.HasPrefix(v, "~/") || strings.HasPrefix(v, "../") || strings.HasPrefix(v, "./") || drive.MatchString(v) {
			return at
		}
	case []any:
		for _, e := range v {
			if f := sub("[]", e); f != "" {
				return f
			}
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if f := sub(k, v[k]); f != "" {
				return f
			}
		}
	}
	return ""
}
