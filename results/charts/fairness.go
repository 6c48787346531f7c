package charts

import (
	"fmt"

	"github.com/go-analyze/charts/chartdraw"

	"lockbench/results"
	"lockbench/results/num"
)

// fairness draws Jain's index beside throughput: an unfair lock is fast because
// one worker has it most of the time. With one worker there is nothing to
// share.
func (b *builder) fairness(g *group, s *results.Section) error {
	if s.Workers < 2 {
		return nil
	}
	has := func(c *results.CellSummary) bool { return c.Ranked() && c.Metrics.Jain != nil }
	var cells []*results.CellSummary
	var names []string
	var medians []float64
	lowest := 1.0
	for _, c := range s.Cells {
		if has(c) {
			cells, names, medians = append(cells, c), append(names, c.RowName()), append(medians, c.Metrics.Throughput.Median)
			lowest = min(lowest, c.Metrics.Jain.Median)
		}
	}
	if len(cells) == 0 {
		return nil
	}
	x := newScale(rateName, medians, rateTick)
	p := &panel{
		width: panelWidth, height: max(panelHeight, 90+15*len(cells)), beside: names,
		x: x, y: jainScale(lowest),
	}
	p.draw = append(p.draw, func(c *canvas, p plot) {
		c.say("hint", "fast and fair ↗", p.box.Right, p.box.Top-8, true)
		step := min(20, (p.box.Bottom-p.box.Top-20)/max(1, len(cells)))
		for i, cell := range cells {
			id, m := b.ids[cell.RowName()], &cell.Metrics
			at, y := p.at(m.Throughput.Median, m.Jain.Median)
			title := fmt.Sprintf("%s: %s, Jain's index %s", cell.RowName(), num.Rate(m.Throughput.Median), num.Three(m.Jain.Median))
			row := p.box.Top + 24 + i*step
			c.titled(title, func() {
				c.mark(id.mark(), id.shape, at, y)
				c.mark(id.mark(), id.shape, p.box.Right+20, row)
				c.say("name", fit(cell.RowName(), c.room), p.box.Right+30, row+4, false)
			})
		}
	})
	one := []*results.Section{s}
	caption := []string{fmt.Sprintf("Jain's index of the workers' shares: 1 = all the same, %s = one of %d got all. Names by throughput.", num.Three(1/float64(s.Workers)), s.Workers)}
	caption = append(caption, controls(one)...)
	caption = append(caption, zeros(x, cells)...)
	caption = append(caption, absences(one, has, "fairness was not measured")...)
	c := &Chart{
		Name: g.name("fairness", s), Title: g.title("Fairness and throughput", s),
		Workload: g.workload, Workers: s.Workers, Caption: caption,
	}
	return b.add(c, []*panel{p}, 1)
}

// jainScale has room above 1, where most marks are.
func jainScale(lowest float64) *scale {
	s := &scale{name: "Jain's index of fairness", min: 0, max: 1.04}
	at := []float64{0, 0.2, 0.4, 0.6, 0.8, 1}
	if lowest >= 0.5 {
		s.min, s.max, at = 0.5, 1.02, []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1}
	}
	for _, v := range at {
		s.ticks = append(s.ticks, chartdraw.Tick{Value: v, Label: num.Whole(v)})
	}
	return s
}
