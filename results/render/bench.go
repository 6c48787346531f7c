package render

import (
	"fmt"
	"io"
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
// one line a repetition that was ok and got anything done, of cells without a
// violation: figures of an incorrect lock mean nothing. Configuration lines
// are only those that make figures incomparable, because benchstat keeps results
// with different configuration apart: the seed, say, is a comment.
func Bench(w io.Writer, rep *results.Report) error {
	out := benchfmt.NewWriter(w)
	for _, u := range benchUnits {
		err := out.Write(&benchfmt.UnitMetadata{
			UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: u.unit, Key: "better"}, OrigUnit: u.unit, Value: u.better,
		})
		if err != nil {
			return err
		}
	}
	for _, r := range rep.Runs {
		if _, err := fmt.Fprintf(w, "# %s, seed %d\n", runName(r), r.Run.Seed); err != nil {
			return err
		}
		incorrect := map[cellKey]bool{}
		for _, c := range r.Cells() {
			incorrect[cellKey{c.Cell, c.Dispatch, c.Threads, c.Pin, c.Cores, c.Clients}] = c.Outcome == results.OutcomeViolation
		}
		for _, s := range r.Samples {
			if incorrect[cellKey{s.Cell, s.Dispatch, s.Threads, s.Pin, s.Cores, s.Clients}] || s.Outcome != results.OutcomeOK || s.Ops == 0 {
				if _, err := fmt.Fprintf(w, "# no figures: %s repetition %d: %s %s\n", s.Cell, s.Rep, s.Outcome, s.Reason); err != nil {
					return err
				}
				continue
			}
			if err := out.Write(benchResult(r, s)); err != nil {
				return err
			}
		}
	}
	return nil
}

type cellKey struct {
	cell, dispatch, threads, pin string
	cores, clients               int
}

func benchResult(r *results.RunReport, s *results.Sample) *benchfmt.Result {
	res := &benchfmt.Result{Name: benchfmt.Name(benchName(s.Cell)), Iters: int(s.Ops)}
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

	add := func(v float64, unit string) {
		res.Values = append(res.Values, benchfmt.Value{Value: v, Unit: unit})
	}
	optional := func(v *float64, unit string) {
		if v != nil {
			add(*v, unit)
		}
	}
	add(s.WallNSPerOp, "ns/op")
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
	optional(s.Fairness.Jain, "jain")
	optional(s.Fairness.MaxMin, "max-min")
	optional(s.ContendedPct, "contended-%")
	return res
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
