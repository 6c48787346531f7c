package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/gate"
	"lockbench/results/pairs"
	"lockbench/results/stat"
)

// layoutEffect is the standard deviation of the difference between two builds
// that differ in layout, as a log ratio, without what chance adds to it. It does
// not average out over pairs. builds are the rounds of each combination.
//
// Combinations share builds, so that it is the sum of two variances: of the
// means over all combinations with the same old build, and with the same new
// one, each less what the intervals of the combinations say of their own error.
func (r *recording) layoutEffect(c *cell, m results.Metric, builds [][]int) float64 {
	var centre, square []float64
	for _, rounds := range builds {
		var xs []float64
		for _, n := range rounds {
			xs = append(xs, c.rounds[n].LogRatios(m)...)
		}
		i := stat.SignedRank(xs, 1-confidence)
		se := (i.Hi - i.Lo) / 2 / normalQuantile(1-(1-confidence)/2)
		centre, square = append(centre, i.Center), append(square, se*se)
	}
	variance := 0.0
	for side := range 2 {
		by := map[int][]int{} // build of that side -> combinations
		for i, rounds := range builds {
			build := r.combos[rounds[0]][side]
			by[build] = append(by[build], i)
		}
		var sum, squares, own float64
		for _, is := range by {
			var mean, se float64
			k := float64(len(is))
			for _, i := range is {
				mean, se = mean+centre[i]/k, se+square[i]/k/k
			}
			sum, squares, own = sum+mean, squares+mean*mean, own+se
		}
		if n := float64(len(by)); n > 1 {
			variance += (squares-sum*sum/n)/(n-1) - own/n
		}
	}
	if !(variance > 0) { // bounds of few pairs are infinite
		return 0
	}
	return math.Sqrt(variance)
}

// A guess is what a simulation says of gates with so many builds a side.
type guess struct {
	builds int
	alarms share
}

// simulatedBuilds are the numbers of builds a side that are simulated.
func simulatedBuilds() []int { return []int{1, 2, 4} }

// layoutGates simulates gates between builds that differ by the given effects, a
// cell, and in nothing else: the noise is that of the recording, with the order
// within pairs drawn anew, the builds are drawn for each gate, each with a
// normally distributed speed of its own, and take turns as they do in lockbench ab.
func (r *recording) layoutGates(rules *gate.Rules, effects []float64, builds, gates, budget int, seed uint64) (share, error) {
	t, err := r.gates(rules, gates, func(i int) trace {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		tr := r.redrawn(rng, r.fit(budget))
		for c := range tr {
			old, new := make([]float64, builds), make([]float64, builds)
			for k := range builds {
				old[k], new[k] = rng.NormFloat64()*effects[c]/math.Sqrt2, rng.NormFloat64()*effects[c]/math.Sqrt2
			}
			for n, round := range tr[c] {
				tr[c][n] = slower(round, new[(n+n/builds)%builds]-old[n%builds])
			}
		}
		return tr
	})
	if err != nil {
		return share{}, err
	}
	return t.alarms(), nil
}

// slower is a round whose new side takes exp(shift) times as long an operation.
func slower(round *pairs.Cell, shift float64) *pairs.Cell {
	c := *round
	c.Pairs = nil
	for _, p := range round.Pairs {
		n := *p.New
		n.ThroughputOps *= math.Exp(-shift)
		n.WallNSPerOp *= math.Exp(shift)
		n.CPUNSPerOp *= math.Exp(shift)
		c.Pairs = append(c.Pairs, pairs.Pair{Number: p.Number, Old: p.Old, New: &n})
	}
	return &c
}

// guessLayouts simulates, if both recordings are there that it takes.
func (st *study) guessLayouts() error {
	same, layouts := st.byName(partSame), st.byName(partLayouts)
	if same == nil || layouts == nil {
		return nil
	}
	rules, err := rulesOf(metric, threshold)
	if err != nil {
		return err
	}
	for _, n := range simulatedBuilds() {
		s, err := same.rec.layoutGates(rules, layouts.effects, n, st.o.gates, st.o.budget, st.o.seed)
		if err != nil {
			return err
		}
		st.guesses = append(st.guesses, guess{n, s})
	}
	return nil
}

// layoutTable is how far builds differ, and what that implies.
func (st *study) layoutTable() string {
	p := st.byName(partLayouts)
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("Two builds that differ in layout only differ by (standard deviation, without what chance adds): %s. From %d builds a side that is a rough figure.\n",
		layoutList(p), len(p.new))
	if len(st.guesses) == 0 {
		return text
	}
	var rows [][]string
	for _, g := range st.guesses {
		rows = append(rows, []string{fmt.Sprint(g.builds), g.alarms.text()})
	}
	return text + "\nGates that would fail if layouts differ as much as that: simulated, each gate with builds of its own, with the noise of the recording of the same program.\n\n" +
		table([]string{"builds a side", "false alarms"}, rows)
}

// layoutList is the effects, the largest first.
func layoutList(p *part) string {
	order := make([]int, len(p.effects))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.effects[b], p.effects[a]) })
	var out []string
	for _, i := range order {
		out = append(out, fmt.Sprintf("%s %s %%", unprefixed(p.rec.cells[i].Lock), pct(p.effects[i])))
	}
	return strings.Join(out, ", ")
}
