package main

import (
	"fmt"

	"lockbench/results/gate"
)

// Trials one after the other: each begins where the one before came to its
// verdict, so that no pair is in two of them. If pairs do not depend on each
// other, neither do the trials.
//
// A trial begins only if the recording has a whole budget of rounds left for it.
// So each one that begins comes to its end, and how many there are is decided
// before the last one is seen. To begin one more, and to leave it out when the
// recording ends first, would leave out the long ones, which are those that do
// not find.

// apart runs whole gates one after the other.
func (r *recording) apart(rules *gate.Rules, budget int) (*tally, error) {
	budget = r.fit(budget)
	t := &tally{budget: budget}
	for start := 0; start+budget <= len(r.combos); {
		res, err := r.gateOver(rules, r.along(from(start, budget)))
		if err != nil {
			return nil, fmt.Errorf("%s: replay: %w", r.name, err)
		}
		t.add(res, r.cost)
		used := int(t.pairs[len(t.pairs)-1])
		start += max(1, used)
	}
	return t, nil
}

// singles runs, for each cell, its test one after the other: at the levels that
// it has in a gate of all cells. The tally has no whole gates.
func (r *recording) singles(rules *gate.Rules, budget int) (*tally, error) {
	budget = r.fit(budget)
	t := &tally{budget: budget}
	for _, c := range r.cells {
		for start := 0; start+budget <= len(c.rounds); {
			x, err := r.single(rules, c, start, budget)
			if err != nil {
				return nil, fmt.Errorf("%s: replay: %w", r.name, err)
			}
			t.test(x)
			start += max(1, x.Measured)
		}
	}
	return t, nil
}

// single is the test of one cell from a round on.
func (r *recording) single(rules *gate.Rules, c *cell, start, budget int) (gate.Test, error) {
	g, err := gate.New(rules, r.gateCells(), budget)
	if err != nil {
		return gate.Test{}, err
	}
	feed(g, c.Name, c.rounds[start:start+budget])
	for _, x := range g.Result().Tests {
		if x.Cell.Name == c.Name {
			return x, nil
		}
	}
	return gate.Test{}, fmt.Errorf("no rule is about %s", c.Name)
}

// inARow is how many trials it takes, all of them good, until the bound of the
// share of bad ones is at most that.
func inARow(bad float64) int {
	for n := 1; ; n++ {
		if _, hi := (share{0, n}).bounds(); hi <= bad {
			return n
		}
	}
}
