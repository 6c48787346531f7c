package render

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// LaTeX writes one floating table a section, with rules of the package booktabs
// and without any other: units stand in the head, fairness beside throughput,
// doubts below. The file is to be included by a document, which a comment at its
// begin says.
func LaTeX(w io.Writer, rep *results.Report) error {
	var b bytes.Buffer
	b.WriteString("% Written by lockbench report --format latex. The document needs:\n%   \\usepackage[T1]{fontenc}\n%   \\usepackage{booktabs}\n")
	for _, warning := range rep.Warnings {
		latexComment(&b, "warning: "+warning)
	}
	for _, r := range rep.Runs {
		b.WriteString("\n")
		latexComment(&b, runName(r))
		if host := r.Host.String(); host != "" {
			latexComment(&b, "host: "+host)
		}
		if labels := labelsOf(r); labels != "" {
			latexComment(&b, "labels: "+labels)
		}
		for _, d := range r.Run.Doubts {
			latexComment(&b, "doubt: "+d)
		}
		for _, warning := range r.Warnings {
			latexComment(&b, "warning: "+warning)
		}
		if len(r.Sections) > 0 {
			latexComment(&b, closing(r))
		}
		for _, s := range r.Sections {
			latexSection(&b, r, s)
		}
		if r.Chaos != nil {
			latexChaos(&b, r.Chaos)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// latexComment writes what a reader of the source should know. A line ends a
// comment, so that the text must not have one; the Builder sees to that.
func latexComment(b *bytes.Buffer, text string) {
	fmt.Fprintf(b, "%% %s\n", strings.NewReplacer("\n", " ", "\r", " ").Replace(text))
}

// A latexColumn is a column in one unit, so that its numbers line up.
type latexColumn struct {
	head, unit string
	text       func(c *results.CellSummary) string
}

func latexColumns(s *results.Section) []latexColumn {
	type cell = results.CellSummary
	type metrics = results.Metrics
	rateUnit, ratePrefix := latexRate(s)
	scaled := func(e *results.Estimate, by float64) string {
		if e == nil {
			return latexAbsent
		}
		return latexNumber(e.Median / by)
	}
	spans := func(head string, get func(*metrics) *float64) latexColumn {
		unit, by := latexSpan(s, get)
		return latexColumn{head, unit, func(c *cell) string {
			v := get(&c.Metrics)
			if v == nil {
				return latexAbsent
			}
			return latexNumber(*v / by)
		}}
	}
	speed := []latexColumn{
		{"throughput", ratePrefix + "/s", func(c *cell) string { return scaled(c.Metrics.Throughput, rateUnit) }},
		{"95\\,\\% interval", ratePrefix + "/s", func(c *cell) string {
			t := c.Metrics.Throughput
			if t == nil || t.Lo == nil {
				return latexAbsent
			}
			return latexNumber(*t.Lo/rateUnit) + "--" + latexNumber(*t.Hi/rateUnit)
		}},
		{"Jain", "", func(c *cell) string { return latexIndex(c.Metrics.Jain) }},
	}
	acquire := []latexColumn{ // the last three, which share a head
		spans("p50", func(m *metrics) *float64 { return medianOf(m.AcquireP50) }),
		spans("p99", func(m *metrics) *float64 { return medianOf(m.AcquireP99) }),
		spans("max", func(m *metrics) *float64 { return m.AcquireMax }),
	}
	if s.Distributed() {
		between := []latexColumn{
			{"trips", "", func(c *cell) string { return strings.ReplaceAll(trips(&c.Metrics), num.Absent, latexAbsent) }},
			{"cmds", "", func(c *cell) string { return scaled(c.Metrics.Commands, 1) }},
		}
		if slices.ContainsFunc(remoteExtras, func(x extra) bool { return x.head == headTimeouts && x.shown(s) }) {
			between = append(between, latexColumn{"timeouts", "\\%", func(c *cell) string { return scaled(c.Metrics.Timeouts, 1) }})
		}
		between = append(between,
			spans("release", func(m *metrics) *float64 { return medianOf(m.ReleaseP50) }),
			spans("handoff", func(m *metrics) *float64 { return medianOf(m.HandoffP50) }))
		return slices.Concat(speed, between, acquire)
	}
	return slices.Concat(speed, []latexColumn{
		{"max/min", "", func(c *cell) string { return scaled(c.Metrics.MaxMin, 1) }},
		spans("time/op", func(m *metrics) *float64 { return medianOf(m.WallNS) }),
	}, acquire)
}

const latexAbsent = "--"

func latexIndex(e *results.Estimate) string {
	if e == nil {
		return latexAbsent
	}
	return strings.Replace(index(e), ">", "$>$", 1)
}

// latexNumber has three significant digits; what a table cannot hold has an
// exponent.
func latexNumber(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "$\\infty$"
	case v == 0 || v >= 0.01 && v < 999999.5:
		return num.Three(v)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	e, _ := strconv.Atoi(exponent)
	return digits + "e" + strings.Replace(strconv.Itoa(e), "-", "$-$", 1)
}

// latexRate is the unit in which the median lock of a section is from 1 to 1000.
func latexRate(s *results.Section) (by float64, prefix string) {
	v := middle(s, func(m *results.Metrics) *float64 { return medianOf(m.Throughput) })
	scaled, p := num.Scaled(v, num.RatePrefixes)
	if scaled == 0 {
		return 1, ""
	}
	return v / scaled, p
}

func latexSpan(s *results.Section, get func(*results.Metrics) *float64) (unit string, by float64) {
	v := middle(s, get)
	switch {
	case v < 999.5:
		return "ns", 1
	case v < 999.5e3:
		return "$\\mu$s", 1e3
	case v < 999.5e6:
		return "ms", 1e6
	}
	return "s", 1e9
}

// middle is the median over a section's locks of a finite figure above 0, 0
// without any.
func middle(s *results.Section, get func(*results.Metrics) *float64) float64 {
	var all []float64
	for _, c := range s.Cells {
		if v := get(&withoutWrong(c).Metrics); v != nil && *v > 0 && !math.IsInf(*v, 0) && !c.Control {
			all = append(all, *v)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func latexSection(b *bytes.Buffer, r *results.RunReport, s *results.Section) {
	cols := latexColumns(s)
	fmt.Fprintf(b, "\\begin{table}[htbp]\n\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n\\caption{%s. Medians of %s a lock.}\n",
		latexEscape(title(s)), count(max(1, r.Run.Reps), "repetition"))
	fmt.Fprintf(b, "\\begin{tabular}{@{}l%s@{}}\n\\toprule\n", strings.Repeat("r", len(cols)))
	// The last three columns are times to acquire.
	last := len(cols) + 1
	fmt.Fprintf(b, "%s\\multicolumn{3}{c}{time to acquire} \\\\\n\\cmidrule(l){%d-%d}\n", strings.Repeat("& ", len(cols)-2), last-2, last)
	heads, units := "lock", ""
	for _, c := range cols {
		heads += " & " + c.head
		units += " & " + c.unit
	}
	fmt.Fprintf(b, "%s \\\\\n%s \\\\\n\\midrule\n", heads, units)
	notes := latexNotes{shared: sharedMarks(s)}
	control := true
	for i, c := range cells(s) {
		// A rule parts the controls, which come first, from the locks.
		if i > 0 && control && !c.Control {
			b.WriteString("\\midrule\n")
		}
		control = c.Control
		fmt.Fprintf(b, "%s%s", latexEscape(c.RowName()), notes.of(marksOf(s, c, notes.shared)))
		shown := withoutWrong(c)
		for _, col := range cols {
			b.WriteString(" & " + col.text(shown))
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	below := notes.text()
	if s.Distributed() {
		below = latexRemote(s, below)
	}
	if below != "" {
		fmt.Fprintf(b, "\n\\smallskip\\raggedright %s\n", below)
	}
	b.WriteString("\\end{table}\n")
}

// latexRemote adds on what a section ran, what its columns mean, and what its marks count.
func latexRemote(s *results.Section, notes string) string {
	lines, _ := serverLines(s, nil)
	lines = append(lines, "trips: round trips of an acquisition / of a handoff; cmds: requests by acquisitions; release and handoff: medians")
	lines = append(lines, countNotes(s)...)
	for i, l := range lines {
		lines[i] = latexEscape(l)
	}
	if notes != "" {
		lines = append([]string{notes}, lines...)
	}
	return strings.Join(lines, ". ") + "."
}

// latexNotes are the marks of a table: a letter behind the lock, the words
// below.
type latexNotes struct {
	shared  map[string]bool
	letters map[string]string
	order   []string
}

func (n *latexNotes) of(marks []string) string {
	if n.letters == nil {
		n.letters = map[string]string{}
	}
	var letters []string
	for _, m := range marks {
		if n.letters[m] == "" {
			n.letters[m] = letter(len(n.order))
			n.order = append(n.order, m)
		}
		letters = append(letters, n.letters[m])
	}
	if len(letters) == 0 {
		return ""
	}
	return "$^{\\mathrm{" + strings.Join(letters, ",") + "}}$"
}

// letter numbers notes a to z, aa, ab, ...
func letter(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return letter(i/26-1) + letter(i%26)
}

func (n *latexNotes) text() string {
	var parts []string
	for i, m := range n.order {
		parts = append(parts, fmt.Sprintf("$^{\\mathrm{%s}}$\\,%s", letter(i), latexEscape(m)))
	}
	return strings.Join(parts, "; ")
}

// latexEscape takes from text what LaTeX would obey. Letters of Latin-1 stay, as
// every LaTeX since 2018 reads them; what a plain document has no letter for is
// named by its number, so that names stay apart.
func latexEscape(s string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range s {
		switch e, special := latexSpecial[r]; {
		case r == '-' && last == '-':
			b.WriteString("{-}") // two would become a dash
		case special:
			b.WriteString(e)
		case r >= 0x20 && r < 0x7f, r >= 0xc0 && r <= 0xff && r != 0xd7 && r != 0xf7:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "{\\small U+%04X}", r)
		}
		last = r
	}
	return b.String()
}

var latexSpecial = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '_': `\_`, '%': `\%`,
	'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '<': `\textless{}`, '>': `\textgreater{}`, '|': `\textbar{}`,
	'"': `\textquotedbl{}`, '`': `\textasciigrave{}`, '\'': `\textquotesingle{}`,
	'µ': `$\mu$`, '…': `\ldots{}`, '×': `$\times$`, '÷': `$\div$`, '\n': " ", '\t': " ",
}
