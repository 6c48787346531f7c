package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"lockbench/backends"
	"lockbench/internal/engine"
	"lockbench/internal/yamldoc"
	"lockbench/workloads"
)

// maxSpecFile bounds a settings file, in bytes.
const maxSpecFile = 1 << 20

const hintFile = "-f wants a YAML file, see README.md"

// A specFile is what a settings file says, over the defaults in spec.
type specFile struct {
	given  []string // scalar keys so far
	spec   engine.Spec
	labels map[string]string
	// backends are URLs by service, passwords included.
	backends map[string]string
	// check reports what is wrong with a spec that has one setting of the file,
	// so that the error can have its place; nil checks nothing.
	check func(engine.Spec) error
}

// read reads the settings in the YAML file at path.
func (f *specFile) read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return usageErr(fmt.Errorf("read settings: %w", err), hintFile)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxSpecFile+1))
	if err != nil {
		return usageErr(fmt.Errorf("read settings: %w", err), hintFile)
	}
	if len(b) > maxSpecFile {
		return usageErr(fmt.Errorf("read settings: %s is larger than %d bytes", path, maxSpecFile), hintFile)
	}
	return f.decode(path, b)
}

// decode decodes the settings in b. An error has line and column.
func (f *specFile) decode(name string, b []byte) error {
	err := f.document(b)
	if err == nil {
		return nil
	}
	var at *yamldoc.Error
	if !errors.As(err, &at) {
		return usageErr(fmt.Errorf("%s: %w", name, err), hintFile)
	}
	return usageErr(fmt.Errorf("%s:%w", name, at), at.Tip)
}

// at places an error at a node, with the hint of engine's errors.
func at(n ast.Node, err error, hint string) error {
	var usage *engine.UsageError
	if errors.As(err, &usage) {
		hint = usage.Hint
	}
	return yamldoc.At(n, err, hint)
}

func (f *specFile) document(b []byte) error {
	n, body, err := yamldoc.Parse(b, hintFile, "one file is one run: put the settings into one document")
	if err != nil {
		return err
	}
	if body == nil {
		return errors.New("the file has no settings")
	}
	keys := slices.Concat(yamldoc.Keys(engine.Spec{}), yamldoc.Keys(engine.RemoteSpec{}), []string{"labels"})
	return n.Mapping(body, "the settings", "reps: 3", keys, func(key string, v ast.Node) error { return f.set(n, key, v) })
}

// set sets one key of the file, and checks it by itself.
func (f *specFile) set(n yamldoc.Nodes, key string, v ast.Node) error {
	switch key {
	case "labels":
		f.labels = map[string]string{}
		return n.Mapping(v, key, "key: value", nil, func(k string, v ast.Node) (err error) { f.labels[k], err = n.Scalar(v); return err })
	case "runners":
		f.spec.Runners = map[string]string{}
		return n.Mapping(v, key, "key: value", nil, func(k string, v ast.Node) (err error) { f.spec.Runners[k], err = n.Scalar(v); return err })
	case "backends":
		f.backends = map[string]string{}
		return n.Mapping(v, key, "redis: tc", nil, func(k string, v ast.Node) (err error) {
			if f.backends[k], err = n.Scalar(v); err != nil {
				return err
			}
			if url := f.backends[k]; url != "tc" {
				if _, err := backends.ParseURL(k, url); err != nil {
					return at(v, fmt.Errorf("backends: %w", err), hintBackend)
				}
			}
			return nil
		})
	case "images":
		return n.Mapping(v, key, "redis: NAME", nil, func(k string, v ast.Node) error {
			name, err := n.Scalar(v)
			if err != nil {
				return err
			}
			if err := setImage(&f.spec.Remote, k, name); err != nil {
				return at(v, fmt.Errorf("images: %w", err), hintImage)
			}
			return nil
		})
	case "workloads":
		return f.workloads(n, v)
	case "locks", "workers", "cores", "clients", "topologies":
		return f.list(n, key, v)
	}
	text, err := n.Scalar(v)
	if err != nil {
		return err
	}
	f.given = append(f.given, key)
	if slices.Contains(f.given, "ops") && (slices.Contains(f.given, "duration") || slices.Contains(f.given, "probe")) {
		return at(v, errors.New("ops and duration or probe exclude each other"), "ops fixes the work, duration the time")
	}
	one := engine.Default()
	if err := setScalar(&one, key, text); err != nil {
		return at(v, fmt.Errorf("%s: %q: %w", key, text, err), "a value as after --"+key+", see: lockbench run --help")
	}
	if err := f.checked(one); err != nil {
		return at(v, err, "")
	}
	return setScalar(&f.spec, key, text)
}

func (f *specFile) checked(s engine.Spec) error {
	if f.check == nil {
		return nil
	}
	return f.check(s)
}

// setScalar sets a setting that is one value.
func setScalar(s *engine.Spec, key, text string) (err error) {
	duration := func(p *time.Duration) {
		if *p, err = time.ParseDuration(text); err != nil {
			err = errors.New("want a duration with a unit, such as 100ms")
		}
	}
	number := func(p *int) {
		if *p, err = strconv.Atoi(text); err != nil {
			err = errors.New("want an integer")
		}
	}
	r := &s.Remote
	boolean := func(p *bool) {
		if *p, err = strconv.ParseBool(text); err != nil {
			err = errors.New("want true or false")
		}
	}
	switch key {
	case "ttl":
		duration(&r.TTL)
	case "renew":
		boolean(&r.Renew)
	case "fence":
		boolean(&r.Fence)
	case "wait-min":
		duration(&r.WaitMin)
		r.WaitMax = max(r.WaitMax, r.WaitMin)
	case "wait-max":
		duration(&r.WaitMax)
	case "jitter":
		if r.Jitter, err = strconv.ParseFloat(text, 64); err != nil {
			err = errors.New("want a number from 0 to 1")
		}
	case "acquire-timeout":
		duration(&r.AcquireTimeout)
	case "on-timeout":
		r.OnTimeout = text
	case "reentrant":
		number(&r.Depth)
	case "network":
		r.Network = text
	case "pin":
		s.Pin = text
	case "dispatch":
		s.Dispatch = text
	case "duration":
		duration(&s.Duration)
		r.Duration = s.Duration
	case "probe":
		duration(&s.Probe)
	case "warmup":
		duration(&s.Warmup)
		r.Warmup = s.Warmup
	case "timeout":
		duration(&s.Timeout)
	case "reps":
		number(&s.Reps)
	case "sample-every":
		number(&s.Every)
	case "ops":
		if s.Ops, err = strconv.ParseInt(text, 10, 64); err != nil || s.Ops < 1 {
			err = errors.New("want a number of operations above 0")
		}
	case "seed":
		if s.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			err = errors.New("want an integer from 0 to 2^64-1")
		}
	default:
		err = fmt.Errorf("this version cannot set %s in a file", key)
	}
	return err
}

// list sets a setting that is a list, or a scalar with commas as on the command
// line.
func (f *specFile) list(n yamldoc.Nodes, key string, v ast.Node) error {
	items, err := n.List(v)
	if err != nil {
		return err
	}
	var locks, tops []string
	var clients []int
	var workers []workloads.Count
	var cores []int
	for _, item := range items {
		text, err := n.Scalar(item)
		if err != nil {
			return err
		}
		one := engine.Default()
		parts := strings.Split(text, ",")
		switch key {
		case "locks":
			one.Locks, locks = parts, append(locks, parts...)
		case "workers":
			one.Workers, err = parseCounts(parts)
			workers = append(workers, one.Workers...)
		case "cores":
			one.Cores, err = parseInts(parts)
			cores = append(cores, one.Cores...)
		case "clients":
			one.Remote.Clients, err = parseInts(parts)
			clients = append(clients, one.Remote.Clients...)
		case "topologies":
			one.Remote.Topologies, tops = parts, append(tops, parts...)
		}
		if err != nil {
			return at(item, fmt.Errorf("%s: %w", key, err), "numbers, or ranges such as 1:4")
		}
		if err := f.checked(one); err != nil {
			return at(item, err, "")
		}
	}
	if len(items) == 0 {
		return at(v, fmt.Errorf("%s: an empty list", key), "leave the key out for the default")
	}
	switch key {
	case "locks":
		f.spec.Locks = locks
	case "workers":
		f.spec.Workers = workers
	case "cores":
		f.spec.Cores = cores
	case "clients":
		f.spec.Remote.Clients = clients
	case "topologies":
		f.spec.Remote.Topologies = tops
	}
	return nil
}

// workloads sets the workloads: each the name of a preset or a pattern, or a map
// with a name, a base and knobs.
func (f *specFile) workloads(n yamldoc.Nodes, v ast.Node) error {
	items, err := n.List(v)
	if err != nil {
		return err
	}
	f.spec.Workloads, f.spec.WorkersOf = nil, nil
	for _, item := range items {
		if n.IsMapping(item) {
			w, counts, err := workloadOf(n, item)
			if err != nil {
				return err
			}
			f.spec.Workloads = append(f.spec.Workloads, w)
			if len(counts) > 1 {
				if f.spec.WorkersOf == nil {
					f.spec.WorkersOf = map[string][]workloads.Count{}
				}
				f.spec.WorkersOf[w.Name] = counts
			}
			continue
		}
		text, err := n.Scalar(item)
		if err != nil {
			return err
		}
		ws, err := workloads.Select(strings.Split(text, ","))
		if err != nil {
			return at(item, err, "see: lockbench list workloads")
		}
		f.spec.Workloads = append(f.spec.Workloads, ws...)
	}
	if len(items) == 0 {
		return at(v, errors.New("workloads: an empty list"), "leave the key out for the default")
	}
	return nil
}

// workloadOf decodes a map of knobs. counts are its numbers of workers, if it has
// any of its own.
func workloadOf(n yamldoc.Nodes, v ast.Node) (w workloads.Spec, counts []workloads.Count, err error) {
	keys, values := yamldoc.Keys(workloads.Spec{}), map[string]ast.Node{}
	err = n.Mapping(v, "a workload", "name: mine", keys, func(key string, v ast.Node) error { values[key] = v; return nil })
	if err != nil {
		return w, nil, err
	}
	text := func(key, fallback string) (string, error) {
		if values[key] == nil {
			return fallback, nil
		}
		return n.Scalar(values[key])
	}
	base, err := text("base", "uncontended")
	if err != nil {
		return w, nil, err
	}
	w, err = workloads.Get(base)
	if err != nil {
		return w, nil, at(values["base"], err, "")
	}
	name, err := text("name", "")
	if err != nil {
		return w, nil, err
	}
	if name == "" {
		return w, nil, at(v, errors.New("a workload with knobs needs a name"), "add a key name")
	}
	for _, key := range keys {
		if values[key] == nil || key == "name" || key == "base" {
			continue
		}
		if key == "workers" {
			if counts, err = countsOf(n, values[key]); err != nil {
				return w, nil, err
			}
			w.Workers = counts[0]
			continue
		}
		s, err := n.Scalar(values[key])
		if err != nil {
			return w, nil, err
		}
		if err := w.Set(key, s); err != nil {
			return w, nil, at(values[key], err, knobHelp(key))
		}
		one, _ := workloads.Get("uncontended") // the knob by itself has a place to blame
		if one.Set(key, s) == nil {
			if err := one.Validate(); err != nil {
				return w, nil, at(values[key], err, knobHelp(key))
			}
		}
	}
	w.Name, w.Base = name, base
	if err := w.Validate(); err != nil {
		return w, nil, at(v, fmt.Errorf("workload %s: %w", name, err), "")
	}
	return w, counts, nil
}

func knobHelp(key string) string {
	for _, k := range workloads.Knobs() {
		if k.Name == key {
			return k.Help
		}
	}
	return ""
}

// countsOf decodes numbers of workers: a list, or a scalar with commas.
func countsOf(n yamldoc.Nodes, v ast.Node) ([]workloads.Count, error) {
	items, err := n.List(v)
	if err != nil {
		return nil, err
	}
	var counts []workloads.Count
	for _, item := range items {
		text, err := n.Scalar(item)
		if err != nil {
			return nil, err
		}
		some, err := parseCounts(strings.Split(text, ","))
		if err != nil {
			return nil, at(item, fmt.Errorf("workers: %w", err), "numbers, ranges such as 1:4, all, or multiples of the cores such as 0.5x")
		}
		counts = append(counts, some...)
	}
	if len(counts) == 0 {
		return nil, at(v, errors.New("workers: an empty list"), "leave the key out for the workload's own number")
	}
	return counts, nil
}
