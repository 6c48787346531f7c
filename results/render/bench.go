package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"lockbench/results"
)

// benchUnits says which direction is better, where benchstat does not know.
var benchUnits = []struct{ unit, better string }{
	{"ops/s", "higher"}, {"jain", "higher"}, {"max-min", "lower"},
}

// Bench writes the Go benchmark format (https://go.dev/design/14313-benchmark-format):
// one line a repetition that was ok, of cells without a violation: figures of an
// incorrect lock mean nothing. A repetition without an operation is a line, too,
// or only the lucky ones of a lock that collapses would be compared: its ops/s is
// 0, and its ns/op the whole interval, which is less than an operation took. For
// the same reason max-min counts a worker that got nothing as one that got 1, and
// a figure that one of a cell's ok repetitions lacks is left out of all.
//
// Configuration lines are only those that make figures incomparable, because
// benchstat keeps results with different configuration apart: the seed, say, is a
// comment.
func Bench(w io.Writer, rep *results.Report) error {
	out := benchfmt.NewWriter(w)
	units := benchUnits
	if hasSection(rep, (*results.Section).Distributed) {
		units = slices.Concat(units, remoteBenchUnits)
	}
	if slices.ContainsFunc(rep.Runs, func(r *results.RunReport) bool { return r.Chaos != nil }) {
		units = slices.Concat(units, chaosBenchUnits)
	}
	for _, u := range units {
		err := out.Write(&benchfmt.UnitMetadata{
			UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: u.unit, Key: "better"}, OrigUnit: u.unit, Value: u.better,
		})
		if err != nil {
			return err
		}
	}
	for _, r := range rep.Runs {
		if err := benchComments(w, r); err != nil {
			return err
		}
		incorrect, units := map[cellKey]bool{}, map[cellKey]map[string]int{}
		for _, s := range r.Samples {
			k := keyOf(s)
			incorrect[k] = incorrect[k] || s.Outcome == results.OutcomeViolation
			if s.Outcome != results.OutcomeOK {
				continue
			}
			if units[k] == nil {
				units[k] = map[string]int{}
			}
			units[k][""]++ // the repetitions
			for _, v := range benchValues(s) {
				units[k][v.Unit]++
			}
		}
		for _, s := range r.Samples {
			k := keyOf(s)
			if incorrect[k] || s.Outcome != results.OutcomeOK {
				if _, err := fmt.Fprintf(w, "# no figures: %s repetition %d: %s %s\n", s.Cell, s.Rep, s.Outcome, s.Reason); err != nil {
					return err
				}
				continue
			}
			if s.Ops == 0 {
				if _, err := fmt.Fprintf(w, "# no operation: %s repetition %d: ns/op is the whole interval, a lower bound\n", s.Cell, s.Rep); err != nil {
					return err
				}
			}
			res := benchResult(r, s)
			res.Values = slices.DeleteFunc(benchValues(s), func(v benchfmt.Value) bool { return units[k][v.Unit] < units[k][""] })
			if err := out.Write(res); err != nil {
				return err
			}
		}
		if err := chaosBench(w, out, r); err != nil {
			return err
		}
	}
	return nil
}

// benchComments say which run follows.
func benchComments(w io.Writer, r *results.RunReport) error {
	text := fmt.Sprintf("# %s, seed %d\n", runName(r), r.Run.Seed)
	if labels := labelsOf(r); labels != "" {
		text += "# labels: " + labels + "\n"
	}
	if r.Interrupted {
		text += "# the run was interrupted: repetitions are missing\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

type cellKey struct {
	cell, dispatch, threads, pin string
	cores, clients               int
}

func keyOf(s *results.Sample) cellKey {
	return cellKey{s.Cell, s.Dispatch, s.Threads, s.Pin, s.Cores, s.Clients}
}

func benchResult(r *results.RunReport, s *results.Sample) *benchfmt.Result {
	res := &benchfmt.Result{Name: benchfmt.Name(benchName(s.Cell)), Iters: int(max(1, s.Ops))}
	config := func(key, value string) {
		if value != "" {
			res.SetConfig(key, value)
			i, _ := res.ConfigIndex(key)
			res.Config[i].File = true // else the Writer keeps it to itself
		}
	}
	config("goos", r.Run.Go.GOOS)
	config("goarch", r.Run.Go.GOARCH)
	config("pkg", "lockbench")
	config("cpu", r.Host.CPUModel)
	config("dispatch", s.Dispatch)
	config("threads", s.Threads)
	if s.Remote != nil {
		config("server", benchServer(s.Remote))
	}
	return res
}

// benchValues are the figures that a repetition has.
func benchValues(s *results.Sample) []benchfmt.Value {
	var out []benchfmt.Value
	add := func(v float64, unit string) { out = append(out, benchfmt.Value{Value: v, Unit: unit}) }
	optional := func(v *float64, unit string) {
		if v != nil {
			add(*v, unit)
		}
	}
	add(float64(s.ElapsedNS)/float64(max(1, s.Ops)), "ns/op")
	if s.CPUNSPerOp > 0 {
		add(s.CPUNSPerOp, "cpu-ns/op")
	}
	add(s.ThroughputOps, "ops/s")
	latency := func(name string, l *results.Latency) {
		if l != nil && l.Count > 0 {
			add(float64(l.P50), name+"-p50-ns")
			add(float64(l.P99), name+"-p99-ns")
			add(float64(l.Max), name+"-max-ns")
		}
	}
	latency("acquire", s.Acquire)
	latency("handoff", s.Handoff)
	if s.Remote != nil {
		latency("release", s.Remote.Release)
		out = append(out, remoteBenchValues(s)...)
	}
	optional(s.Fairness.Jain, "jain")
	optional(s.Fairness.MaxMin, "max-min")
	if s.Fairness.MaxMin == nil && s.Ops > 0 && len(s.PerWorkerOps) > 1 {
		add(float64(slices.Max(s.PerWorkerOps))/float64(max(1, slices.Min(s.PerWorkerOps))), "max-min")
	}
	optional(s.ContendedPct, "contended-%")
	return out
}

// benchName makes a cell name one that go test could print: no white space, and
// no lower-case letter after "Benchmark", which go test takes for a name such as
// Benchmarking.
func benchName(cell string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, cell)
	first, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[n:]
}
