package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"lockbench/results/gate"
)

// chaosHeadline is the verdict of a gate on chaos in one line.
func chaosHeadline(res *gate.ChaosResult) string {
	var parts []string
	for _, v := range []gate.Verdict{gate.Fail, gate.Inconclusive, gate.Pass} {
		if k := res.Count(v); k > 0 {
			parts = append(parts, fmt.Sprintf("%s %d of %d", v, k, len(res.Tests)))
		}
	}
	text := "gate: " + strings.ToUpper(string(res.Verdict))
	if res.Verdict == gate.Violation {
		text += ": a lock let two in where theory says that it does not"
	}
	return text + " (demands: " + strings.Join(parts, ", ") + ")"
}

// chaosAlways is the always-on rule in lines, the first a whole.
func chaosAlways(res *gate.ChaosResult) []string {
	head := fmt.Sprintf("always on: nothing is worse than expected in %s, and %s", count(res.Cells, "cell"), controlsHold(res))
	if len(res.Always) > 0 {
		head = "always on: nothing may be worse than expected, and the controls must hold"
	}
	out := []string{head}
	for _, f := range res.Always {
		out = append(out, strings.ToUpper(string(f.Verdict))+": "+f.String())
	}
	return out
}

func controlsHold(res *gate.ChaosResult) string {
	if res.Controls == 0 {
		return "locks of one process need no controls"
	}
	if res.Controls == 1 {
		return "the control holds"
	}
	return fmt.Sprintf("all %d controls hold", res.Controls)
}

// A chaosDemand is a demand with its tests.
type chaosDemand struct {
	title string
	tests []gate.ChaosTest
}

func chaosDemands(res *gate.ChaosResult) []chaosDemand {
	var out []chaosDemand
	for _, t := range res.Tests {
		if n := len(out); n == 0 || out[n-1].tests[0].Rule != t.Rule {
			title := t.Rule
			if !strings.Contains(title, t.Demand) {
				title += ": " + t.Demand
			}
			out = append(out, chaosDemand{title: title})
		}
		last := &out[len(out)-1]
		last.tests = append(last.tests, t)
	}
	return out
}

func chaosDemandSheet(d chaosDemand) sheet {
	g := sheet{name: d.title, marks: true, cols: []column{{head: "verdict", left: true}, {head: "cell", left: true}, {head: "because", left: true}}}
	for _, t := range d.tests {
		word := string(t.Verdict)
		if t.Verdict != gate.Pass {
			word = strings.ToUpper(word)
		}
		g.rows = append(g.rows, []string{word, orDash(t.Cell), t.Reason})
	}
	return g
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// chaosOrigin is where the verdicts are from.
func chaosOrigin(res *gate.ChaosResult) string {
	return "run " + res.RunID + " in " + strings.Join(res.Files, ", ")
}

func gateChaosTable(w io.Writer, res *gate.ChaosResult) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, chaosOrigin(res))
	for _, d := range chaosDemands(res) {
		fmt.Fprintf(&b, "\ndemand %s\n", d.title)
		if err := grid(&b, chaosDemandSheet(d), plainGrid()); err != nil {
			return err
		}
	}
	fmt.Fprintln(&b)
	for i, line := range chaosAlways(res) {
		if i > 0 {
			line = "!!! " + line
		}
		fmt.Fprintln(&b, line)
	}
	for _, n := range res.Notes {
		fmt.Fprintln(&b, fill(strings.SplitAfter("note: "+n, " "), maxColumns))
	}
	fmt.Fprintf(&b, "\n%s\n", chaosHeadline(res))
	_, err := w.Write(b.Bytes())
	return err
}

func gateChaosMarkdown(w io.Writer, res *gate.ChaosResult) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s\n\n", escape(chaosHeadline(res)))
	for _, line := range slices.Concat(chaosAlways(res), []string{chaosOrigin(res)}) {
		fmt.Fprintf(&b, "- %s\n", escape(line))
	}
	for _, d := range chaosDemands(res) {
		fmt.Fprintf(&b, "\n### %s\n\n", escape(d.title))
		if err := grid(&b, chaosDemandSheet(d), markdownGrid()); err != nil {
			return err
		}
	}
	if len(res.Notes) > 0 {
		fmt.Fprintln(&b)
	}
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "- note: %s\n", escape(n))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func gateChaosJSON(w io.Writer, res *gate.ChaosResult) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(res)
}

func gateChaosJUnit(w io.Writer, res *gate.ChaosResult) error {
	always := junitSuite{Name: "always on: nothing worse than expected, controls hold"}
	for _, f := range res.Always {
		name := f.Cell
		if name == "" {
			name = "the run"
		}
		always.add(name, f.Verdict, f.Text, "")
	}
	if len(res.Always) == 0 {
		always.add("the run", gate.Pass, "", chaosAlways(res)[0])
	}
	suites := []junitSuite{always}
	for _, d := range chaosDemands(res) {
		s := junitSuite{Name: d.title}
		for _, t := range d.tests {
			name := t.Cell
			if name == "" {
				name = "no cell"
			}
			s.add(name, t.Verdict, t.Reason, t.Demand+": "+t.Reason)
		}
		suites = append(suites, s)
	}
	return writeJUnit(w, suites)
}

func gateChaosGitHub(w io.Writer, res *gate.ChaosResult) error {
	var b strings.Builder
	gitHubLine(&b, gitHubKind(res.Verdict), res.Rules, 0, "lockbench gate", chaosHeadline(res))
	for _, f := range res.Always {
		gitHubLine(&b, gitHubKind(f.Verdict), res.Rules, 0, "gate: "+string(f.Verdict), f.String())
	}
	for _, v := range []gate.Verdict{gate.Fail, gate.Inconclusive} {
		for _, t := range res.Tests {
			if t.Verdict == v {
				gitHubLine(&b, gitHubKind(v), res.Rules, t.Line, "gate: "+string(v)+": "+t.Rule, strings.TrimPrefix(t.Cell+": "+t.Reason, ": "))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
