package charts

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

const (
	rateName     = "throughput, acquisitions/s"
	intervalNote = "Bars: 95 % interval of the median."
)

// noInterval says which points have no bar.
func noInterval(cells []*results.CellSummary) []string {
	with, without := 0, 0
	for _, c := range cells {
		switch {
		case !c.Ranked():
		case c.Metrics.Throughput.Lo != nil:
			with++
		default:
			without++
		}
	}
	switch {
	case without == 0:
		return []string{intervalNote}
	case with == 0:
		return []string{fmt.Sprintf("No bars: fewer than %d repetitions have no 95 %% interval.", results.MinReps)}
	}
	return []string{intervalNote + fmt.Sprintf(" Without a bar: fewer than %d repetitions.", results.MinReps)}
}

// rateTitle is the figure in words.
func rateTitle(c *results.CellSummary) string {
	t := c.Metrics.Throughput
	s := fmt.Sprintf("%s, %s: %s, median of %d", c.RowName(), workers(c.Workers), num.Rate(t.Median), t.N)
	if t.Lo != nil {
		s += fmt.Sprintf(", 95 %% interval %s to %s", num.Rate(*t.Lo), num.Rate(*t.Hi))
	}
	return s
}

// rates are the figures that a scale of throughput must hold.
func rates(cells []*results.CellSummary) []float64 {
	var out []float64
	for _, c := range cells {
		if c.Ranked() {
			t := c.Metrics.Throughput
			out = append(out, t.Median)
			if t.Lo != nil {
				out = append(out, *t.Lo, *t.Hi)
			}
		}
	}
	return out
}

// zeros names the cells whose median has no place on a logarithmic scale.
func zeros(s *scale, cells []*results.CellSummary) []string {
	var names []string
	for _, c := range cells {
		if s.log && c.Ranked() && c.Metrics.Throughput.Median == 0 && !slices.Contains(names, c.RowName()) {
			names = append(names, c.RowName())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"At the lower edge, because the median is 0: " + strings.Join(names, ", ") + "."}
}

func everyCell(*results.CellSummary) bool { return true }

// throughputLines draws throughput against the number of workers.
func (b *builder) throughputLines(g *group) error {
	cells := cellsOf(g.sections)
	byLock := map[string]*line{}
	var names []string
	for _, c := range cells { // by workers
		if !c.Ranked() {
			continue
		}
		l := byLock[c.RowName()]
		if l == nil {
			l = &line{identity: b.ids[c.RowName()], title: c.RowName()}
			byLock[c.RowName()], names = l, append(names, c.RowName())
		}
		t := c.Metrics.Throughput
		l.points = append(l.points, point{x: float64(c.Workers), y: t.Median, lo: t.Lo, hi: t.Hi, title: rateTitle(c), marked: true})
	}
	if len(names) == 0 {
		return nil
	}
	var lines []line
	for _, n := range names {
		lines = append(lines, *byLock[n])
	}
	sortLines(lines)
	y := newScale(rateName, rates(cells), rateTick)
	caption := noInterval(cells)
	if g.each > 0 {
		caption = append(caption, fmt.Sprintf("Each client process has %s.", workers(g.each)))
	}
	caption = append(caption, controls(g.sections)...)
	caption = append(caption, zeros(y, cells)...)
	caption = append(caption, absences(g.sections, everyCell, "")...)
	c := &Chart{Name: g.name("throughput", nil), Title: g.title("Throughput by number of workers", nil), Workload: g.workload, Caption: caption}
	return b.add(c, linePanels(lines, workerScale(g.sections), y), columns)
}

// sortLines puts families together.
func sortLines(lines []line) {
	slices.SortStableFunc(lines, func(a, b line) int {
		if a.family != b.family {
			return strings.Compare(a.family, b.family)
		}
		return strings.Compare(a.name, b.name)
	})
}

// workerScale has the numbers of workers that were measured. It is logarithmic
// when they are doubled rather than counted up.
func workerScale(sections []*results.Section) *scale {
	var at []float64
	for _, s := range sections {
		at = append(at, float64(s.Workers))
	}
	lo, hi := at[0], at[len(at)-1]
	s := &scale{name: "workers", min: lo, max: hi, log: hi/lo >= 8}
	if s.log {
		s.name += ", log scale"
		margin := math.Pow(hi/lo, 0.04)
		s.min, s.max = lo/margin, hi*margin
	} else {
		s.min, s.max = lo-0.04*(hi-lo), hi+0.04*(hi-lo)
	}
	s.ticks = ticks(sparse(at, s), func(v float64) string { return num.Whole(v) })
	return s
}

// sparse leaves out values whose labels would touch on an axis of 300 pixels.
func sparse(at []float64, s *scale) []float64 {
	probe := s.copied()
	probe.pixels = 300
	var out []float64
	last := -100
	for _, v := range at {
		if x := probe.Translate(v); x-last >= 24 {
			out, last = append(out, v), x
		}
	}
	return out
}

// throughputRows draws throughput where there is one number of workers only.
func (b *builder) throughputRows(g *group, s *results.Section) error {
	var rows []row
	for _, c := range s.Cells {
		if !c.Ranked() {
			continue
		}
		id, t := b.ids[c.RowName()], c.Metrics.Throughput
		rows = append(rows, row{name: c.RowName(), value: num.Rate(t.Median), draw: func(cv *canvas, p plot, y int) {
			cv.titled(rateTitle(c), func() {
				x := p.box.Left + p.x.Translate(t.Median)
				if t.Lo != nil {
					lo, hi := p.box.Left+p.x.Translate(*t.Lo), p.box.Left+p.x.Translate(*t.Hi)
					cv.lines(id.bar(), [2]int{lo, y}, [2]int{hi, y})
					cv.lines(id.bar(), [2]int{lo, y - 4}, [2]int{lo, y + 4})
					cv.lines(id.bar(), [2]int{hi, y - 4}, [2]int{hi, y + 4})
				}
				cv.mark(id.mark(), id.shape, x, y)
			})
		}})
	}
	if len(rows) == 0 {
		return nil
	}
	x := newScale(rateName, rates(s.Cells), rateTick)
	one := []*results.Section{s}
	caption := noInterval(s.Cells)
	caption = append(caption, controls(one)...)
	caption = append(caption, zeros(x, s.Cells)...)
	caption = append(caption, absences(one, everyCell, "")...)
	c := &Chart{Name: g.name("throughput", s), Title: g.title("Throughput", s), Workload: g.workload, Workers: s.Workers, Caption: caption}
	return b.add(c, []*panel{rowPanel(rows, x)}, 1)
}
