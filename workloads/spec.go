package workloads

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Spec is a workload as a user writes it. Its YAML keys are the names of the
// knobs on the command line.
type Spec struct {
	Name string `json:"name" yaml:"name"`
	// Base is the preset that the other keys change; empty: "uncontended".
	Base string `json:"base" yaml:"base"`

	Section    Dist `json:"section" yaml:"section"`         // work while holding the lock
	Think      Dist `json:"think" yaml:"think"`             // work between two operations
	ReadLines  int  `json:"read_lines" yaml:"read-lines"`   // 64-byte lines of the lock's data read inside
	WriteLines int  `json:"write_lines" yaml:"write-lines"` // and written
	Hog        Dist `json:"hog" yaml:"hog"`                 // section of worker 0, if not 0

	Workers Count `json:"workers" yaml:"workers"` // if the run names none

	Reads     float64       `json:"reads" yaml:"reads"`              // percent of operations that are read sections
	Try       float64       `json:"try" yaml:"try"`                  // percent that do not wait
	Timed     float64       `json:"timed" yaml:"timed"`              // percent that wait for timed-wait only
	TimedWait time.Duration `json:"timed_wait_ns" yaml:"timed-wait"` // of timed acquisitions

	Locks  int    `json:"locks" yaml:"locks"`        // how many locks, >= 1
	Choice Choice `json:"choice" yaml:"choice"`      // which of them
	Keys   Keys   `json:"keys,omitzero" yaml:"keys"` // both in one; empty: as they say
	// Order makes each operation a transfer between two locks, taken in that order
	// (OrderSorted, OrderAsGiven); empty: an operation takes one lock.
	Order Order `json:"order,omitempty" yaml:"order"`

	Phases   Phases   `json:"phases" yaml:"phases"`     // how many workers are active when
	Arrivals Arrivals `json:"arrivals" yaml:"arrivals"` // empty: closed loop
}

// MaxLocks bounds the number of locks of a cell; MaxLines the cache lines
// touched inside a section, MaxRate the arrivals a second.
const (
	MaxLocks = 1024
	MaxLines = 4096
	MaxRate  = 1e9
)

// minPct is the smallest share of operations that the tables of opTable
// entries hold at least twice.
const minPct = 100 * 2.0 / opTable

// Validate returns all that is wrong with the spec, each with its knob's name.
func (s Spec) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, l := range []struct {
		name string
		n    int
	}{{"read-lines", s.ReadLines}, {"write-lines", s.WriteLines}} {
		if l.n < 0 || l.n > MaxLines {
			bad("%s: %d: want 0 to %d", l.name, l.n, MaxLines)
		}
	}
	sum := 0.0
	for _, p := range []struct {
		name string
		pct  float64
	}{{"reads", s.Reads}, {"try", s.Try}, {"timed", s.Timed}} {
		if math.IsNaN(p.pct) || p.pct < 0 || p.pct > 100 || (p.pct > 0 && p.pct < minPct) {
			bad("%s: %v: want a percentage, 0 or %.3g to 100", p.name, p.pct, minPct)
		}
		sum += p.pct
	}
	if sum > 100 {
		bad("reads, try and timed together are %.4g %%: want at most 100", sum)
	}
	if s.Timed > 0 && s.TimedWait <= 0 {
		bad("timed-wait: %v: want a duration above 0", s.TimedWait)
	}
	if s.Locks < 1 || s.Locks > MaxLocks {
		bad("locks: %d: want 1 to %d", s.Locks, MaxLocks)
	}
	if s.Order != "" {
		switch {
		case s.lockCount() < 2:
			bad("order: a transfer takes two different keys of several: want keys uniform:N or zipf:N:EXPONENT")
		case s.Reads+s.Try+s.Timed > 0:
			bad("order: a transfer waits for both locks: want no reads, try or timed")
		}
	}
	if len(s.Phases) > 0 && s.Arrivals.Kind != "" {
		bad("phases and arrivals together: an open loop's load is its arrival rate")
	}
	return errors.Join(errs...)
}

// lockCount is the number of locks, 1 for own keys: it is not known before the
// number of workers is.
func (s Spec) lockCount() int {
	switch s.Keys.Kind {
	case "":
		return s.Locks
	case "hot", "own":
		return 1
	}
	return s.Keys.N
}

// Load is a resolved workload: what child processes get. Integers and
// percentages only.
type Load struct {
	Name        string   `json:"name"`
	Section     Lengths  `json:"section"`
	Think       Lengths  `json:"think"`
	Hog         *Lengths `json:"hog,omitempty"`
	ReadLines   int      `json:"read_lines,omitempty"`
	WriteLines  int      `json:"write_lines,omitempty"`
	ReadPct     float64  `json:"read_pct,omitempty"`
	TryPct      float64  `json:"try_pct,omitempty"`
	TimedPct    float64  `json:"timed_pct,omitempty"`
	TimedWaitNS int64    `json:"timed_wait_ns,omitempty"`
	Locks       int      `json:"locks"`
	Zipf        float64  `json:"zipf,omitempty"`  // exponent; 0 = uniform
	Own         bool     `json:"own,omitempty"`   // each worker has a lock of its own; Locks is then the number of workers
	Order       string   `json:"order,omitempty"` // of a transfer's two locks; empty: an operation takes one
	Phases      []Phase  `json:"phases,omitempty"`
	Arrivals    string   `json:"arrivals,omitempty"` // constant, poisson; empty: closed loop
	RateOps     float64  `json:"rate_ops_s,omitempty"`
}

// Resolve turns a valid spec into a load, with the calibrated length of a
// work unit in ns.
func (s Spec) Resolve(unitNS float64) Load {
	l := Load{
		Name: s.Name, Section: s.Section.Resolve(unitNS), Think: s.Think.Resolve(unitNS),
		ReadLines: s.ReadLines, WriteLines: s.WriteLines,
		ReadPct: s.Reads, TryPct: s.Try, TimedPct: s.Timed,
		Locks: s.Locks, Zipf: s.Choice.Zipf, Phases: s.Phases,
		Arrivals: s.Arrivals.Kind, RateOps: s.Arrivals.Rate,
	}
	if s.Timed > 0 {
		l.TimedWaitNS = int64(s.TimedWait)
	}
	l.Order = string(s.Order)
	if s.Keys.Kind != "" {
		l.Locks, l.Zipf, l.Own = s.lockCount(), s.Keys.Zipf, s.Keys.Kind == "own"
	}
	if h := s.Hog.Resolve(unitNS); h.A != 0 || h.B != 0 {
		l.Hog = &h
	}
	return l
}

// General reports whether the load needs the general loop: a mix, several
// locks, or planned arrivals.
func (l Load) General() bool {
	return l.Locks > 1 || l.Own || l.ReadPct > 0 || l.TryPct > 0 || l.TimedPct > 0 || l.Arrivals != ""
}
