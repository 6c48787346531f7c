package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"lockbench/impls/planted"
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

// block draws so many consecutive rounds from one of the groups, each start
// being as likely as any: the moving blocks of H.R. Kunsch, "The jackknife and
// the bootstrap for general stationary observations", Annals of Statistics 17
// (1989) 1217-1241. What resembles its neighbour in the recording does so in
// the block. Rounds near the ends are in fewer blocks than the others.
func block(rng *rand.Rand, groups [][]int, length int) []int {
	g := groups[rng.IntN(len(groups))]
	start := rng.IntN(len(g) - length + 1)
	return g[start : start+length]
}

// gateOver lets a gate decide over the rounds of a block as it does live: round
// by round, each cell until it needs no more.
func (r *recording) gateOver(rules *gate.Rules, block []int) (*gate.Result, error) {
	g, err := gate.New(rules, r.gateCells(), len(block))
	if err != nil {
		return nil, err
	}
	sum := make([]*pairs.Cell, len(r.cells))
	for _, n := range block {
		more := false
		for i, c := range r.cells {
			if g.Next(c.Name) {
				more = true
				sum[i] = plus(sum[i], c.rounds[n])
				g.Update(sum[i])
			}
		}
		if !more {
			break
		}
	}
	return g.Result(), nil
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
	blocks  float64   // recorded rounds by the pairs of the median gate
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

// cellsOf is the share of cells, in all gates, with a verdict.
func (t *tally) cellsOf(v gate.Verdict) share {
	s := share{}
	for _, c := range t.cells {
		s.k += c.verdict[v]
		s.n += t.gates
	}
	return s
}

// replay runs gates over blocks of a recording.
func (r *recording) replay(rules *gate.Rules, groups [][]int, gates, budget int, seed uint64) (*tally, error) {
	budget = min(budget, shortest(groups))
	out := make([]*gate.Result, gates)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range gates {
		g.Go(func() (err error) {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			out[i], err = r.gateOver(rules, block(rng, groups, budget))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("%s: replay: %w", r.name, err)
	}
	t := &tally{budget: budget}
	for _, res := range out {
		seconds := map[string]float64{}
		for _, c := range r.cells {
			seconds[c.Name] = c.seconds
		}
		t.add(res, func(x gate.Test) float64 { return seconds[x.Cell.Name] * float64(x.Measured) })
	}
	rounds := 0
	for _, g := range groups {
		rounds += len(g)
	}
	t.blocks = float64(rounds) / quantile(t.pairs, 0.5)
	return t, nil
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
		i := slices.IndexFunc(t.cells, func(c cellTally) bool { return c.lock == x.Cell.Lock })
		if i < 0 {
			i = len(t.cells)
			t.cells = append(t.cells, cellTally{lock: x.Cell.Lock, verdict: map[gate.Verdict]int{}})
		}
		t.cells[i].verdict[x.Verdict]++
		t.cells[i].pairs = append(t.cells[i].pairs, float64(x.Measured))
		most = max(most, float64(x.Measured))
		sum += seconds(x)
	}
	t.pairs = append(t.pairs, most)
	t.seconds = append(t.seconds, sum)
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
