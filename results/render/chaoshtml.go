package render

import (
	"fmt"
	"strings"

	"lockbench/results"
	"lockbench/results/page"
)

// maxChaosPage is the width of a matrix on a page, in characters.
const maxChaosPage = 150

// htmlChaos is the chaos of the run with that number on its page.
func htmlChaos(c *results.ChaosReport, run int) *page.Chaos {
	out := &page.Chaos{Summary: chaosSummary(c), Controls: chaosControls(c), Bound: chaosBound(c),
		Marks: entries(chaosEntries(c)), Locks: entries(chaosPeers(c)), Words: entries(chaosDetailEntries(c))}
	ids := map[*results.ChaosVerdict]string{} // of what has figures
	for i, v := range c.All() {
		if v.Verdict != results.VerdictSkipped {
			ids[v] = fmt.Sprintf("cell%d-%d", run, i)
		}
	}
	names := namesOf(c)
	for _, p := range chaosParts(c, maxChaosPage) {
		out.Parts = append(out.Parts, htmlChaosPart(p, names, ids))
	}
	for _, l := range chaosLists(c) {
		list := page.ChaosList{Title: l.title}
		for _, item := range l.items {
			list.Items = append(list.Items, page.ChaosItem{Text: item.head, Lines: entries(item.lines)})
		}
		out.Lists = append(out.Lists, list)
	}
	for _, t := range chaosTimelines(c) {
		out.Timelines = append(out.Timelines, page.Timeline{Title: t.head, Text: t.text})
	}
	figures := shownFigures(c)
	for _, f := range figures {
		out.Heads = append(out.Heads, oneLine(f.head))
	}
	for _, v := range c.All() {
		if ids[v] == "" {
			continue
		}
		row := page.ChaosFigures{ID: ids[v], Kind: chaosKind(v)}
		for _, f := range figures {
			row.Texts = append(row.Texts, f.get(v))
		}
		out.Figures = append(out.Figures, row)
	}
	return out
}

func htmlChaosPart(p chaosPart, names chaosNamer, ids map[*results.ChaosVerdict]string) page.ChaosPart {
	out := page.ChaosPart{Title: strings.Join(p.servers, "; ")}
	for _, col := range p.Columns {
		head := page.ChaosHead{Lock: col.Lock}
		if p.several {
			lines := p.heads(col)
			head.Servers = lines[len(lines)-1]
		}
		out.Heads = append(out.Heads, head)
	}
	for _, r := range p.Rows {
		last := len(out.Faults) - 1
		if last < 0 || out.Faults[last].Name != faultName(r) {
			out.Faults, last = append(out.Faults, page.ChaosFault{Name: faultName(r)}), last+1
		}
		row := page.ChaosRow{Policy: r.Policy}
		for _, col := range p.Columns {
			row.Cells = append(row.Cells, htmlChaosCell(p.At(r, col), names, ids))
		}
		out.Faults[last].Rows = append(out.Faults[last].Rows, row)
	}
	return out
}

func htmlChaosCell(v *results.ChaosVerdict, names chaosNamer, ids map[*results.ChaosVerdict]string) page.ChaosCell {
	if v == nil {
		return page.ChaosCell{}
	}
	mark, time, _ := strings.Cut(chaosCell(v), " ")
	return page.ChaosCell{Kind: chaosKind(v), Mark: mark, Time: time, Tip: chaosTip(v, names), Link: ids[v],
		Differs: strings.HasSuffix(mark, markDiffers)}
}

// chaosKind is the verdict in one word, which colours it.
func chaosKind(v *results.ChaosVerdict) string {
	if v.Verdict == results.VerdictFence {
		return "fence"
	}
	return v.Verdict
}

// chaosTip is a cell in a few sentences.
func chaosTip(v *results.ChaosVerdict, names chaosNamer) string {
	text := names.cell(v) + ": " + seen(v)
	if v.Expected != "" && v.Judged() {
		text += ", expected " + v.Expected
	}
	if v.AtMost != nil && v.Verdict == results.VerdictSafe {
		text += fmt.Sprintf(" (at most %.0f %% are bad)", *v.AtMost)
	}
	if v.Recovery != nil {
		text += fmt.Sprintf("; next grant after %s, at most %s", millis(v.Recovery.P50), millis(v.Recovery.Max))
		if v.BoundMS != nil {
			text += ", bound " + millis(*v.BoundMS)
		}
	}
	if v.Reason != "" {
		text += "; " + v.Reason
	}
	return text
}
