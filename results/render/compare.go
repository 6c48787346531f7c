package render

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/results/compare"
	"lockbench/results/stat"
)

// A ComparisonFormat is one way to write a comparison.
type ComparisonFormat struct {
	Name  string
	Help  string
	Write func(w io.Writer, c *compare.Comparison) error
}

// ComparisonFormats are all of them, the default first.
func ComparisonFormats() []ComparisonFormat {
	return []ComparisonFormat{
		{"table", "for reading in a terminal", comparisonTable},
		{"markdown", "GitHub tables", comparisonMarkdown},
		{"csv", "one row a cell and metric", comparisonCSV},
		{"json", "one object of type comparison", comparisonJSON},
	}
}

// ComparisonNames are the names of all formats of a comparison, in order.
func ComparisonNames() []string { return names(ComparisonFormats()) }

// Comparison finds a format of a comparison by its name.
func Comparison(name string) (ComparisonFormat, error) { return lookup(ComparisonFormats(), name) }

func (f ComparisonFormat) name() string { return f.Name }

// comparisonCSV writes the rows, then the cells without figures to compare, with
// an empty metric. alarms repeats in every row of a cell what went wrong in it.
// Absent figures are empty, infinite ones "inf".
func comparisonCSV(w io.Writer, c *compare.Comparison) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"cell", "lock", "workload", "workers", "control", "metric", "unit", "better", "old", "new",
		"old_reps", "new_reps", "pairs", "old_median", "new_median", "ratio", "ratio_lo", "ratio_hi", "confidence",
		"p", "p_corrected", "p_smallest_possible", "verdict", "notes", "alarms"}}
	for _, r := range c.Rows {
		l := []string{r.Cell, r.Lock, r.Workload, strconv.Itoa(r.Workers), strconv.FormatBool(r.Control), r.Metric.Name, r.Metric.Unit, r.Metric.Better.String(),
			c.Old.Label, c.New.Label, strconv.Itoa(r.Old.N), strconv.Itoa(r.New.N), "", "", "", "", "", "", "", "", "", "",
			string(r.Verdict), strings.Join(r.Notes, "; "), alarmsIn(c, r.Cell)}
		if c.Paired {
			l[12] = strconv.Itoa(r.Pairs)
		}
		if r.Old.N > 0 {
			l[13] = exact(r.Old.Median)
		}
		if r.New.N > 0 {
			l[14] = exact(r.New.Median)
		}
		if r.Ratio.N > 0 {
			l[15] = exact(r.Ratio.Center)
		}
		if r.Ratio.OK {
			l[16], l[17], l[18] = exact(r.Ratio.Lo), exact(r.Ratio.Hi), exact(r.Ratio.Confidence)
		}
		if r.P != nil {
			l[19], l[20], l[21] = exact(*r.P), exact(*r.AdjP), exact(r.MinP)
		}
		lines = append(lines, l)
	}
	for _, o := range c.OneSided {
		l := make([]string, len(lines[0]))
		l[0], l[8], l[9], l[22], l[24] = o.Cell, c.Old.Label, c.New.Label, lone(o), alarmsIn(c, o.Cell)
		lines = append(lines, l)
	}
	if err := out.WriteAll(lines); err != nil {
		return err
	}
	return out.Error()
}

// exact is a number that reads back as the same.
func exact(v float64) string {
	if math.IsInf(v, 1) {
		return "inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// lone says why a cell has no rows.
func lone(o compare.OneSided) string {
	switch {
	case o.Side == "":
		return "not compared: " + o.Reason
	case o.Reason == "":
		return "only in " + o.Side
	}
	return "figures only in " + o.Side + ": in the other, " + o.Reason
}

func alarmText(a compare.Alarm) string {
	text := fmt.Sprintf("%s in %d of %s of %s", strings.ToUpper(a.Outcome), a.K, count(a.N, "repetition"), a.Side)
	if reason := strings.TrimPrefix(strings.TrimSpace(a.Reason), a.Outcome+": "); reason != "" {
		text += ": " + cut(reason, maxAlarm)
	}
	return text
}

func alarmsIn(c *compare.Comparison, cell string) string {
	var out []string
	for _, a := range c.Alarms {
		if a.Cell == cell {
			out = append(out, alarmText(a))
		}
	}
	return strings.Join(out, "; ")
}

// jsonNumber is a figure in JSON, null if it is infinite. The zero value is
// absent, and left out.
type jsonNumber struct{ *float64 }

func (r jsonNumber) MarshalJSON() ([]byte, error) {
	if math.IsInf(*r.float64, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(*r.float64)
}

func numberIf(ok bool, v float64) jsonNumber {
	if !ok {
		return jsonNumber{}
	}
	return jsonNumber{&v}
}

type jsonSide struct {
	Label    string   `json:"label"`
	Files    []string `json:"files"`
	RunIDs   []string `json:"run_ids"`
	Host     string   `json:"host"`
	Programs []string `json:"programs"`
}

type jsonInterval struct {
	Ratio      jsonNumber `json:"ratio,omitzero"`
	Lo         jsonNumber `json:"ratio_lo,omitzero"`
	Hi         jsonNumber `json:"ratio_hi,omitzero"`
	Confidence jsonNumber `json:"confidence,omitzero"`
}

func intervalOf(i stat.Interval) jsonInterval {
	return jsonInterval{numberIf(i.N > 0, i.Center), numberIf(i.OK, i.Lo), numberIf(i.OK, i.Hi), numberIf(i.OK, i.Confidence)}
}

type jsonRow struct {
	Cell      string     `json:"cell"`
	Lock      string     `json:"lock"`
	Workload  string     `json:"workload"`
	Workers   int        `json:"workers"`
	Control   bool       `json:"control"`
	Metric    string     `json:"metric"`
	Unit      string     `json:"unit"`
	Better    string     `json:"better"`
	OldReps   int        `json:"old_reps"`
	NewReps   int        `json:"new_reps"`
	Pairs     *int       `json:"pairs,omitempty"`
	OldMedian jsonNumber `json:"old_median,omitzero"`
	NewMedian jsonNumber `json:"new_median,omitzero"`
	jsonInterval
	P       *float64 `json:"p,omitempty"`
	AdjP    *float64 `json:"p_corrected,omitempty"`
	MinP    float64  `json:"p_smallest_possible"`
	Verdict string   `json:"verdict"`
	Notes   []string `json:"notes,omitempty"`
}

type jsonAlarm struct {
	Side    string `json:"side"`
	Cell    string `json:"cell"`
	Outcome string `json:"outcome"`
	K       int    `json:"k"`
	N       int    `json:"n"`
	Reason  string `json:"reason,omitempty"`
}

type jsonLone struct {
	Cell   string `json:"cell"`
	In     string `json:"in,omitempty"` // the side that has figures
	Reason string `json:"reason,omitempty"`
}

type jsonDifference struct {
	What string `json:"what"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

type jsonDropped struct {
	Cell    string         `json:"cell"`
	Kept    int            `json:"pairs_kept"`
	Dropped map[string]int `json:"pairs_dropped"`
}

type jsonCombination struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	Old    string `json:"old"`
	New    string `json:"new"`
	Pairs  int    `json:"pairs"`
	jsonInterval
}

// comparisonJSON writes everything. Absent figures are left out; null is an
// infinite one.
func comparisonJSON(w io.Writer, c *compare.Comparison) error {
	side := func(s compare.SideInfo) jsonSide { return jsonSide(s) }
	out := struct {
		Type        string            `json:"type"`
		Paired      bool              `json:"paired"`
		Old         jsonSide          `json:"old"`
		New         jsonSide          `json:"new"`
		Alpha       float64           `json:"alpha"`
		Correction  string            `json:"correction"`
		Tests       int               `json:"tests"`
		TooFew      int               `json:"rows_too_few"`
		NeedReps    int               `json:"repetitions_needed,omitempty"`
		Rows        []jsonRow         `json:"rows"`
		Alarms      []jsonAlarm       `json:"alarms"`
		Lone        []jsonLone        `json:"cells_not_compared"`
		Differences []jsonDifference  `json:"differences"`
		Warnings    []string          `json:"warnings"`
		Dropped     []jsonDropped     `json:"pairs,omitempty"`
		Programs    []jsonCombination `json:"programs,omitempty"`
	}{
		Type: "comparison", Paired: c.Paired, Old: side(c.Old), New: side(c.New), Alpha: c.Alpha, Correction: "holm",
		Tests: c.Tests, TooFew: c.TooFew, NeedReps: c.NeedReps,
		Rows: []jsonRow{}, Alarms: []jsonAlarm{}, Lone: []jsonLone{}, Differences: []jsonDifference{},
		Warnings: append([]string{}, c.Warnings...),
	}
	for _, r := range c.Rows {
		j := jsonRow{Cell: r.Cell, Lock: r.Lock, Workload: r.Workload, Workers: r.Workers, Control: r.Control,
			Metric: r.Metric.Name, Unit: r.Metric.Unit, Better: r.Metric.Better.String(), OldReps: r.Old.N, NewReps: r.New.N,
			OldMedian: numberIf(r.Old.N > 0, r.Old.Median), NewMedian: numberIf(r.New.N > 0, r.New.Median), jsonInterval: intervalOf(r.Ratio),
			P: r.P, AdjP: r.AdjP, MinP: r.MinP, Verdict: string(r.Verdict), Notes: r.Notes}
		if c.Paired {
			j.Pairs = &r.Pairs
		}
		out.Rows = append(out.Rows, j)
	}
	for _, a := range c.Alarms {
		out.Alarms = append(out.Alarms, jsonAlarm(a))
	}
	for _, o := range c.OneSided {
		out.Lone = append(out.Lone, jsonLone{o.Cell, o.Side, o.Reason})
	}
	for _, d := range c.Notes {
		out.Differences = append(out.Differences, jsonDifference(d))
	}
	for _, d := range c.Dropped {
		out.Dropped = append(out.Dropped, jsonDropped{d.Cell, d.Kept, d.Reason})
	}
	for _, p := range c.Programs {
		out.Programs = append(out.Programs, jsonCombination{p.Cell, p.Metric, p.Old, p.New, p.Ratio.N, intervalOf(p.Ratio)})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// droppedText is "3 of 40 pairs dropped: coherence 2, outcome 1"; "" if none.
func droppedText(d compare.Dropped) string {
	total := 0
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(d.Reason)) {
		total += d.Reason[reason]
		why = append(why, fmt.Sprintf("%s %d", reason, d.Reason[reason]))
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s dropped: %s", total, count(total+d.Kept, "pair"), strings.Join(why, ", "))
}
