package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"lockbench/impls/planted"
	"lockbench/results"
	"lockbench/results/gate"
	"lockbench/results/pairs"
	"lockbench/results/stat"
)

// rulesText is the study's one rule, as a user writes it: every cell with extra
// work may get slower by so much.
func rulesText(metric string, allowed float64) string {
	return fmt.Sprintf("alpha: %g\nrules:\n  - lock: \"%s*\"\n    metric: %s\n    max-regression: %g%%\n", gate.DefaultAlpha, planted.Prefix, metric, 100*allowed)
}

// rulesOf is that rule, as lockbench gate reads it.
func rulesOf(metric string, allowed float64) (*gate.Rules, error) {
	return gate.ParseRules("rules", []byte(rulesText(metric, allowed)))
}

// A trace is what a gate sees: for each cell of the recording, in order, its
// rounds. All cells have as many.
type trace [][]*pairs.Cell

// along is the trace of the given rounds, as they were recorded.
func (r *recording) along(rounds []int) trace {
	out := make(trace, len(r.cells))
	for i, c := range r.cells {
		for _, n := range rounds {
			out[i] = append(out[i], c.rounds[n])
		}
	}
	return out
}

// block draws so many consecutive rounds from a recording of n, each start
// being as likely as any: the moving blocks of H.R. Kunsch, "The jackknife and
// the bootstrap for general stationary observations", Annals of Statistics 17
// (1989) 1217-1241. What resembles its neighbour in the recording does so in
// the block. Rounds near the ends are in fewer blocks than the others.
func block(rng *rand.Rand, n, length int) []int { return from(rng.IntN(n-length+1), length) }

// from is so many consecutive rounds.
func from(start, length int) []int {
	out := make([]int, length)
	for i := range out {
		out[i] = start + i
	}
	return out
}

// redrawn is the trace of a moving block in which the halves of each pair of
// each cell are exchanged by a fair coin of its own.
//
// The session threw such a coin for the order within each pair. So, if the two
// sides are the same program, which half is called new says nothing, and each of
// the redrawn recordings was as likely as the one that was made (E.S. Edgington,
// P. Onghena, "Randomization Tests", 4th ed. 2007, ch. 1). Given the recorded
// sizes, gates over such traces are independent trials of one rate, which is
// what the bounds of Clopper and Pearson ask for; gates over plain moving
// blocks are not, since all have the coins of one recording.
func (r *recording) redrawn(rng *rand.Rand, length int) trace {
	b := block(rng, len(r.combos), length)
	out := make(trace, len(r.cells))
	for i, c := range r.cells {
		for _, n := range b {
			round := c.rounds[n]
			if rng.Uint64()&1 == 1 {
				round = exchanged(round)
			}
			out[i] = append(out[i], round)
		}
	}
	return out
}

// exchanged is a round in which the old side is called new, and the new old.
func exchanged(round *pairs.Cell) *pairs.Cell {
	c := *round
	c.Outcomes = map[string]map[string]int{}
	for side, outcomes := range round.Outcomes {
		c.Outcomes[otherSide(side)] = outcomes
	}
	c.Pairs = nil
	for _, p := range round.Pairs {
		o, n := *p.New, *p.Old
		o.Side, n.Side = p.Old.Side, p.New.Side
		c.Pairs = append(c.Pairs, pairs.Pair{Number: p.Number, Old: &o, New: &n})
	}
	return &c
}

func otherSide(side string) string {
	if side == results.SideOld {
		return results.SideNew
	}
	return results.SideOld
}

// gateOver lets a gate with a budget of the whole trace decide as it does live:
// round by round, each cell until it needs no more.
func (r *recording) gateOver(rules *gate.Rules, tr trace) (*gate.Result, error) {
	g, err := gate.New(rules, r.gateCells(), len(tr[0]))
	if err != nil {
		return nil, err
	}
	for i, c := range r.cells {
		feed(g, c.Name, tr[i])
	}
	return g.Result(), nil
}

// feed gives a gate the rounds of a cell until it needs no more. Cells do not
// see each other, so that one after the other is as well as round by round.
func feed(g *gate.Gate, name string, rounds []*pairs.Cell) {
	var sum *pairs.Cell
	for _, round := range rounds {
		if !g.Next(name) {
			return
		}
		sum = plus(sum, round)
		g.Update(sum)
	}
}

// plus adds a round to what a gate has seen of a cell.
func plus(sum, round *pairs.Cell) *pairs.Cell {
	if sum == nil {
		c := *round
		c.Pairs, c.Dropped, c.Outcomes = nil, map[string]int{}, map[string]map[string]int{}
		sum = &c
	}
	sum.Pairs = append(sum.Pairs, round.Pairs...)
	for reason, n := range round.Dropped {
		sum.Dropped[reason] += n
	}
	for side, outcomes := range round.Outcomes {
		if sum.Outcomes[side] == nil {
			sum.Outcomes[side] = map[string]int{}
		}
		for o, n := range outcomes {
			sum.Outcomes[side][o] += n
		}
	}
	return sum
}

// A tally is what many gates over one recording came to.
type tally struct {
	gates   int
	budget  int
	verdict map[gate.Verdict]int
	cells   []cellTally
	pairs   []float64 // a gate: of the cell that took longest
	seconds []float64 // a gate: of all its cells
}

// A cellTally is one cell in all gates.
type cellTally struct {
	lock    string
	verdict map[gate.Verdict]int
	pairs   []float64
}

// share is k of n.
type share struct{ k, n int }

func (s share) value() float64 { return float64(s.k) / float64(max(1, s.n)) }

// confidence is that of all bounds of shares.
const confidence = 0.95

// bounds are those of Clopper and Pearson.
func (s share) bounds() (lo, hi float64) { return stat.ClopperPearson(s.k, s.n, confidence) }

// of is the share of gates with a verdict, or a worse one.
func (t *tally) of(v gate.Verdict) share { return share{t.verdict[v], t.gates} }

// alarms are the gates that fail a build, for whatever reason.
func (t *tally) alarms() share {
	return share{t.verdict[gate.Fail] + t.verdict[gate.Violation], t.gates}
}

// cellsOf is the share of tests of single cells with a verdict.
func (t *tally) cellsOf(v gate.Verdict) share {
	s := share{}
	for _, c := range t.cells {
		s.k += c.of(v).k
		s.n += c.of(v).n
	}
	return s
}

// of is the share of the cell's tests with a verdict.
func (c cellTally) of(v gate.Verdict) share { return share{c.verdict[v], len(c.pairs)} }

// cell is what is known of a lock; empty of an unknown one.
func (t *tally) cell(lock string) cellTally {
	for _, c := range t.cells {
		if c.lock == lock {
			return c
		}
	}
	return cellTally{lock: lock}
}

// cellPairs is how many pairs the tests of all cells took.
func (t *tally) cellPairs() []float64 {
	var out []float64
	for _, c := range t.cells {
		out = append(out, c.pairs...)
	}
	return out
}

// moving runs gates over moving blocks of a recording.
func (r *recording) moving(rules *gate.Rules, gates, budget int, seed uint64) (*tally, error) {
	return r.gates(rules, gates, func(i int) trace {
		return r.along(block(rand.New(rand.NewPCG(seed, uint64(i))), len(r.combos), r.fit(budget)))
	})
}

// redraw runs gates over traces with the halves exchanged by coins.
func (r *recording) redraw(rules *gate.Rules, gates, budget int, seed uint64) (*tally, error) {
	return r.gates(rules, gates, func(i int) trace { return r.coins(seed, i, budget) })
}

// coins is the trace of the redrawn gate of that number.
func (r *recording) coins(seed uint64, i, budget int) trace {
	return r.redrawn(rand.New(rand.NewPCG(seed, uint64(i))), r.fit(budget))
}

// fit is the budget, or the length of a shorter recording.
func (r *recording) fit(budget int) int { return min(budget, len(r.combos)) }

// oneEach runs one gate over the rounds of each two builds. Their budget is the
// rounds that there are.
func (r *recording) oneEach(rules *gate.Rules, builds [][]int, budget int) (*tally, error) {
	budget = min(budget, shortest(builds))
	return r.gates(rules, len(builds), func(i int) trace { return r.along(builds[i][:budget]) })
}

// gates runs many gates, each over a trace of its own; all have one length.
func (r *recording) gates(rules *gate.Rules, gates int, over func(i int) trace) (*tally, error) {
	out := make([]*gate.Result, gates)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range gates {
		g.Go(func() (err error) {
			out[i], err = r.gateOver(rules, over(i))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("%s: replay: %w", r.name, err)
	}
	t := &tally{}
	for _, res := range out {
		t.budget = res.Plan.Budget
		t.add(res, r.cost)
	}
	return t, nil
}

// cost is how many seconds the pairs of a test took.
func (r *recording) cost(x gate.Test) float64 {
	for _, c := range r.cells {
		if c.Name == x.Cell.Name {
			return c.seconds * float64(x.Measured)
		}
	}
	return 0
}

// add counts a gate; seconds is how long a test's pairs took.
func (t *tally) add(res *gate.Result, seconds func(gate.Test) float64) {
	if t.verdict == nil {
		t.verdict = map[gate.Verdict]int{}
	}
	t.gates++
	t.verdict[res.Verdict]++
	most, sum := 0.0, 0.0
	for _, x := range res.Tests {
		t.test(x)
		most = max(most, float64(x.Measured))
		sum += seconds(x)
	}
	t.pairs = append(t.pairs, most)
	t.seconds = append(t.seconds, sum)
}

// test counts the test of a cell.
func (t *tally) test(x gate.Test) {
	i := slices.IndexFunc(t.cells, func(c cellTally) bool { return c.lock == x.Cell.Lock })
	if i < 0 {
		i = len(t.cells)
		t.cells = append(t.cells, cellTally{lock: x.Cell.Lock, verdict: map[gate.Verdict]int{}})
	}
	t.cells[i].verdict[x.Verdict]++
	t.cells[i].pairs = append(t.cells[i].pairs, float64(x.Measured))
}

// quantile is the smallest value that the share q of the values does not exceed;
// 0 of none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	i := int(q * float64(len(v)))
	return v[min(i, len(v)-1)]
}
