package render

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// ChaosOptions are what a reader may ask of the report of a chaos run.
type ChaosOptions struct {
	Detail bool // a line for each cell with all its figures, where the format has not all of them anyway
}

// Chaos writes the chaos of one run in the named format, as lockbench report prints a file of it.
func Chaos(w io.Writer, format string, rep *results.ChaosReport, o ChaosOptions) error {
	f, err := Lookup(format)
	if err != nil {
		return err
	}
	if o.Detail {
		return f.Detailed(w, rep.Report())
	}
	return f.Write(w, rep.Report())
}

// The marks of the matrix. They say the same without colour, and in plain ASCII.
const (
	markSafe    = "ok"
	markFence   = "fence"
	markUnsafe  = "UNSAFE"
	markUnknown = "?"
	markSkipped = "-"
	markDiffers = "!" // behind another one
	markNever   = "never"
)

// chaosMark is the mark of a cell, with the one for what theory does not expect.
func chaosMark(v *results.ChaosVerdict) string {
	mark := map[string]string{
		results.VerdictSafe: markSafe, results.VerdictFence: markFence, results.VerdictUnsafe: markUnsafe,
		results.VerdictSkipped: markSkipped,
	}[v.Verdict]
	switch {
	case mark == "":
		return markUnknown
	case v.Differs() || v.WorseBy() > 0:
		return mark + markDiffers
	}
	return mark
}

// chaosCell is what stands in the matrix: the mark and the median recovery; "" where nothing was run.
func chaosCell(v *results.ChaosVerdict) string {
	switch {
	case v == nil:
		return ""
	case v.Judged() && v.Recovery != nil:
		return chaosMark(v) + " " + shortSpan(v.Recovery.P50)
	case v.Judged() && v.Column().Local(): // these faults are about who gets in again
		return chaosMark(v) + " " + markNever
	}
	return chaosMark(v)
}

// shortSpan formats ms with two digits: "3.2ms", "0.84s", "12s". It keeps the columns of the matrix narrow.
func shortSpan(ms float64) string {
	if ms < 0 {
		return "-" + shortSpan(-ms)
	}
	v, unit := ms/1000, "s"
	switch {
	case ms < 0.0995:
		v, unit = ms*1000, "us"
	case ms < 99.5:
		v, unit = ms, "ms"
	}
	decimals := 0
	if v > 0 && v < 9.95 {
		decimals = max(0, 1-int(math.Floor(math.Log10(v))))
	}
	return strconv.FormatFloat(v, 'f', min(decimals, 2), 64) + unit
}

// millis formats a time in ms with three digits, which may be below 0.
func millis(ms float64) string {
	if ms < 0 {
		return "-" + num.Span(-ms*1e6)
	}
	return num.Span(ms * 1e6)
}

// chaosEntries explain the marks that a report has.
func chaosEntries(c *results.ChaosReport) []entry {
	var out []entry
	for _, e := range []struct{ verdict, word, text string }{
		{results.VerdictSafe, markSafe, "safe: in no round two were inside, and no write was lost"},
		{results.VerdictFence, markFence, "a fence saves it: two were inside, and a store without a fence took the late write; one that checks the token refused it"},
		{results.VerdictUnsafe, markUnsafe, "two were inside or a write was lost, and no fence helps or there is none"},
		{results.VerdictUnknown, markUnknown, "unknown: too few rounds prove anything, or the controls failed"},
		{results.VerdictSkipped, markSkipped, "skipped: the lock or its servers cannot have the fault"},
	} {
		if len(c.With(e.verdict)) > 0 {
			out = append(out, entry{e.word, e.text})
		}
	}
	if slices.ContainsFunc(c.Verdicts, func(v *results.ChaosVerdict) bool { return strings.HasSuffix(chaosMark(v), markDiffers) }) {
		out = append(out, entry{markDiffers, "not what theory expects, see below"})
	}
	if slices.ContainsFunc(c.Verdicts, func(v *results.ChaosVerdict) bool { return v.Recovery != nil && v.Judged() }) {
		out = append(out, entry{"time", "from the fault to the next grant, median of the rounds"})
	}
	if slices.ContainsFunc(c.Verdicts, func(v *results.ChaosVerdict) bool { return strings.HasSuffix(chaosCell(v), markNever) }) {
		out = append(out, entry{markNever, "nobody got in again while the round lasted"})
	}
	if rows := c.Matrix().Rows; slices.ContainsFunc(rows, func(r results.ChaosRow) bool { return r.Policy == "careless" }) {
		out = append(out, entry{"careful, careless", "whether the holder asks its lease before each write"})
	}
	return out
}

// chaosBound says what "safe" is worth, "" if nothing was.
func chaosBound(c *results.ChaosReport) string {
	var least, most *results.ChaosVerdict
	for _, v := range c.With(results.VerdictSafe) {
		if v.AtMost == nil {
			continue
		}
		if least == nil || *v.AtMost > *least.AtMost {
			least = v
		}
		if most == nil || *v.AtMost < *most.AtMost {
			most = v
		}
	}
	if least == nil {
		return ""
	}
	text := fmt.Sprintf("What %q is worth: %s without a bad one leave it possible that up to %.0f %% of all such rounds are bad (95 %% bound)",
		markSafe, count(least.Probative, "round"), *least.AtMost)
	if most.Probative > least.Probative {
		text += fmt.Sprintf(", %d leave %.0f %%", most.Probative, *most.AtMost)
	}
	return text + "."
}

// chaosSummary is the run in one line: "12 cells of 3 locks: 8 safe, 2 UNSAFE, 2 skipped".
func chaosSummary(c *results.ChaosReport) string {
	locks := map[string]bool{}
	for _, v := range c.Verdicts {
		locks[v.Lock] = true
	}
	var parts []string
	for _, k := range []struct{ verdict, word string }{{results.VerdictSafe, "safe"}, {results.VerdictFence, "saved by a fence"},
		{results.VerdictUnsafe, markUnsafe}, {results.VerdictUnknown, "unknown"}, {results.VerdictSkipped, "skipped"}} {
		if n := len(c.With(k.verdict)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k.word))
		}
	}
	text := fmt.Sprintf("chaos: %s of %s", count(len(c.Verdicts), "cell"), count(len(locks), "lock"))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if n := len(c.Differing()); n > 0 {
		text += fmt.Sprintf("; %d not as theory expects", n)
	}
	return text
}

// chaosControls is the harness's own check in one line.
func chaosControls(c *results.ChaosReport) string {
	if len(c.Controls) == 0 && !slices.ContainsFunc(c.Verdicts, func(v *results.ChaosVerdict) bool { return !v.Column().Local() }) {
		return "none, as all locks are within a process"
	}
	if len(c.Controls) == 0 {
		return "none was run: nothing shows that the harness would have seen two inside"
	}
	if n := len(c.FailedControls()); n > 0 {
		return fmt.Sprintf("%d of %d FAILED: no verdict of this run counts", n, len(c.Controls))
	}
	var parts []string
	for _, v := range c.Controls {
		text := fmt.Sprintf("%s %s", v.Lock, v.Verdict)
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return fmt.Sprintf("%d of %d hold: %s, as they must", len(c.Controls), len(c.Controls), strings.Join(parts, ", "))
}
