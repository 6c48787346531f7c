package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/engine"
	"lockbench/workloads"
)

// specFlags are the flags that make a spec: of every verb that measures, and of
// plan.
type specFlags struct {
	set *pflag.FlagSet

	locks, workloads, workers, cores, runners []string
	file                                      string
	knobs                                     map[string]*string
	base                                      engine.Spec // what holds without flags
	spec                                      engine.Spec // scalar flags write here
	seed                                      uint64
	pin, dispatch                             string
	oversubscribe                             float64
	labels                                    map[string]string // of the file
	remote                                    remoteFlags
}

func (a *app) addSpecFlags(cmd *cobra.Command, d engine.Spec) *specFlags {
	f := &specFlags{set: cmd.Flags(), knobs: map[string]*string{}, spec: d, base: d}
	fs := f.set
	fs.SortFlags = false
	fs.StringSliceVar(&f.locks, "lock", d.Locks, "locks: names, commas, globs, or all")
	fs.StringSliceVar(&f.workloads, "workload", nil, "workloads: names of presets, commas, globs, or all (default uncontended,max-contention,moderate)")
	fs.StringSliceVar(&f.workers, "workers", nil, "numbers of workers: 1,2,4 or 1:8, all (the cores, at least 2), or a multiple of the cores such as 4x, rounded (default: the workload's)")
	fs.StringSliceVar(&f.cores, "cores", nil, "numbers of cores, affinity mask and GOMAXPROCS together: 1,2 or 1:2 (default: all)")
	fs.StringVar(&f.pin, "pin", d.Pin, "pin workers to processors: none, compact or scatter")
	fs.DurationVar(&f.spec.Duration, "duration", d.Duration, "length of the throughput interval")
	fs.DurationVar(&f.spec.Probe, "probe", 0, "length of the probe interval, which samples latency and order (default: half the duration)")
	fs.Int64Var(&f.spec.Ops, "ops", 0, "fixed work instead of a duration: operations of all workers together; the time is the slowest worker's")
	fs.DurationVar(&f.spec.Warmup, "warmup", d.Warmup, "length of the warm-up")
	fs.IntVar(&f.spec.Reps, "reps", d.Reps, "repetitions, each in a fresh process")
	fs.Uint64Var(&f.seed, "seed", d.Seed, "seed of the order of cells and of all random lengths")
	fs.IntVar(&f.spec.Every, "sample-every", d.Every, "sample the latency of one operation in so many")
	fs.DurationVar(&f.spec.Timeout, "timeout", d.Timeout, "a lock hangs if no worker progresses for so long")
	fs.StringVar(&f.dispatch, "dispatch", d.Dispatch, "direct (generated loops) or interface (one interface call an operation)")
	fs.StringArrayVar(&f.runners, "runner", nil, "NAME=PATH: measure a program that speaks the cell protocol, as a lock of that name")
	fs.StringVarP(&f.file, "file", "f", "", "YAML file with a whole matrix; flags override it")
	for _, k := range workloads.Knobs() {
		f.knobs[k.Name] = new(string)
		fs.Var(&textValue{p: f.knobs[k.Name], typ: k.Value}, k.Name, "workload: "+k.Help)
	}
	fs.Float64Var(&f.oversubscribe, "oversubscribe", 0, "workload: so many workers a core, short for --workers Nx")
	f.addRemote(cmd)
	a.completeSpec(cmd)
	return f
}

// textValue is a flag whose text is parsed later.
type textValue struct {
	p   *string
	typ string
}

func (v *textValue) String() string     { return "" }
func (v *textValue) Set(s string) error { *v.p = s; return nil }
func (v *textValue) Type() string       { return v.typ }

// build makes the spec: defaults, then the file, then the flags that were given.
// check finds what is wrong with a spec.
func (f *specFlags) build(check func(engine.Spec) error) (engine.Spec, error) {
	s := f.base
	if f.set.Changed("file") {
		file := specFile{spec: s, check: check}
		if err := file.read(f.file); err != nil {
			return s, err
		}
		s, f.labels = file.spec, file.labels
		for service, url := range file.backends {
			if err := f.setBackend(&s.Remote, service, url); err != nil {
				return s, usageErr(fmt.Errorf("%s: backends: %w", f.file, err), hintBackend)
			}
		}
	}
	changed := f.set.Changed
	if changed("lock") {
		s.Locks = f.locks
	}
	if changed("workload") {
		ws, err := workloads.Select(f.workloads)
		if err != nil {
			return s, usageErr(err, "see: lockbench list workloads")
		}
		s.Workloads = ws
	}
	for _, k := range workloads.Knobs() {
		if !changed(k.Name) {
			continue
		}
		for i := range s.Workloads {
			if err := s.Workloads[i].Set(k.Name, *f.knobs[k.Name]); err != nil {
				return s, usageErr(fmt.Errorf("--%w", err), k.Help)
			}
		}
	}
	var err error
	if changed("workers") && len(f.workers) == 0 || changed("cores") && len(f.cores) == 0 {
		return s, usageErr(errors.New("--workers and --cores want at least one number"), "numbers, or ranges such as 1:4")
	}
	if changed("workers") {
		if s.Workers, err = parseCounts(f.workers); err != nil {
			return s, usageErr(fmt.Errorf("--workers: %w", err), "numbers, ranges such as 1:8, all, or multiples of the cores such as 4x")
		}
	}
	if changed("oversubscribe") {
		if changed("workers") {
			return s, usageErr(fmt.Errorf("--oversubscribe and --workers exclude each other"), "--workers 4x means the same as --oversubscribe 4")
		}
		c, err := workloads.ParseCount(strconv.FormatFloat(f.oversubscribe, 'g', -1, 64) + "x")
		if err != nil {
			return s, usageErr(fmt.Errorf("--oversubscribe: %w", err), "a number of workers a core, such as 4")
		}
		s.Workers = []workloads.Count{c}
	}
	if changed("cores") {
		if s.Cores, err = parseInts(f.cores); err != nil {
			return s, usageErr(fmt.Errorf("--cores: %w", err), "numbers, or ranges such as 1:4")
		}
	}
	for name, set := range map[string]func(){
		"pin": func() { s.Pin = f.pin }, "duration": func() { s.Duration = f.spec.Duration },
		"probe": func() { s.Probe = f.spec.Probe }, "ops": func() { s.Ops = f.spec.Ops },
		"warmup": func() { s.Warmup = f.spec.Warmup }, "reps": func() { s.Reps = f.spec.Reps },
		"seed": func() { s.Seed = f.seed }, "sample-every": func() { s.Every = f.spec.Every },
		"timeout": func() { s.Timeout = f.spec.Timeout }, "dispatch": func() { s.Dispatch = f.dispatch },
	} {
		if changed(name) {
			set()
		}
	}
	if s.Ops > 0 && !changed("ops") && (changed("duration") || changed("probe")) {
		s.Ops = 0 // the file's, which the flag overrides
	}
	if changed("ops") {
		if changed("duration") || changed("probe") {
			return s, usageErr(fmt.Errorf("--ops and --duration or --probe exclude each other"), "--ops fixes the work, --duration the time")
		}
		if s.Ops <= 0 {
			return s, usageErr(fmt.Errorf("--ops: %d: want a number above 0", s.Ops), "--ops is the number of operations of all workers together, such as 100000")
		}
	}
	if err := f.setRemote(&s.Remote); err != nil {
		return s, err
	}
	if s.Ops > 0 {
		s.Duration, s.Probe = 0, 0
	}
	for _, r := range f.runners {
		name, path, ok := strings.Cut(r, "=")
		if !ok || name == "" || path == "" {
			return s, usageErr(fmt.Errorf("--runner: %q: want NAME=PATH", r), "for instance --runner toy=./toy-runner")
		}
		if s.Runners == nil {
			s.Runners = map[string]string{}
		}
		s.Runners[name] = path
	}
	if len(f.runners) > 0 && !changed("lock") && !changed("file") {
		s.Locks = nil // the runners alone, beside null
	}
	return s, nil
}

func usageErr(err error, hint string) error {
	return &engine.UsageError{Err: err, Hint: hintOf(err, hint)}
}

// hintOf returns the error's own hint, or the given one.
func hintOf(err error, hint string) string {
	for e := err; e != nil; {
		if h, ok := e.(hinted); ok && h.Hint() != "" {
			return h.Hint()
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		e = u.Unwrap()
	}
	return hint
}

// parseCounts parses numbers of workers: each element a count or a range.
func parseCounts(parts []string) ([]workloads.Count, error) {
	var out []workloads.Count
	for _, p := range parts {
		if lo, hi, ok, err := parseRange(p); err != nil {
			return nil, err
		} else if ok {
			for n := lo; n <= hi; n++ {
				out = append(out, workloads.Count{N: n})
			}
			continue
		}
		c, err := workloads.ParseCount(p)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func parseInts(parts []string) ([]int, error) {
	var out []int
	for _, p := range parts {
		if lo, hi, ok, err := parseRange(p); err != nil {
			return nil, err
		} else if ok {
			for n := lo; n <= hi; n++ {
				out = append(out, n)
			}
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil {
			return nil, fmt.Errorf("bad number %q", p)
		}
		out = append(out, n)
	}
	return out, nil
}

// parseRange parses "lo:hi"; ok is false if s is no range.
func parseRange(s string) (lo, hi int, ok bool, err error) {
	a, b, ok := strings.Cut(strings.TrimSpace(s), ":")
	if !ok {
		return 0, 0, false, nil
	}
	lo, err1 := strconv.Atoi(a)
	hi, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil || lo < 1 || hi < lo || hi > workloads.MaxWorkers {
		return 0, 0, false, fmt.Errorf("bad range %q: want LOW:HIGH with 1 <= LOW <= HIGH <= %d", s, workloads.MaxWorkers)
	}
	return lo, hi, true, nil
}

// parseLabels parses k=v pairs.
func parseLabels(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, usageErr(fmt.Errorf("--label: %q: want KEY=VALUE", p), "for instance --label branch=main")
		}
		if _, twice := out[k]; twice {
			return nil, usageErr(fmt.Errorf("--label: %q is given twice", k), "give each label a key of its own")
		}
		out[k] = v
	}
	return out, nil
}
