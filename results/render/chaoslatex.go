package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"lockbench/results"
)

// latexChaos writes the matrix of a run: a floating table for each part, with what its marks mean below.
func latexChaos(b *bytes.Buffer, c *results.ChaosReport) {
	for _, line := range slices.Concat([]string{"controls: " + chaosControls(c), chaosSummary(c)}, chaosAlarms(c)) {
		latexComment(b, line)
	}
	var below []string
	for _, e := range chaosEntries(c) {
		below = append(below, latexEscape(e.word)+": "+latexEscape(e.text))
	}
	if text := chaosBound(c); text != "" {
		below = append(below, latexEscape(strings.TrimSuffix(text, ".")))
	}
	for _, p := range chaosParts(c, maxChaos) {
		g := chaosSheet(p, wholeName)
		fmt.Fprintf(b, "\\begin{table}[htbp]\n\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n\\caption{Faults on %s: verdict, and median time from the fault to the next grant.}\n",
			latexEscape(strings.Join(p.servers, "; ")))
		fmt.Fprintf(b, "\\begin{tabular}{@{}%s@{}}\n\\toprule\n", strings.Repeat("l", len(g.cols)))
		var heads []string
		for _, col := range g.cols {
			heads = append(heads, latexEscape(col.head))
		}
		fmt.Fprintf(b, "%s \\\\\n\\midrule\n", strings.Join(heads, " & "))
		for _, row := range g.rows {
			var cells []string
			for _, text := range row {
				cells = append(cells, latexChaosCell(text))
			}
			fmt.Fprintf(b, "%s \\\\\n", strings.Join(cells, " & "))
		}
		fmt.Fprintf(b, "\\bottomrule\n\\end{tabular}\n\n\\smallskip\\raggedright %s.\n\\end{table}\n", strings.Join(below, ". "))
	}
}

// latexChaosCell sets what is loud in bold type.
func latexChaosCell(text string) string {
	if strings.HasPrefix(text, markUnsafe) {
		return "\\textbf{" + latexEscape(text) + "}"
	}
	return latexEscape(text)
}
