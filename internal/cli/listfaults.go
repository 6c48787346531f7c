package cli

import (
	"fmt"
	"io"
	"strings"

	"lockbench/chaos"
)

// faultLine is what is listed of a fault.
type faultLine struct {
	Name   string      `json:"name"`
	On     string      `json:"on"`
	Doc    string      `json:"doc"`
	Params []paramLine `json:"parameters,omitempty"`
}

type paramLine struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Default *float64 `json:"default,omitempty"`
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
}

func faultLines() []faultLine {
	var out []faultLine
	for _, f := range chaos.Faults() {
		l := faultLine{Name: f.Name, On: string(f.On), Doc: f.Doc}
		for _, p := range f.Params {
			l.Params = append(l.Params, paramLine{p.Name, p.Doc, p.Default, p.Min, p.Max})
		}
		out = append(out, l)
	}
	return out
}

func faultJSON(w io.Writer) error { return writeJSON(w, faultLines()) }

func faultTable(w io.Writer) error {
	var rows [][]string
	for _, f := range faultLines() {
		var params []string
		for _, p := range f.Params {
			text := p.Name
			if p.Default != nil {
				text += fmt.Sprintf("=%g", *p.Default)
			}
			params = append(params, text)
		}
		rows = append(rows, []string{f.Name, f.On, strings.Join(params, " "), f.Doc})
	}
	if err := plainTable(w, []string{"fault", "hits", "parameters", "what happens"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "Parameters are set with --set FAULT.PARAMETER=NUMBER; what they mean, and their ranges: --format json.")
	return err
}
