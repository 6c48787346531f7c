package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lockbench/internal/exitcode"
	"lockbench/results"
)

// bench runs the program and reads what it wrote.
type bench struct {
	program string
	dir     string // for files, removed at the end
	runs    int
	seed    uint64
	files   []string // of a whole run; empty: it is run
	say     func(format string, args ...any)

	// For the document.
	host  string
	begun time.Time
}

// endLimit is how long an interrupted program may take to remove what it has made.
const endLimit = time.Minute

// outcome is a run of lockbench chaos that came to its end.
type outcome struct {
	code   int
	wall   time.Duration // from the start of the program to its end
	stderr string        // what it had to say, without notes on servers
	chaos  *results.ChaosReport
}

// chaos runs lockbench chaos with the flags. Verdicts that are not those expected are an outcome; a run that is not
// whole is an error.
func (b *bench) chaos(ctx context.Context, args ...string) (outcome, error) {
	b.runs++
	out := filepath.Join(b.dir, fmt.Sprintf("run-%d.jsonl", b.runs))
	defer func() { _ = os.Remove(out) }() // or with the directory
	argv := append([]string{"chaos"}, args...)
	said, wall, code, err := b.run(ctx, io.Discard, append(argv, "--out", out, "--progress", "none")...)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{code: code, wall: wall, stderr: remarks(said)}
	if code != exitcode.OK && code != exitcode.Safety && code != exitcode.Inconclusive {
		return o, fmt.Errorf("lockbench %s: exit code %d: %s", strings.Join(argv, " "), code, o.stderr)
	}
	runs, err := b.read(out)
	if err != nil {
		return o, err
	}
	if len(runs) != 1 {
		return o, fmt.Errorf("lockbench %s: it wrote %d runs, want 1", strings.Join(argv, " "), len(runs))
	}
	o.chaos = runs[0]
	return o, nil
}

// run runs the program. An exit code is no error.
func (b *bench) run(ctx context.Context, stdout io.Writer, argv ...string) (stderr string, wall time.Duration, code int, err error) {
	cmd := exec.CommandContext(ctx, b.program, argv...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endLimit
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &errs
	begun := time.Now()
	err = cmd.Run()
	wall = time.Since(begun)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", wall, 0, ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return errs.String(), wall, exit.ExitCode(), nil
	case err != nil:
		return "", wall, 0, fmt.Errorf("lockbench %s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return errs.String(), wall, exitcode.OK, nil
}

// remarks are the errors and notes that the program ends with; all it said, if there are none.
func remarks(stderr string) string {
	var out []string
	for line := range strings.Lines(stderr) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "lockbench: ")
		if ok && (strings.HasPrefix(text, "error: ") || strings.HasPrefix(text, "note: ")) {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return strings.TrimSpace(stderr)
	}
	return strings.Join(out, "; ")
}

// read reads the runs in the files. Each must be whole: all of its cells are there.
func (b *bench) read(paths ...string) ([]*results.ChaosReport, error) {
	builder := results.NewBuilder()
	for _, p := range paths {
		if err := builder.AddFile(p); err != nil {
			return nil, err
		}
	}
	r := builder.Report()
	if len(r.Warnings) > 0 {
		return nil, errors.New(strings.Join(r.Warnings, "; "))
	}
	var out []*results.ChaosReport
	for _, run := range r.Runs {
		switch planned := run.Run.CellsPlanned; {
		case len(run.Warnings) > 0:
			return nil, fmt.Errorf("run %s: %s", run.Run.RunID, strings.Join(run.Warnings, "; "))
		case run.Chaos == nil:
			return nil, fmt.Errorf("run %s: it injected no fault", run.Run.RunID)
		case len(run.Chaos.Verdicts) < planned:
			return nil, fmt.Errorf("run %s: %d of %d cells have a verdict", run.Run.RunID, len(run.Chaos.Verdicts), planned)
		}
		b.host = run.Host.String()
		out = append(out, run.Chaos)
	}
	return out, nil
}

// plan is what lockbench plan chaos says of a run.
type plan struct {
	Cells      []planned `json:"cells"`
	EstimateNS int64     `json:"estimate_ns"`
}

type planned struct {
	cell
	Expected string `json:"expected"`
	Skip     string `json:"skip"`
}

// cell names a cell of the matrix.
type cell struct {
	Lock     string `json:"lock"`
	Topology string `json:"topology"`
	Fault    string `json:"fault"`
	Policy   string `json:"policy"`
}

func (c cell) String() string {
	return strings.Join([]string{c.Lock, c.Topology, c.Fault, c.Policy}, "/")
}

func cellOf(v *results.ChaosVerdict) cell { return cell{v.Lock, v.Topology, v.Fault, v.Policy} }

// plan asks what a run with the flags would be.
func (b *bench) plan(ctx context.Context, args ...string) (plan, error) {
	var p plan
	var stdout bytes.Buffer
	argv := append([]string{"plan", "chaos"}, args...)
	said, _, code, err := b.run(ctx, &stdout, append(argv, "--format", "json")...)
	switch {
	case err != nil:
		return p, err
	case code != exitcode.OK:
		return p, fmt.Errorf("lockbench %s: exit code %d: %s", strings.Join(argv, " "), code, remarks(said))
	}
	if err := json.Unmarshal(stdout.Bytes(), &p); err != nil {
		return p, fmt.Errorf("lockbench %s: %w", strings.Join(argv, " "), err)
	}
	return p, nil
}

// controls returns an error if the harness's own checks failed: then no verdict of the run counts.
func controls(r *results.ChaosReport) error {
	var bad []string
	for _, v := range r.FailedControls() {
		bad = append(bad, fmt.Sprintf("%s is %s, not %s", cellOf(v), v.Verdict, v.Expected))
	}
	if len(bad) > 0 {
		return fmt.Errorf("controls failed: %s", strings.Join(bad, ", "))
	}
	return nil
}

// lost are the cells that the plan does not skip and that have no rounds all the same: no record, or one that says
// that their servers did not come up.
func lost(whole plan, runs ...*results.ChaosReport) []cell {
	ran := map[cell]bool{}
	for _, r := range runs {
		for _, v := range r.Verdicts {
			if v.Verdict != results.VerdictSkipped {
				ran[cellOf(v)] = true
			}
		}
	}
	var out []cell
	for _, c := range whole.Cells {
		if c.Skip == "" && !ran[c.cell] {
			out = append(out, c.cell)
		}
	}
	return out
}

// few names the first cells of many.
func few(cells []cell) string {
	const most = 3
	var out []string
	for _, c := range cells[:min(most, len(cells))] {
		out = append(out, c.String())
	}
	if n := len(cells) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}

// why is a verdict with its reason. A server that did not come up has the end of its log in it: the beginning tells.
func why(v *results.ChaosVerdict) string {
	const most = 200
	if v.Reason == "" {
		return v.Verdict
	}
	reason := []rune(v.Reason)
	if len(reason) > most {
		reason = append(reason[:most:most], []rune(" ...")...)
	}
	return v.Verdict + ": " + string(reason)
}
