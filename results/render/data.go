package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// JSON writes an array of summary records, one a cell, and of verdicts, one a cell of chaos, of
// all runs, and one at a time: the text of many is longer than they are. Absent
// figures of a summary are left out; null is an infinite one.
func JSON(w io.Writer, rep *results.Report) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("  ", "  ")
	enc.SetEscapeHTML(false)
	sep, end := "[\n  ", "[]\n" // an empty report is [], not null
	write := func(v any) error {
		b.Reset()
		b.WriteString(sep)
		if err := enc.Encode(v); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // Encode ends the line
		sep, end = ",\n  ", "\n]\n"
		_, err := w.Write(b.Bytes())
		return err
	}
	for _, r := range rep.Runs {
		for _, c := range r.Cells() {
			if err := write(c); err != nil {
				return fmt.Errorf("cell %s: %w", c.Cell, err)
			}
		}
		if err := chaosJSON(write, r); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, end)
	return err
}

// A field of the CSV format.
type field struct {
	name string
	get  func(c *results.CellSummary) string
}

// CSV writes one row a cell, and one a verdict of chaos. Absent figures are empty, infinite ones "inf".
// Figures are medians unless their name ends in _lo, _hi (bounds of the 95 %
// interval), _mad or _cv; acquire_max_ns and handoff_max_ns are the longest of all
// repetitions, _rep_max_ns the median of what was the longest in each.
func CSV(w io.Writer, rep *results.Report) error {
	out := csv.NewWriter(w)
	fields := append(csvFields(), remoteFields(rep)...)
	chaos := newChaosCSV(rep, fields)
	if err := out.Write(chaos.names); err != nil {
		return err
	}
	for _, r := range rep.Runs {
		for _, c := range r.Cells() {
			values := map[string]string{}
			for _, f := range fields {
				values[f.name] = f.get(c)
			}
			if err := out.Write(chaos.row(values)); err != nil {
				return err
			}
		}
		if err := out.WriteAll(chaos.rows(r)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func csvFields() []field {
	type cell = results.CellSummary
	type metrics = results.Metrics
	fields := []field{
		{"run_id", func(c *cell) string { return c.RunID }},
		{"run_interrupted", func(c *cell) string { return strconv.FormatBool(c.Interrupted) }},
		{"labels", func(c *cell) string { return labelText(c.Labels, " ") }},
		{"files", func(c *cell) string { return strings.Join(c.Files, " ") }},
		{"cell", func(c *cell) string { return c.Cell }},
		{"lock", func(c *cell) string { return c.Lock }},
		{"family", func(c *cell) string { return c.Family }},
		{"control", func(c *cell) string { return strconv.FormatBool(c.Control) }},
		{"workload", func(c *cell) string { return c.Workload }},
		{"workers", func(c *cell) string { return strconv.Itoa(c.Workers) }},
		{"cores", func(c *cell) string { return strconv.Itoa(c.Cores) }},
		{"pin", func(c *cell) string { return c.Pin }},
		{"clients", func(c *cell) string { return strconv.Itoa(c.Clients) }},
		{"dispatch", func(c *cell) string { return c.Dispatch }},
		{"threads", func(c *cell) string { return c.Threads }},
		{"rw", func(c *cell) string { return c.RW }},
		{"outcome", func(c *cell) string { return c.Outcome }},
		{"outcome_reps", func(c *cell) string { return strconv.Itoa(c.Outcomes[c.Outcome]) }},
		{"reps", func(c *cell) string { return strconv.Itoa(c.Reps) }},
		{"ok_reps", func(c *cell) string { return strconv.Itoa(c.OKReps) }},
	}
	full := func(name string, get func(*metrics) *results.Estimate) {
		of := func(f func(e *results.Estimate) *float64) func(*cell) string {
			return func(c *cell) string {
				e := get(&c.Metrics)
				if e == nil {
					return ""
				}
				return number(f(e))
			}
		}
		fields = append(fields,
			field{name, of(func(e *results.Estimate) *float64 { return &e.Median })},
			field{name + "_lo", of(func(e *results.Estimate) *float64 { return e.Lo })},
			field{name + "_hi", of(func(e *results.Estimate) *float64 { return e.Hi })},
			field{name + "_mad", of(func(e *results.Estimate) *float64 { return e.MAD })},
			field{name + "_cv", of(func(e *results.Estimate) *float64 { return e.CV })},
		)
	}
	brief := func(name string, get func(*metrics) *results.Estimate) {
		fields = append(fields, field{name, func(c *cell) string {
			if e := get(&c.Metrics); e != nil {
				return number(&e.Median)
			}
			return ""
		}})
	}
	longest := func(name string, get func(*metrics) *float64) {
		fields = append(fields, field{name, func(c *cell) string { return number(get(&c.Metrics)) }})
	}
	full("throughput_ops_s", func(m *metrics) *results.Estimate { return m.Throughput })
	full("wall_ns_per_op", func(m *metrics) *results.Estimate { return m.WallNS })
	full("cpu_ns_per_op", func(m *metrics) *results.Estimate { return m.CPUNS })
	brief("acquire_p50_ns", func(m *metrics) *results.Estimate { return m.AcquireP50 })
	brief("acquire_p90_ns", func(m *metrics) *results.Estimate { return m.AcquireP90 })
	brief("acquire_p99_ns", func(m *metrics) *results.Estimate { return m.AcquireP99 })
	brief("acquire_p999_ns", func(m *metrics) *results.Estimate { return m.AcquireP999 })
	longest("acquire_max_ns", func(m *metrics) *float64 { return m.AcquireMax })
	brief("acquire_rep_max_ns", func(m *metrics) *results.Estimate { return m.AcquireRepMax })
	brief("handoff_p50_ns", func(m *metrics) *results.Estimate { return m.HandoffP50 })
	brief("handoff_p99_ns", func(m *metrics) *results.Estimate { return m.HandoffP99 })
	longest("handoff_max_ns", func(m *metrics) *float64 { return m.HandoffMax })
	brief("handoff_rep_max_ns", func(m *metrics) *results.Estimate { return m.HandoffRepMax })
	brief("jain", func(m *metrics) *results.Estimate { return m.Jain })
	brief("max_min", func(m *metrics) *results.Estimate { return m.MaxMin })
	brief("rsd", func(m *metrics) *results.Estimate { return m.RSD })
	brief("lwss_median", func(m *metrics) *results.Estimate { return m.LWSS })
	brief("mttr_median", func(m *metrics) *results.Estimate { return m.MTTR })
	brief("contended_pct", func(m *metrics) *results.Estimate { return m.Contended })
	brief("coherence_ns", func(m *metrics) *results.Estimate { return m.Coherence })
	brief("section_measured_ns", func(m *metrics) *results.Estimate { return m.Section })
	brief("think_measured_ns", func(m *metrics) *results.Estimate { return m.Think })
	brief("section_mean_ns", func(m *metrics) *results.Estimate { return m.SectionMean })
	brief("think_mean_ns", func(m *metrics) *results.Estimate { return m.ThinkMean })
	brief("overlap_pct", func(m *metrics) *results.Estimate { return m.Overlap })
	brief("steal_pct", func(m *metrics) *results.Estimate { return m.Steal })
	brief("ctx_voluntary", func(m *metrics) *results.Estimate { return m.CtxVol })
	brief("ctx_involuntary", func(m *metrics) *results.Estimate { return m.CtxInvol })
	brief("try_failed_pct", func(m *metrics) *results.Estimate { return m.TryFailed })
	brief("timed_out_pct", func(m *metrics) *results.Estimate { return m.TimedOut })
	brief("backlog_pct", func(m *metrics) *results.Estimate { return m.Backlog })
	brief("lateness_p99_ns", func(m *metrics) *results.Estimate { return m.LatenessP99 })
	return append(fields,
		field{"offered_ops_s", func(c *cell) string {
			if c.OfferedOps == 0 {
				return ""
			}
			return number(&c.OfferedOps)
		}},
		field{"phases", phasesText},
		field{"marks", func(c *cell) string {
			var words []string
			for _, m := range c.Marks {
				words = append(words, m.String())
			}
			return strings.Join(words, "; ")
		}},
		field{"reason", func(c *cell) string { return c.Reason }},
		field{"warnings", func(c *cell) string { return strings.Join(c.Warnings, "; ") }},
		field{"modes_by_coherence", func(c *cell) string {
			if c.Modes == nil || c.Modes.ByCoherence == nil {
				return ""
			}
			return strconv.FormatBool(*c.Modes.ByCoherence)
		}},
		field{"outliers", outliersText},
	)
}

// outliersText is "REPETITION:METRIC" for each, with a space between them.
func outliersText(c *results.CellSummary) string {
	var parts []string
	for _, o := range c.Outliers {
		parts = append(parts, strconv.Itoa(o.Rep)+":"+o.Metric)
	}
	return strings.Join(parts, " ")
}

// phasesText is "WORKERS:OPS_S" for each phase, with a space between them.
func phasesText(c *results.CellSummary) string {
	var parts []string
	for _, p := range c.Phases {
		parts = append(parts, strconv.Itoa(p.Workers)+":"+number(&p.Throughput.Median))
	}
	return strings.Join(parts, " ")
}

func number(v *float64) string {
	switch {
	case v == nil:
		return ""
	case math.IsInf(*v, 1):
		return num.Infinite
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
