package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"lockbench/results"
)

// A chaosRecord is a verdict as the JSON format has it: beside it the run, which in a file is the header before it.
type chaosRecord struct {
	Type        string            `json:"type"`
	RunID       string            `json:"run_id"`
	Files       []string          `json:"files,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Interrupted bool              `json:"run_interrupted,omitempty"`
	*results.ChaosVerdict
}

// chaosRecords are the verdicts of a run, controls first.
func chaosRecords(r *results.RunReport) []chaosRecord {
	if r.Chaos == nil {
		return nil
	}
	var out []chaosRecord
	for _, v := range r.Chaos.All() {
		out = append(out, chaosRecord{results.TypeVerdict, r.Run.RunID, r.Files, r.Run.Labels, r.Interrupted, v})
	}
	return out
}

// A chaosField is a column of the CSV format.
type chaosField struct {
	name string
	get  func(v *results.ChaosVerdict) string
}

// chaosFields are the columns of verdicts. What is null is empty; times are in ms, as in the records.
func chaosFields() []chaosField {
	type verdict = results.ChaosVerdict
	whole := func(get func(*verdict) int) func(*verdict) string {
		return func(v *verdict) string { return strconv.Itoa(get(v)) }
	}
	optional := func(get func(*verdict) *int) func(*verdict) string {
		return func(v *verdict) string {
			if p := get(v); p != nil {
				return strconv.Itoa(*p)
			}
			return ""
		}
	}
	float := func(get func(*verdict) float64) func(*verdict) string {
		return func(v *verdict) string { x := get(v); return number(&x) }
	}
	fields := []chaosField{
		{"lock", func(v *verdict) string { return v.Lock }},
		{"control", func(v *verdict) string { return strconv.FormatBool(v.Control) }},
		{"kind", func(v *verdict) string { return v.Kind }},
		{"peer", func(v *verdict) string { return v.Peer }},
		{"topology", func(v *verdict) string { return v.Topology }},
		{"network", func(v *verdict) string { return v.Network }},
		{"server_version", func(v *verdict) string { return v.Version }},
		{"fault", func(v *verdict) string { return v.Fault }},
		{"on", func(v *verdict) string { return v.On }},
		{"policy", func(v *verdict) string { return v.Policy }},
		{"params", func(v *verdict) string { return paramText(v.Params) }},
		{"ttl_ms", float(func(v *verdict) float64 { return v.TTLMS })},
		{"rounds", whole(func(v *verdict) int { return v.Rounds })},
		{"felt", whole(func(v *verdict) int { return v.Felt })},
		{"probative", whole(func(v *verdict) int { return v.Probative })},
		{"injections", whole(func(v *verdict) int { return v.Injections })},
		{"verdict", func(v *verdict) string { return v.Verdict }},
		{"expected", func(v *verdict) string { return v.Expected }},
		{"agrees", func(v *verdict) string { return strconv.FormatBool(v.Agrees) }},
		{"bad_rounds", whole(func(v *verdict) int { return v.Bad })},
		{"bad_at_most_pct", func(v *verdict) string { return number(v.AtMost) }},
		{"reason", func(v *verdict) string { return v.Reason }},
		{"theory", func(v *verdict) string { return v.Theory }},
		{"note", func(v *verdict) string { return v.Note }},
		{"overlap_ms_max", float(func(v *verdict) float64 { return v.OverlapMaxMS })},
		{"overlap_running_ms_max", float(func(v *verdict) float64 { return v.OverlapRunningMaxMS })},
		{"double_grants", whole(func(v *verdict) int { return v.DoubleGrants })},
		{"stale_holders", whole(func(v *verdict) int { return v.StaleHolders })},
		{"stale_writes_unfenced", whole(func(v *verdict) int { return v.StaleUnfenced })},
		{"stale_writes_fenced", optional(func(v *verdict) *int { return v.StaleFenced })},
		{"current_rejected", optional(func(v *verdict) *int { return v.CurrentRejected })},
		{"lost_updates", func(v *verdict) string {
			if v.LostUpdates == nil {
				return ""
			}
			return strconv.FormatInt(*v.LostUpdates, 10)
		}},
	}
	timing := func(name string, get func(*verdict) *results.Timing) {
		of := func(f func(t *results.Timing) string) func(*verdict) string {
			return func(v *verdict) string {
				if t := get(v); t != nil {
					return f(t)
				}
				return ""
			}
		}
		fields = append(fields,
			chaosField{name + "_count", of(func(t *results.Timing) string { return strconv.Itoa(t.Count) })},
			chaosField{name + "_p50_ms", of(func(t *results.Timing) string { return number(&t.P50) })},
			chaosField{name + "_p99_ms", of(func(t *results.Timing) string { return number(t.P99) })},
			chaosField{name + "_max_ms", of(func(t *results.Timing) string { return number(&t.Max) })})
	}
	timing("recovery", func(v *verdict) *results.Timing { return v.Recovery })
	timing("detection_lag", func(v *verdict) *results.Timing { return v.DetectionLag })
	timing("past_deadline", func(v *verdict) *results.Timing { return v.PastDeadline })
	timing("availability_gap", func(v *verdict) *results.Timing { return v.Gap })
	return append(fields,
		chaosField{"bound_ms", func(v *verdict) string { return number(v.BoundMS) }},
		chaosField{"bound", func(v *verdict) string { return v.BoundText }},
		chaosField{"orphans", whole(func(v *verdict) int { return v.Orphans })},
		chaosField{"linearizable", func(v *verdict) string { return v.Linearizable }},
		chaosField{"seed", func(v *verdict) string { return strconv.FormatUint(v.Seed, 10) }},
		chaosField{"counterexample_file", func(v *verdict) string { return v.Counterfile }},
		chaosField{"elapsed_ms", float(func(v *verdict) float64 { return v.ElapsedMS })})
}

// paramText is "pause_ms=3000 ..." in order of the names.
func paramText(params map[string]float64) string {
	var parts []string
	for name, v := range params {
		parts = append(parts, name+"="+number(&v))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// A chaosCSV knows where the columns of verdicts stand in a table that may have cells of measurements, too.
type chaosCSV struct {
	names  []string
	fields []chaosField
}

// newChaosCSV has the columns of a report: those of cells, if there are any, and those of verdicts.
// A column that both have, such as the lock, is one.
func newChaosCSV(rep *results.Report, cells []field) *chaosCSV {
	out := &chaosCSV{}
	any, measured := false, false
	for _, r := range rep.Runs {
		any = any || r.Chaos != nil
		measured = measured || len(r.Sections) > 0
	}
	for _, f := range cells {
		if measured || !any || slices.Contains(runColumns, f.name) {
			out.names = append(out.names, f.name)
		}
	}
	if !any {
		return out
	}
	out.fields = chaosFields()
	for _, f := range out.fields {
		if !slices.Contains(out.names, f.name) {
			out.names = append(out.names, f.name)
		}
	}
	return out
}

// runColumns are those of the run, which every row has.
var runColumns = []string{"run_id", "run_interrupted", "labels", "files"}

// row puts values into their columns.
func (c *chaosCSV) row(values map[string]string) []string {
	out := make([]string, len(c.names))
	for i, name := range c.names {
		out[i] = values[name]
	}
	return out
}

// rows are those of a run's verdicts, controls first.
func (c *chaosCSV) rows(r *results.RunReport) [][]string {
	var out [][]string
	for _, v := range chaosRecords(r) {
		values := map[string]string{
			"run_id": v.RunID, "run_interrupted": strconv.FormatBool(v.Interrupted), "labels": labelText(v.Labels, " "), "files": strings.Join(v.Files, " "),
		}
		for _, f := range c.fields {
			values[f.name] = f.get(v.ChaosVerdict)
		}
		out = append(out, c.row(values))
	}
	return out
}

// chaosJSON writes the verdicts of a run, each after a separator.
func chaosJSON(write func(v any) error, r *results.RunReport) error {
	for _, v := range chaosRecords(r) {
		if err := write(v); err != nil {
			return fmt.Errorf("verdict %s: %w", v.Cell(), err)
		}
	}
	return nil
}

// chaosBenchUnits are units that benchstat does not know.
var chaosBenchUnits = []struct{ unit, better string }{{"recovery-p50-ns", "lower"}, {"recovery-max-ns", "lower"}}

// chaosBench writes a line for each cell that came to a verdict and has a recovery: the median is one
// figure of a run, so that benchstat compares runs, of which it wants several. Where two were inside, the next grant is no
// recovery, and there is no line.
func chaosBench(w io.Writer, out *benchfmt.Writer, r *results.RunReport) error {
	if r.Chaos == nil {
		return nil
	}
	for _, v := range r.Chaos.Verdicts {
		if v.Recovery == nil || v.Bad > 0 || !v.Judged() {
			if _, err := fmt.Fprintf(w, "# no figures: %s: %s %s\n", v.Cell(), v.Verdict, v.Reason); err != nil {
				return err
			}
			continue
		}
		res := &benchfmt.Result{Name: benchfmt.Name(benchName(v.Cell())), Iters: v.Recovery.Count, Values: []benchfmt.Value{
			{Value: v.Recovery.P50 * 1e6, Unit: "recovery-p50-ns"}, {Value: v.Recovery.Max * 1e6, Unit: "recovery-max-ns"},
		}}
		for _, kv := range []struct{ key, value string }{{"goos", r.Run.Go.GOOS}, {"goarch", r.Run.Go.GOARCH}, {"pkg", "lockbench"},
			{"cpu", r.Host.CPUModel}, {"server", strings.TrimSpace(v.Topology + " " + v.Version)}} {
			if kv.value != "" {
				res.SetConfig(kv.key, kv.value)
				i, _ := res.ConfigIndex(kv.key)
				res.Config[i].File = true // else the Writer keeps it to itself
			}
		}
		if err := out.Write(res); err != nil {
			return err
		}
	}
	return nil
}
