package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"lockbench/backends"
	"lockbench/results"
)

// bench runs programs and reads what they measured.
type bench struct {
	program string
	dir     string // for files, removed at the end
	runs    int
	tools   string // where tools are looked for
	rng     *rand.Rand
	servers *servers
	say     func(format string, args ...any) // progress

	// For the document.
	host  string
	used  []string // tools and where they were
	begun time.Time
}

// endLimit is how long an interrupted program may take to remove what it has made.
const endLimit = 20 * time.Second

// lockbench runs locks on a cluster, and returns its samples by repetition and lock.
func (b *bench) lockbench(ctx context.Context, c *backends.Cluster, args ...string) (map[int]map[string]*results.Sample, error) {
	server, err := given(c.Target())
	if err != nil {
		return nil, err
	}
	b.runs++
	out := filepath.Join(b.dir, fmt.Sprintf("run-%d.jsonl", b.runs))
	defer func() { _ = os.Remove(out) }() // or with the directory
	argv := append([]string{"run", "--format", "csv", "--progress", "none", "--out", out, "--seed", fmt.Sprint(b.rng.Uint32()),
		"--backend", server}, args...)
	cmd := exec.CommandContext(ctx, b.program, argv...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endLimit
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("lockbench run: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return b.read(out)
}

// read reads what lockbench has measured.
func (b *bench) read(path string) (map[int]map[string]*results.Sample, error) {
	reps := map[int]map[string]*results.Sample{}
	builder := results.NewBuilder()
	if err := builder.AddFile(path); err != nil {
		return nil, err
	}
	if r := builder.Report(); b.host == "" && len(r.Runs) > 0 {
		b.host = r.Runs[0].Host.String()
	}
	_, err := results.ReadFile(path, func(r results.Record) error {
		s := r.Sample
		switch {
		case s == nil:
			return nil
		case s.Outcome != results.OutcomeOK:
			return fmt.Errorf("%s: %s: %s", s.Cell, s.Outcome, s.Reason)
		case reps[s.Rep] == nil:
			reps[s.Rep] = map[string]*results.Sample{}
		}
		reps[s.Rep][s.Lock] = s
		return nil
	})
	return reps, err
}

// errDisturbed is wrapped by why a repetition says nothing of speed.
var errDisturbed = errors.New("not a measurement of speed")

// wall is a sample's time by acquisition, of the whole cell. A repetition in which something went
// wrong is not one of speed.
func wall(s *results.Sample) (float64, error) {
	switch {
	case s == nil:
		return 0, errors.New("no sample")
	case s.Ops == 0 || s.WallNSPerOp <= 0:
		return 0, fmt.Errorf("%s: no acquisitions", s.Cell)
	case s.Remote == nil:
		return 0, fmt.Errorf("%s: not a distributed cell", s.Cell)
	}
	if r := s.Remote; r.Errors+r.Unknown+r.Timeouts+r.GaveUp+r.LostLeases > 0 {
		return 0, fmt.Errorf("%s: %w: %d errors, %d unknown, %d timeouts, %d given up, %d leases lost", s.Cell, errDisturbed,
			r.Errors, r.Unknown, r.Timeouts, r.GaveUp, r.LostLeases)
	}
	return s.WallNSPerOp, nil
}

// walls takes the time by acquisition of the locks of a run, each repetition a round, in order. The
// cells of one repetition run within seconds, in random order.
func walls(reps map[int]map[string]*results.Sample, locks ...string) ([]values, error) {
	var out []values
	for i := range len(reps) {
		v := values{}
		for _, l := range locks {
			ns, err := wall(reps[i][l])
			if err != nil {
				return nil, fmt.Errorf("%s, repetition %d: %w", l, i+1, err)
			}
			v[l] = ns
		}
		out = append(out, v)
	}
	return out, nil
}

// tool finds a server's benchmark program, and notes which it was.
func (b *bench) tool(ctx context.Context, name string, c *backends.Cluster) (tool, error) {
	t, err := find(ctx, name, b.tools, c)
	if err != nil {
		return t, err
	}
	b.used = append(b.used, fmt.Sprintf("%s, %s", t.version, t.where))
	b.say("%s: %s, %s", t.name, t.version, t.where)
	return t, nil
}
