package main

import (
	"errors"
	"fmt"
	"math"
	"os"

	"lockbench/results"
	"lockbench/results/gate"
	"lockbench/results/pairs"
)

// A recording is a complete paired session, by rounds.
type recording struct {
	name  string // file
	run   results.Run
	host  string
	cells []*cell
	// combos is which builds a round compared, indexes into run.Programs.
	combos  [][2]int
	flagged int // repetitions with doubts that other programs caused
	samples int
	bad     []string // repetitions that did not end well, a line each
}

// A cell is what was recorded of one cell. Controls are not among them: no
// rule is about them.
type cell struct {
	gate.Cell
	rounds []*pairs.Cell // by number of the pair: that pair alone, kept or dropped
	// seconds is how long a pair took on average: the lives of its two
	// processes.
	seconds float64
}

// readRecording reads the session of so many pairs. A file that is not complete
// is an error: half a session would be another experiment.
func readRecording(path string, want int) (*recording, error) {
	rec := &recording{name: path}
	at := map[string]*cell{}
	builders := map[string][]*pairs.Builder{}
	halves := map[string]int{}
	add := func(s *results.Sample) error {
		switch {
		case s.Outcome == results.OutcomeSkipped:
			return fmt.Errorf("%s: %s was skipped: %s", path, s.Cell, s.Reason)
		case s.Rep >= want:
			return fmt.Errorf("%s: it has a pair number %d, of %d", path, s.Rep, want)
		}
		c := at[s.Cell]
		if c == nil {
			c = &cell{Cell: gate.Cell{Name: s.Cell, Lock: s.Lock, Workload: s.Workload, Workers: s.Workers}}
			at[s.Cell] = c
			rec.cells = append(rec.cells, c)
			for range want {
				builders[s.Cell] = append(builders[s.Cell], &pairs.Builder{})
			}
		}
		builders[s.Cell][s.Rep].Add(s)
		halves[s.Cell]++
		rec.combos[s.Rep][side(s)] = s.Program
		c.seconds += float64(s.WarmupNS+s.ElapsedNS+s.ProbeElapsedNS+s.OverheadNS) / 1e9 / float64(want)
		return nil
	}
	rec.combos = make([][2]int, want)
	headers, interrupted := 0, false
	r, err := results.ReadFile(path, func(x results.Record) error {
		switch {
		case x.Run != nil:
			headers++
			rec.run = *x.Run
			b := results.NewBuilder()
			if err := b.Add(path, x); err != nil {
				return err
			}
			rec.host = b.Report().Runs[0].Host.String()
		case x.Event != nil:
			interrupted = interrupted || x.Event.Kind == results.EventInterrupted
		case x.Sample != nil && !x.Sample.Control:
			rec.samples++
			if o := x.Sample.Outcome; o != results.OutcomeOK && o != results.OutcomeSkipped {
				rec.bad = append(rec.bad, fmt.Sprintf("%s in pair %d of %s, %s side", o, x.Sample.Rep, unprefixed(x.Sample.Lock), x.Sample.Side))
			}
			if busy(x.Sample) {
				rec.flagged++
			}
			return add(x.Sample)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case headers != 1 || len(rec.run.Programs) < 2:
		return nil, fmt.Errorf("%s: it is not one paired session", path)
	case r.Truncated != "" || interrupted || len(rec.cells) == 0:
		return nil, fmt.Errorf("%s: %w", path, errIncomplete)
	}
	for _, c := range rec.cells {
		if halves[c.Name] != 2*want {
			return nil, fmt.Errorf("%s: %w: %s has %d repetitions of %d", path, errIncomplete, c.Name, halves[c.Name], 2*want)
		}
		for n, b := range builders[c.Name] {
			got := b.Cell(c.Name)
			if got == nil || got.Measured() != 1 || got.Dropped[pairs.DroppedAlone] > 0 {
				return nil, fmt.Errorf("%s: %w: pair %d of %s does not have both halves", path, errIncomplete, n, c.Name)
			}
			c.rounds = append(c.rounds, got)
		}
	}
	return rec, nil
}

// errIncomplete is about a session that was interrupted.
var errIncomplete = errors.New("the recording is incomplete")

// unusable reports whether a recording has to be made anew.
func unusable(err error) bool { return errors.Is(err, errIncomplete) || errors.Is(err, os.ErrNotExist) }

func side(s *results.Sample) int {
	if s.Side == results.SideNew {
		return 1
	}
	return 0
}

// busy reports whether something else than the lock disturbed a repetition.
func busy(s *results.Sample) bool {
	for _, f := range s.Flags {
		switch results.FlagWord(f) {
		case results.FlagBusy, results.FlagSteal:
			return true
		}
	}
	return false
}

// gateCells are the cells as a gate is told of them.
func (r *recording) gateCells() []gate.Cell {
	var out []gate.Cell
	for _, c := range r.cells {
		out = append(out, c.Cell)
	}
	return out
}

// ratios are the log ratios of the cell, in order.
func (c *cell) ratios(m results.Metric) []float64 {
	var out []float64
	for _, r := range c.rounds {
		out = append(out, r.LogRatios(m)...)
	}
	return out
}

// dropped is the number of pairs that are no evidence.
func (c *cell) dropped() int {
	n := 0
	for _, r := range c.rounds {
		n += 1 - len(r.Pairs)
	}
	return n
}

// byBuild is the rounds by the two builds that they compare.
func (r *recording) byBuild() [][]int {
	at := map[[2]int]int{}
	var out [][]int
	for n, c := range r.combos {
		i, ok := at[c]
		if !ok {
			i = len(out)
			at[c] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], n)
	}
	return out
}

// shortest is the length of the shortest group.
func shortest(groups [][]int) int {
	n := math.MaxInt
	for _, g := range groups {
		n = min(n, len(g))
	}
	return n
}

// perOp is the median time an operation of the old side, in ns.
func (c *cell) perOp() float64 {
	var ns []float64
	for _, r := range c.rounds {
		for _, p := range r.Pairs {
			ns = append(ns, p.Old.WallNSPerOp)
		}
	}
	return quantile(ns, 0.5)
}

// seconds is how long a round of all cells took.
func (r *recording) seconds() float64 {
	sum := 0.0
	for _, c := range r.cells {
		sum += c.seconds
	}
	return sum
}
