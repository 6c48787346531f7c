package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"lockbench/internal/figure"
	"lockbench/results/stat"
)

// alpha is the probability that an interval misses, both sides together.
const alpha = 0.05

// how names the interval of paired ratios.
const how = "95 % interval of paired ratios"

// paired gives the target the centre of the rounds' ratios, and its interval: the
// Hodges-Lehmann estimate and the signed-rank bounds of their logarithms. A ratio and its
// inverse are then equally far from 1, and a round that something disturbed counts by its
// rank only.
func paired(t figure.Figure, ratios []float64) figure.Figure {
	if len(ratios) == 0 {
		return t.Failed(fmt.Errorf("no rounds"))
	}
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		if !(r > 0) || math.IsInf(r, 1) {
			return t.Failed(fmt.Errorf("%v in round %d is no ratio", r, i+1))
		}
		logs[i] = math.Log(r)
	}
	iv := stat.SignedRank(logs, alpha)
	if !iv.OK {
		return t.Failed(fmt.Errorf("%d rounds have no 95 %% interval: %d or more have", len(ratios), stat.MinSignedRank(alpha)))
	}
	return t.Measured(math.Exp(iv.Center), math.Exp(iv.Lo), math.Exp(iv.Hi), how, iv.N)
}

// scaled multiplies a measured figure by a factor above 0, such as 100 for percent.
func scaled(f figure.Figure, by float64) figure.Figure {
	f.Value, f.Lo, f.Hi = f.Value*by, f.Lo*by, f.Hi*by
	return f
}

// report is what a group measured: the figures with a target, and what is told without one.
type report struct {
	figures []figure.Figure
	notes   []figure.Figure // Op and Limit mean nothing
}

// note is a figure without target.
func note(name, unit string) figure.Figure { return figure.Figure{Name: name, Unit: unit} }

// told is a note as a line for people.
func told(f figure.Figure) string {
	if f.N < 1 || f.Err != nil {
		return fmt.Sprintf("not measured: %v; no target", f.Err)
	}
	h := f.How
	if h == "" {
		h = "95 % interval"
	}
	return fmt.Sprintf("%.4g %s, %s %.4g to %.4g, %d measurements, no target", f.Value, f.Unit, h, f.Lo, f.Hi, f.N)
}

// jsonFigure is a line of -json.
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

func toJSON(f figure.Figure, target bool) jsonFigure {
	j := jsonFigure{Name: f.Name, Unit: f.Unit, N: f.N}
	if f.N > 0 && f.Err == nil {
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

// print writes what was measured: the notes, then the figures, whose lines come last.
func (r report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for _, f := range r.notes {
			if err := enc.Encode(toJSON(f, false)); err != nil {
				return err
			}
		}
		for _, f := range r.figures {
			if err := enc.Encode(toJSON(f, true)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range r.notes {
		fmt.Fprintf(w, "%-32s %s\n", f.Name, told(f))
	}
	for _, f := range r.figures {
		fmt.Fprintf(w, "%-32s %s\n", f.Name, f.Detail())
	}
	for _, f := range r.figures {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}
