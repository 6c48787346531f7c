package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"lockbench/results"
)

// A Report is what was measured together: figures that are held against a target, and what is told beside them.
type Report struct {
	Figures []Figure
	Notes   []Figure // without target: Op and Limit mean nothing
	Remarks []string // in words, a line each
}

// Add takes what another report has behind its own.
func (r *Report) Add(o Report) {
	r.Figures, r.Notes, r.Remarks = append(r.Figures, o.Figures...), append(r.Notes, o.Notes...), append(r.Remarks, o.Remarks...)
}

// Remark adds a line in words. Whatever is in it, it is one that a terminal shows.
func (r *Report) Remark(format string, args ...any) {
	r.Remarks = append(r.Remarks, oneLine(fmt.Sprintf(format, args...)))
}

// Note is a figure without target.
func Note(name, unit string) Figure { return Figure{Name: name, Unit: unit} }

// measured reports whether there is a value.
func (f Figure) measured() bool { return f.N > 0 && f.Err == nil }

// told is a note as a line for people.
func told(f Figure) string {
	if !f.measured() {
		return fmt.Sprintf("not measured: %s; no target", f.reason())
	}
	h := f.How
	if h == "" {
		h = "95 % interval"
	}
	return fmt.Sprintf("%.4g %s, %s %.4g to %.4g, %d measurements, no target", f.Value, f.Unit, h, f.Lo, f.Hi, f.N)
}

// jsonFigure is a line of JSON.
type jsonFigure struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Value  *float64 `json:"value,omitempty"` // absent: not measured
	Lo     *float64 `json:"lo,omitempty"`
	Hi     *float64 `json:"hi,omitempty"`
	N      int      `json:"n"`
	Op     string   `json:"op,omitempty"` // absent: no target
	Limit  *float64 `json:"limit,omitempty"`
	OK     *bool    `json:"ok,omitempty"`
	Reason string   `json:"reason,omitempty"` // why it was not measured
}

func toJSON(f Figure, target bool) jsonFigure {
	j := jsonFigure{Name: f.Name, Unit: f.Unit, N: f.N}
	if f.measured() {
		j.Value, j.Lo, j.Hi = &f.Value, &f.Lo, &f.Hi
	} else if f.Err != nil {
		j.Reason = f.Err.Error()
	}
	if target {
		ok := f.OK()
		j.Op, j.Limit, j.OK = f.Op.String(), &f.Limit, &ok
	}
	return j
}

// PrintJSON writes an object a line: remarks, notes, then figures.
func (r Report) PrintJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var lines []any
	for _, s := range r.Remarks {
		lines = append(lines, struct {
			Remark string `json:"remark"`
		}{s})
	}
	for _, f := range r.Notes {
		lines = append(lines, toJSON(f, false))
	}
	for _, f := range r.Figures {
		lines = append(lines, toJSON(f, true))
	}
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// Print writes what was measured, for people: remarks and notes, then the figures, whose lines for programs come last.
func (r Report) Print(w io.Writer) error {
	for _, s := range r.Remarks {
		fmt.Fprintln(w, s)
	}
	for _, f := range r.Notes {
		fmt.Fprintf(w, "%-32s %s\n", f.Name, told(f))
	}
	for _, f := range r.Figures {
		fmt.Fprintf(w, "%-32s %s\n", f.Name, f.Detail())
	}
	for _, f := range r.Figures {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}

// Table is figures and notes as a table in Markdown, and the remarks below it as a list.
func (r Report) Table() string {
	var w strings.Builder
	w.WriteString("| figure | value | interval | n | target | |\n|---|---|---|---|---|---|\n")
	row := func(f Figure, target, verdict string) {
		if !f.measured() {
			why := "not measured"
			if f.Err != nil {
				why += ": " + f.reason()
			}
			fmt.Fprintf(&w, "| %s | %s | | | %s | %s |\n", f.Name, strings.ReplaceAll(why, "|", "\\|"), target, verdict)
			return
		}
		unit := f.Unit
		if unit == "ratio" || unit == "1" {
			unit = ""
		}
		fmt.Fprintf(&w, "| %s | %s | %.4g to %.4g | %d | %s | %s |\n", f.Name, strings.TrimSpace(fmt.Sprintf("%.4g %s", f.Value, unit)), f.Lo, f.Hi, f.N, target, verdict)
	}
	for _, f := range r.Figures {
		verdict := "short"
		if f.OK() {
			verdict = "ok"
		}
		row(f, fmt.Sprintf("%s %g", f.Op, f.Limit), verdict)
	}
	for _, f := range r.Notes {
		row(f, "", "")
	}
	for i, s := range r.Remarks {
		if i == 0 {
			w.WriteString("\n")
		}
		fmt.Fprintf(&w, "- %s\n", s)
	}
	return w.String()
}

// oneLine is text that somebody else has written as a line that a terminal shows.
func oneLine(s string) string { return strings.Join(strings.Fields(results.Printable(s)), " ") }
