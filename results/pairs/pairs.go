// Package pairs puts the halves of a paired session (lockbench ab) together:
// repetitions of the old and the new program that ran back to back.
package pairs

import (
	"cmp"
	"math"
	"slices"

	"lockbench/results"
)

// A Pair is two ok repetitions of one cell that ran back to back, in random
// order, in one coherence mode.
type Pair struct {
	Number   int // the repetition number of both
	Old, New *results.Sample
}

// Why a pair is no evidence about speed.
const (
	DroppedCoherence = "coherence" // its halves ran in different coherence modes
	DroppedOutcome   = "outcome"   // a half was not ok
	DroppedAlone     = "alone"     // a half is missing: the session was interrupted
)

// A Cell is the pairs of one cell, in order of their numbers.
type Cell struct {
	Name, Lock, Workload string
	Workers              int
	Control              bool
	Dispatch, Threads    string
	Pairs                []Pair
	Dropped              map[string]int // reason -> pairs
	// Outcomes counts the repetitions of each side by outcome.
	Outcomes map[string]map[string]int // side -> outcome -> repetitions
	// Skipped is why the cell was not measured, "" = it was.
	Skipped string
}

// Measured is the number of pairs that were run, dropped ones included.
func (c *Cell) Measured() int {
	n := len(c.Pairs)
	for _, k := range c.Dropped {
		n += k
	}
	return n
}

// SameMode reports whether two repetitions began in one coherence mode: the
// readings before their intervals lie within results.CoherenceFactor. The
// readings after them are not asked: a lock that changes what they say, by heat
// or by threads that it leaves behind, could have its own bad repetitions
// dropped. Where neither half has a reading, there is nothing to tell them apart
// by; where only one has, they are not known to be alike.
func SameMode(a, b *results.Sample) bool {
	x, y := a.CoherenceBeforeNS, b.CoherenceBeforeNS
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	return max(*x, *y) <= results.CoherenceFactor*min(*x, *y)
}

// A Builder collects samples as they come. The zero value is ready.
type Builder struct {
	cells []*building
	at    map[string]*building
}

type building struct {
	cell  Cell
	halfs map[int]*[2]*results.Sample // pair -> old, new
}

// Add adds a sample of a paired session. A repetition that was read before is
// not counted again.
func (b *Builder) Add(s *results.Sample) {
	if b.at == nil {
		b.at = map[string]*building{}
	}
	c := b.at[s.Cell]
	if c == nil {
		c = &building{cell: Cell{Name: s.Cell, Lock: s.Lock, Workload: s.Workload, Workers: s.Workers, Control: s.Control,
			Dispatch: s.Dispatch, Threads: s.Threads, Outcomes: map[string]map[string]int{}}, halfs: map[int]*[2]*results.Sample{}}
		b.at[s.Cell] = c
		b.cells = append(b.cells, c)
	}
	if s.Outcome == results.OutcomeSkipped {
		c.cell.Skipped = s.Reason
		return
	}
	h := c.halfs[s.Rep]
	if h == nil {
		h = new([2]*results.Sample)
		c.halfs[s.Rep] = h
	}
	i := 0
	if s.Side == results.SideNew {
		i = 1
	}
	if h[i] != nil {
		return
	}
	h[i] = s
	if c.cell.Outcomes[s.Side] == nil {
		c.cell.Outcomes[s.Side] = map[string]int{}
	}
	c.cell.Outcomes[s.Side][s.Outcome]++
}

// Cells returns the cells so far, in the order in which they first came.
func (b *Builder) Cells() []*Cell {
	var out []*Cell
	for _, c := range b.cells {
		out = append(out, c.build())
	}
	return out
}

// Cell returns one cell by name, nil if there is none.
func (b *Builder) Cell(name string) *Cell {
	if c := b.at[name]; c != nil {
		return c.build()
	}
	return nil
}

func (b *building) build() *Cell {
	c := b.cell
	c.Dropped = map[string]int{}
	for n, h := range b.halfs {
		o, w := h[0], h[1]
		switch {
		case o == nil || w == nil:
			c.Dropped[DroppedAlone]++
		case o.Outcome != results.OutcomeOK || w.Outcome != results.OutcomeOK:
			c.Dropped[DroppedOutcome]++
		case !SameMode(o, w):
			c.Dropped[DroppedCoherence]++
		default:
			c.Pairs = append(c.Pairs, Pair{Number: n, Old: o, New: w})
		}
	}
	slices.SortFunc(c.Pairs, func(a, b Pair) int { return cmp.Compare(a.Number, b.Number) })
	return &c
}

// Of returns the cells of a paired run, nil if the run is none.
func Of(run *results.RunReport) []*Cell {
	if len(run.Run.Programs) == 0 {
		return nil
	}
	var b Builder
	for _, s := range run.Samples {
		b.Add(s)
	}
	return b.Cells()
}

// LogRatio is ln(new/old) of a metric of a pair; false if a half does not have
// the figure. Two zeros, and two infinities, are alike: 0. One of them is -Inf
// or +Inf, which rank statistics take as the largest difference there is.
func (p Pair) LogRatio(m results.Metric) (float64, bool) {
	o, ok1 := m.Of(p.Old)
	n, ok2 := m.Of(p.New)
	if !ok1 || !ok2 {
		return 0, false
	}
	if o == n {
		return 0, true
	}
	return math.Log(n) - math.Log(o), true
}

// LogRatios are those of all pairs that have the metric, in order.
func (c *Cell) LogRatios(m results.Metric) []float64 {
	var out []float64
	for _, p := range c.Pairs {
		if r, ok := p.LogRatio(m); ok {
			out = append(out, r)
		}
	}
	return out
}
