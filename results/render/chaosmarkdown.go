package render

import (
	"bytes"
	"fmt"
	"strings"

	"lockbench/results"
)

// chaosMarkdown writes the chaos of a run as GitHub tables: the matrix, what is to be said of single cells, all figures.
func chaosMarkdown(b *bytes.Buffer, c *results.ChaosReport) error {
	fmt.Fprintf(b, "- controls: %s\n- %s\n", escape(chaosControls(c)), escape(chaosSummary(c)))
	for _, a := range chaosAlarms(c) {
		fmt.Fprintf(b, "- **%s**\n", escape(a))
	}
	for _, p := range chaosParts(c, maxChaos) {
		fmt.Fprintf(b, "\n### Chaos on %s\n\n", escape(strings.Join(p.servers, "; ")))
		if err := grid(b, chaosSheet(p, wholeName), markdownGrid()); err != nil {
			return err
		}
	}
	markdownEntries(b, "Marks of the chaos", chaosEntries(c))
	markdownEntries(b, "Libraries", chaosPeers(c))
	for _, l := range chaosLists(c) {
		fmt.Fprintf(b, "\n%s:\n\n", escape(l.title))
		for _, item := range l.items {
			fmt.Fprintf(b, "- %s\n", escape(item.head))
			for _, e := range item.lines {
				fmt.Fprintf(b, "  - %s: %s\n", escape(e.word), escape(e.text))
			}
		}
	}
	if text := chaosBound(c); text != "" {
		fmt.Fprintf(b, "\n%s\n", escape(text))
	}
	fmt.Fprintf(b, "\n#### Figures of each cell\n\n")
	if err := grid(b, chaosDetail(c), markdownGrid()); err != nil {
		return err
	}
	markdownEntries(b, "Figures", chaosDetailEntries(c))
	for _, t := range chaosTimelines(c) {
		fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", escape(t.head))
		// Set in by four columns it is code, whatever is in it.
		for line := range strings.SplitSeq(strings.TrimRight(t.text, "\n"), "\n") {
			fmt.Fprintln(b, strings.TrimRight("    "+line, " "))
		}
		b.WriteString("\n</details>\n")
	}
	return nil
}

// wholeName joins the lines of a head: a name that was broken at a dash, and its servers.
func wholeName(lines []string) string {
	name := strings.Join(lines, "")
	if last := len(lines) - 1; last > 0 && strings.HasPrefix(lines[last], "(") {
		name = strings.Join(lines[:last], "") + " " + lines[last]
	}
	return name
}
