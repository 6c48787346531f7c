package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/results/gate"
)

// A GateFormat is one way to write the verdict of a gate.
type GateFormat struct {
	Name  string
	Help  string // one line for --help
	Write func(w io.Writer, res *gate.Result) error
	Chaos func(w io.Writer, res *gate.ChaosResult) error
}

// GateFormats are all formats of verdicts, the default first.
func GateFormats() []GateFormat {
	return []GateFormat{
		{"table", "for reading in a terminal", GateTable, gateChaosTable},
		{"markdown", "for a job summary or a pull request", GateMarkdown, gateChaosMarkdown},
		{"junit", "JUnit XML; inconclusive is an error there, never a success", GateJUnit, gateChaosJUnit},
		{"github", "workflow commands, which GitHub shows as annotations", GateGitHub, gateChaosGitHub},
		{"json", "a record of type verdict, with everything", GateJSON, gateChaosJSON},
	}
}

// GateJSON writes the result as it is.
func GateJSON(w io.Writer, res *gate.Result) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(res)
}

// gateHeadline is the verdict in one line.
func gateHeadline(res *gate.Result) string {
	n := len(res.Tests)
	var parts []string
	for _, v := range []gate.Verdict{gate.Fail, gate.Inconclusive, gate.Pass} {
		if k := res.Count(v); k > 0 {
			parts = append(parts, fmt.Sprintf("%s %d of %d", v, k, n))
		}
	}
	text := "gate: " + strings.ToUpper(string(res.Verdict))
	if res.Verdict == gate.Violation {
		text += ": the new side let two workers in, or hung"
	}
	if len(parts) > 0 {
		text += " (tests: " + strings.Join(parts, ", ") + ")"
	}
	return text
}

// gateMethod is what the verdict is worth.
func gateMethod(res *gate.Result) string {
	text := fmt.Sprintf("alpha %s for the whole gate of %s", formatAlpha(res.Plan.Alpha), count(res.Plan.Tests, "test"))
	if skipped := len(res.Tests) - res.Plan.Tests; skipped > 0 && res.Plan.Tests > 0 {
		text += fmt.Sprintf(" (and %s of skipped cells)", count(skipped, "test"))
	}
	if res.Kind == gate.KindFiles {
		return text + "; two files, looked at once: Mann-Whitney intervals of the shift of logarithms, less any drift that the controls leave possible" + gateLimits(res)
	}
	var looks []string
	for _, l := range res.Plan.Looks {
		looks = append(looks, strconv.Itoa(l.Pairs))
	}
	if len(looks) == 0 {
		return text + fmt.Sprintf("; a budget of %s proves nothing at that", count(res.Plan.Budget, "pair"))
	}
	return text + fmt.Sprintf("; looks at %s pairs, each at level %s: Hodges-Lehmann estimates with signed-rank bounds",
		strings.Join(looks, ", "), formatAlpha(res.Plan.Looks[0].Alpha)) + gateLimits(res)
}

// gateLimits is what a limit's verdict is worth, "" without limits.
func gateLimits(res *gate.Result) string {
	if !slices.ContainsFunc(res.Tests, func(t gate.Test) bool { return t.Limit != nil }) {
		return ""
	}
	return "; limits, medians of the new side, speak of this machine while it was measured"
}

func formatAlpha(a float64) string { return strconv.FormatFloat(a, 'g', 2, 64) }

// gateSides are lines about where the figures are from.
func gateSides(res *gate.Result) []string {
	var out []string
	for _, s := range []struct {
		name string
		side gate.Side
	}{{"old", res.Old}, {"new", res.New}} {
		var parts []string
		if len(s.side.Programs) > 0 {
			parts = append(parts, strings.Join(s.side.Programs, ", "))
		}
		if len(s.side.Files) > 0 {
			parts = append(parts, "in "+strings.Join(s.side.Files, ", "))
		}
		if len(parts) > 0 {
			out = append(out, s.name+": "+strings.Join(parts, " "))
		}
	}
	return out
}

// gateSafety is the always-on rule in lines, the first a whole.
func gateSafety(res *gate.Result) []string {
	head := fmt.Sprintf("always on: no violation and no hang in %s of %s of the new side",
		count(res.SafetyReps, "repetition"), count(res.SafetyCells, "cell"))
	switch {
	case slices.ContainsFunc(res.Safety, func(f gate.Finding) bool { return f.Verdict == gate.Violation }):
		head = "always on: the new side must have no violation and no hang, and it has"
	case res.SafetyReps == 0:
		head = "always on: nothing was measured of the new side"
	}
	out := []string{head}
	for _, f := range res.Safety {
		out = append(out, fmt.Sprintf("%s: %s: %s", strings.ToUpper(string(f.Verdict)), f.Cell, f))
	}
	return out
}

// A gateRule is a rule with its tests.
type gateRule struct {
	title string
	tests []gate.Test
}

func gateRules(res *gate.Result) []gateRule {
	var out []gateRule
	for _, t := range res.Tests {
		title := t.Rule
		if what := t.Metric + " " + t.Threshold; !strings.Contains(title, what) {
			title += ": " + what
		}
		if n := len(out); n == 0 || out[n-1].tests[0].Rule != t.Rule {
			out = append(out, gateRule{title: title})
		}
		last := &out[len(out)-1]
		last.tests = append(last.tests, t)
	}
	return out
}

// gateSheet is the table of a rule.
func gateSheet(res *gate.Result, r gateRule) sheet {
	figure, n := "change", "pairs"
	if r.tests[0].Limit != nil {
		figure = "figure"
	}
	if res.Kind == gate.KindFiles {
		n = "reps"
	}
	g := sheet{name: r.title, marks: true, cols: []column{
		{head: "verdict", left: true}, {head: "cell", left: true}, {head: figure}, {head: "interval"}, {head: n}, {head: "because", left: true},
	}}
	for _, t := range r.tests {
		word := string(t.Verdict)
		if t.Verdict != gate.Pass {
			word = strings.ToUpper(word)
		}
		estimate, interval := gateFigure(t)
		g.rows = append(g.rows, []string{word, t.Cell.Name, estimate, interval, gateReps(t), t.Reason})
	}
	return g
}

// gateFigure is the estimate of a test and its interval.
func gateFigure(t gate.Test) (estimate, interval string) {
	format, i := change, t.Ratio
	if t.Value != nil {
		i = t.Value
		format = func(v float64) string { return gate.Quantity(v, t.Unit) }
	}
	if i == nil {
		return "-", "-"
	}
	if !i.OK {
		return format(i.Estimate), "-"
	}
	if c := t.Corrected; c != nil { // that the verdict rests on
		return format(i.Estimate), format(c.Lo) + " to " + format(c.Hi)
	}
	return format(i.Estimate), format(i.Lo) + " to " + format(i.Hi)
}

// change formats a ratio new/old: in percent, beyond tenfold as a factor.
func change(ratio float64) string {
	pct := 100 * (ratio - 1)
	switch {
	case math.IsInf(ratio, 1):
		return "x inf"
	case ratio >= 10:
		return "x" + strconv.FormatFloat(ratio, 'f', 1, 64)
	case math.Abs(pct) < 0.005:
		return "0 %"
	case math.Abs(pct) < 1:
		return fmt.Sprintf("%+.2f %%", pct)
	}
	return fmt.Sprintf("%+.1f %%", pct)
}

// gateReps is how many pairs or repetitions a test had.
func gateReps(t gate.Test) string {
	if t.Measured == 0 {
		if t.OldReps+t.NewReps == 0 {
			return "0"
		}
		return fmt.Sprintf("%d/%d", t.OldReps, t.NewReps) + gateOdd(t)
	}
	text := strconv.Itoa(t.Pairs)
	if t.Look != nil {
		text = strconv.Itoa(t.Look.Pairs) // those that decided
	}
	return text + gateOdd(t)
}

// gateOdd is how many pairs or repetitions have no plain figure, in brackets:
// " (2 dropped, 1 infinite)".
func gateOdd(t gate.Test) string {
	dropped := 0
	for n := range maps.Values(t.Dropped) {
		dropped += n
	}
	var parts []string
	for _, odd := range []struct {
		n    int
		what string
	}{{dropped, "dropped"}, {t.Infinite, "infinite"}, {t.MissingOld + t.MissingNew, "unknown"}} {
		if odd.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", odd.n, odd.what))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// GateTable writes a verdict for a terminal, the verdict last.
func GateTable(w io.Writer, res *gate.Result) error {
	var b bytes.Buffer
	for _, line := range gateSides(res) {
		fmt.Fprintln(&b, line)
	}
	for _, r := range gateRules(res) {
		fmt.Fprintf(&b, "\nrule %s\n", r.title)
		if err := grid(&b, gateSheet(res, r), plainGrid()); err != nil {
			return err
		}
	}
	fmt.Fprintln(&b)
	for i, line := range gateSafety(res) {
		if i > 0 {
			line = "!!! " + line
		}
		fmt.Fprintln(&b, line)
	}
	for _, n := range res.Notes {
		fmt.Fprintln(&b, fill(strings.SplitAfter("note: "+n, " "), maxColumns))
	}
	fmt.Fprintln(&b, fill(strings.SplitAfter(gateMethod(res)+".", " "), maxColumns))
	fmt.Fprintf(&b, "\n%s\n", gateHeadline(res))
	_, err := w.Write(b.Bytes())
	return err
}

// GateMarkdown writes a verdict as a job summary, the verdict first.
func GateMarkdown(w io.Writer, res *gate.Result) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s\n\n", escape(gateHeadline(res)))
	for _, line := range slices.Concat(gateSafety(res), gateSides(res)) {
		fmt.Fprintf(&b, "- %s\n", escape(line))
	}
	for _, r := range gateRules(res) {
		fmt.Fprintf(&b, "\n### %s\n\n", escape(r.title))
		if err := grid(&b, gateSheet(res, r), markdownGrid()); err != nil {
			return err
		}
	}
	if len(res.Notes) > 0 {
		fmt.Fprintln(&b)
	}
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "- note: %s\n", escape(n))
	}
	fmt.Fprintf(&b, "\n%s.\n", escape(gateMethod(res)))
	_, err := w.Write(b.Bytes())
	return err
}

// LookupGateFormat finds a format by its name.
func LookupGateFormat(name string) (GateFormat, error) { return lookup(GateFormats(), name) }

// GateNames are the names of the formats of verdicts, in order.
func GateNames() []string { return names(GateFormats()) }

func (f GateFormat) name() string { return f.Name }
