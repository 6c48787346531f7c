package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/impls/planted"
	"lockbench/internal/exitcode"
	"lockbench/results"
)

// stopTime is how long a program may take to end after an interrupt.
const stopTime = 20 * time.Second

// workload is what all cells run: nothing between the sections, so that an
// operation is the lock and its section.
const workload = "max-contention"

// section is how long the lock is held, without extra work.
const section = "200ns"

// cellFlags say what is measured.
func (o options) cellFlags(workers int) []string {
	var names []string
	for _, l := range o.locks {
		names = append(names, planted.Prefix+l)
	}
	return []string{
		"--lock", strings.Join(names, ","), "--workload", workload, "--section", section, "--workers", strconv.Itoa(workers),
		"--duration", o.duration.String(), "--probe", o.probe.String(), "--warmup", o.warm.String(),
	}
}

// sides builds the programs of a session and says so in flags.
func (st *study) sides(ctx context.Context, s session) (flags []string, sums []string, err error) {
	for _, x := range []struct {
		flag     string
		programs []program
	}{{"--old", s.old}, {"--new", s.new}} {
		for _, p := range x.programs {
			path, err := st.build(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			h, err := sum(path)
			if err != nil {
				return nil, nil, err
			}
			flags, sums = append(flags, x.flag, path), append(sums, h)
		}
	}
	return flags, sums, nil
}

// record makes the recording of a session, or takes the one that is there.
func (st *study) record(ctx context.Context, s session) (*recording, error) {
	sides, sums, err := st.sides(ctx, s)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(st.o.dir, s.name+".jsonl")
	rec, err := st.read(path, s)
	switch {
	case err == nil:
		if err := st.fits(rec, s, sums); err != nil {
			return nil, err
		}
		st.say("using %s, recorded %s", path, rec.run.Started)
		if st.round == 0 { // nothing newer is known
			st.round = time.Duration(rec.seconds() * float64(time.Second))
		}
		return rec, nil
	case !unusable(err):
		return nil, err
	}
	args := append([]string{"ab", "--force", "--out", path, "--reps", strconv.Itoa(s.pairs), "--seed", strconv.FormatUint(st.o.seed, 10), "--format", "json"}, sides...)
	began := time.Now()
	runErr := st.lockbench(ctx, io.Discard, append(args, st.o.cellFlags(s.workers)...)...)
	// A repetition that ended badly makes the exit code, and not an incomplete
	// recording: gates over it say what they say of such repetitions.
	if code, ended := exitCode(runErr); !ended || code != exitcode.OK && code != exitcode.Runtime && code != exitcode.Safety {
		return nil, fmt.Errorf("record %s: %w", s.name, runErr)
	}
	st.round = time.Since(began) / time.Duration(s.pairs)
	if rec, err = st.read(path, s); err != nil {
		return nil, errors.Join(err, runErr)
	}
	if runErr != nil && len(rec.bad) == 0 {
		return nil, fmt.Errorf("record %s: %w", s.name, runErr)
	}
	return rec, nil
}

// read reads a recording; its cells are in the order of the flag.
func (st *study) read(path string, s session) (*recording, error) {
	rec, err := readRecording(path, s.pairs)
	if err != nil {
		return nil, err
	}
	place := func(c *cell) int { return slices.Index(st.o.locks, unprefixed(c.Lock)) }
	slices.SortFunc(rec.cells, func(a, b *cell) int { return place(a) - place(b) })
	if st.first == nil {
		st.first = rec
	}
	return rec, nil
}

// fits refuses a recording of something else.
func (st *study) fits(rec *recording, s session, sums []string) error {
	differs := func(what string) error {
		return fmt.Errorf("%s: it was recorded with %s: remove it, or use another -dir", rec.name, what)
	}
	for i, p := range rec.run.Programs {
		if i >= len(sums) || p.SHA256 != sums[i] || (p.Side == results.SideOld) != (i < len(s.old)) {
			return differs("other programs")
		}
	}
	if len(rec.run.Programs) != len(sums) {
		return differs("other programs")
	}
	if len(rec.cells) != len(st.o.locks) || rec.cells[0].Workers != s.workers {
		return differs("other cells")
	}
	spec, _ := rec.run.Spec.(map[string]any) // as JSON has it
	for field, want := range map[string]time.Duration{"duration_ns": st.o.duration, "probe_ns": st.o.probe, "warmup_ns": st.o.warm} {
		if got, _ := spec[field].(float64); got != float64(want) {
			return differs("another " + strings.TrimSuffix(field, "_ns"))
		}
	}
	return nil
}

// lockbench runs the program; what it says on the way goes to the user. An
// interrupt lets it stop in order.
func (st *study) lockbench(ctx context.Context, stdout io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, st.o.program, args...)
	cmd.Stdout, cmd.Stderr = stdout, st.stderr
	cmd.Cancel = func() error {
		// The terminal has told the whole process group; telling it twice would
		// end it at once.
		time.Sleep(time.Second)
		return cmd.Process.Signal(os.Interrupt)
	}
	cmd.WaitDelay = stopTime
	return cmd.Run()
}

// exitCode is that of a program that ended by itself.
func exitCode(err error) (int, bool) {
	if err == nil {
		return 0, true
	}
	var x *exec.ExitError
	if errors.As(err, &x) && x.Exited() {
		return x.ExitCode(), true
	}
	return 0, false
}
