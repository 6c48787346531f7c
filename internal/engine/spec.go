package engine

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"lockbench/internal/cell"
	"lockbench/internal/near"
	"lockbench/lock"
	"lockbench/workloads"
)

// Spec is what a run is asked to do, defaults filled in. It is written into
// the header of the results.
type Spec struct {
	Locks     []string          `json:"locks" yaml:"locks"`               // names or globs
	Workloads []workloads.Spec  `json:"workloads" yaml:"workloads"`       // at least one
	Workers   []workloads.Count `json:"workers,omitempty" yaml:"workers"` // empty: as each workload says
	// WorkersOf is by name the workloads that are measured with several numbers
	// of workers of their own; Workers overrides it.
	WorkersOf map[string][]workloads.Count `json:"workers_of,omitempty"`
	Cores     []int                        `json:"cores,omitempty" yaml:"cores"` // empty: all that the process may use
	Pin       string                       `json:"pin" yaml:"pin"`

	Duration time.Duration `json:"duration_ns" yaml:"duration"` // of the throughput interval
	Probe    time.Duration `json:"probe_ns" yaml:"probe"`       // of the probe interval; 0: half of Duration
	Ops      int64         `json:"ops,omitempty" yaml:"ops"`    // fixed work instead of Duration
	Warmup   time.Duration `json:"warmup_ns" yaml:"warmup"`
	Reps     int           `json:"reps" yaml:"reps"`

	Seed     uint64        `json:"seed" yaml:"seed"`
	Every    int           `json:"sample_every" yaml:"sample-every"`
	Timeout  time.Duration `json:"timeout_ns" yaml:"timeout"`
	Dispatch string        `json:"dispatch" yaml:"dispatch"`

	// Remote is what distributed locks are run with.
	Remote RemoteSpec `json:"remote" yaml:"-"`

	// Runners are programs in any language that speak the cell protocol, by
	// the name of the lock that they run.
	Runners map[string]string `json:"runners,omitempty" yaml:"runners"`
}

// Pinning of workers to processors.
const (
	PinNone    = "none"
	PinCompact = "compact" // siblings and neighbours first
	PinScatter = "scatter" // as far apart as possible
)

// Limits of a spec.
const (
	MaxReps     = 10_000
	MaxInterval = time.Hour
	MaxEvery    = 1 << 20
)

// Default returns the run without flags, which takes less than half a minute
// on two cores: 8 locks x 3 workloads x 7 repetitions of some 150 ms.
func Default() Spec {
	return Spec{
		Locks:     []string{"null", "mutex", "chan", "tas", "ttas-backoff", "ticket", "mcs", "clh"},
		Workloads: presets("uncontended", "max-contention", "moderate"),
		Pin:       PinNone,
		Duration:  70 * time.Millisecond,
		Warmup:    15 * time.Millisecond,
		Reps:      7,
		Seed:      1,
		Every:     64,
		Timeout:   10 * time.Second,
		Dispatch:  cell.DispatchDirect,
		Remote:    DefaultRemote(),
	}
}

func presets(names ...string) []workloads.Spec {
	var out []workloads.Spec
	for _, p := range workloads.Presets() {
		if slices.Contains(names, p.Name) {
			out = append(out, p.Spec())
		}
	}
	return out
}

// ProbeLength returns the length of the probe interval.
func (s Spec) ProbeLength() time.Duration {
	if s.Probe > 0 {
		return s.Probe
	}
	return s.Duration / 2
}

// UsageError is a spec that cannot be run as it is: exit code 2.
type UsageError struct {
	Err  error
	Hint string
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// usage wraps an error with a hint; an unknown name brings its own.
func usage(err error, hint string) *UsageError {
	var u *near.UnknownError
	if errors.As(err, &u) {
		hint = u.Hint()
	}
	return &UsageError{Err: err, Hint: hint}
}

// Validate checks what does not depend on the catalogue. It returns a
// *UsageError for the first thing that is wrong.
func (s Spec) Validate(m Machine) error {
	interval := func(name string, d time.Duration, zero bool) error {
		if d < 0 || d > MaxInterval || (d == 0 && !zero) {
			return usage(fmt.Errorf("%s: %v: want a duration above 0, at most %v", name, d, MaxInterval), "durations have a unit, such as 100ms")
		}
		if d > 0 && d < 100*time.Microsecond {
			return usage(fmt.Errorf("%s: %v is too short to measure anything: want at least 100us", name, d), "durations have a unit, such as 100ms")
		}
		return nil
	}
	if err := errors.Join(interval("duration", s.Duration, s.Ops > 0), interval("warmup", s.Warmup, true), interval("probe", s.Probe, true)); err != nil {
		return firstUsage(err)
	}
	if s.Timeout < 100*time.Millisecond || s.Timeout > MaxInterval {
		return usage(fmt.Errorf("timeout: %v: want 100ms to %v", s.Timeout, MaxInterval), "it is how long no worker may progress before a lock counts as hung")
	}
	switch {
	case s.Ops < 0:
		return usage(fmt.Errorf("ops: %d: want a number above 0", s.Ops), "it is the number of operations of all workers together, such as 100000")
	case s.Reps < 1 || s.Reps > MaxReps:
		return usage(fmt.Errorf("reps: %d: want 1 to %d", s.Reps, MaxReps), "7 repetitions give a 95 % interval of the median")
	case s.Every < 1 || s.Every > MaxEvery:
		return usage(fmt.Errorf("sample-every: %d: want 1 to %d", s.Every, MaxEvery), "1 samples every operation")
	case s.Dispatch != cell.DispatchDirect && s.Dispatch != cell.DispatchInterface:
		return usage(fmt.Errorf("dispatch: %q: want %s or %s", s.Dispatch, cell.DispatchDirect, cell.DispatchInterface), "direct runs generated loops, interface one interface call an operation")
	case !slices.Contains([]string{PinNone, PinCompact, PinScatter}, s.Pin):
		return usage(fmt.Errorf("pin: %q: want %s, %s or %s", s.Pin, PinNone, PinCompact, PinScatter), "compact fills core after core, scatter spreads workers far apart, none leaves them to the system")
	case s.Pin != PinNone && !cell.CanPin:
		return usage(fmt.Errorf("pin: %s: this platform does not bind threads to processors", s.Pin), "use --pin none")
	case len(s.Workloads) == 0:
		return usage(errors.New("no workload"), "see: lockbench list workloads")
	case len(s.Locks) == 0 && len(s.Runners) == 0:
		return usage(errors.New("no lock"), "see: lockbench list locks")
	}
	seen := map[string]bool{}
	for _, w := range s.Workloads {
		if err := w.Validate(); err != nil {
			return usage(fmt.Errorf("workload %s: %w", w.Name, err), "see: lockbench run --help")
		}
		if seen[w.Name] {
			return usage(fmt.Errorf("two workloads are named %q", w.Name), "give each a name of its own")
		}
		seen[w.Name] = true
	}
	max := m.Cores()
	for _, n := range s.Cores {
		if n < 1 || n > max {
			return usage(fmt.Errorf("cores: %d: this process may use 1 to %d", n, max), "see: lockbench env")
		}
	}
	return s.validateRemote(m)
}

func firstUsage(err error) error {
	var u *UsageError
	if errors.As(err, &u) {
		return u
	}
	return err
}

// brokenFamily is the family of the planted bugs.
const brokenFamily = "broken"

// controlFamily is the family of the harness's own distributed locks.
const controlFamily = "control"

// CarelessFamily is that of distributed locks as people get them wrong: some let two in
// without any fault.
const CarelessFamily = "distributed/careless"

// AllDistributed is the name that stands for all distributed locks, as "all" does for
// all in-process ones.
const AllDistributed = "distributed"

// matches reports whether a pattern that is no name stands for the lock.
func matches(pattern string, i lock.Info) (bool, error) {
	switch {
	case i.Control, i.Family == brokenFamily, i.Family == controlFamily, i.Family == CarelessFamily:
		return false, nil
	}
	switch pattern {
	case "all", "*":
		return i.Dial == nil, nil
	case AllDistributed:
		return i.Dial != nil, nil
	}
	return path.Match(pattern, i.Name)
}

// Select returns the catalogue's locks that the names and globs stand for, in
// the order in which they are named, each once. Controls, planted bugs and careless
// locks match only if they are named; "all" and "*" stand for the in-process locks, which need no
// server.
func Select(catalogue []lock.Info, names []string) ([]lock.Info, error) {
	var all []string
	byName := map[string]lock.Info{}
	for _, i := range catalogue {
		all = append(all, i.Name)
		byName[i.Name] = i
	}
	sort.Strings(all)
	var out []lock.Info
	have := map[string]bool{}
	add := func(n string) {
		if !have[n] {
			have[n] = true
			out = append(out, byName[n])
		}
	}
	for _, pattern := range names {
		pattern = strings.TrimSpace(pattern)
		if _, ok := byName[pattern]; ok {
			add(pattern)
			continue
		}
		if !strings.ContainsAny(pattern, "*?[") && pattern != "all" && pattern != AllDistributed {
			return nil, usage(&near.UnknownError{What: "lock", Name: pattern, Near: near.Names(pattern, all)}, "")
		}
		matched := false
		for _, i := range catalogue {
			ok, err := matches(pattern, i)
			if err != nil {
				return nil, usage(fmt.Errorf("bad pattern %q: %w", pattern, err), "patterns have *, ? and [...]")
			}
			if ok {
				matched = true
				add(i.Name)
			}
		}
		if !matched {
			return nil, usage(fmt.Errorf("no lock matches %q", pattern), "see: lockbench list locks")
		}
	}
	return out, nil
}
