package main

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/figure"
)

// group measures some figures that belong together.
type group struct {
	name string
	// rounds of each cell and repetitions of each run, unless it is said otherwise. 0: the program's own number of
	// rounds; the group has no repetitions.
	rounds, repeat int
	takes          time.Duration // about, on an idle machine of two cores
	targets        []figure.Figure
	// measure makes figures of the targets that it is given, which are those asked for, in their order.
	measure func(ctx context.Context, b *bench, s size, targets []figure.Figure) (figure.Report, error)
}

// size is how much a group measures.
type size struct{ rounds, repeat int }

// Names of figures that others are made of.
const repeatPrefix = "chaos-repeat-"

// repeated are the locks whose verdicts are asked for again and again: one a service that has leases.
var repeated = []string{"redis", "redlock", "etcd", "zookeeper"}

// groups in the order in which they run: the longest last.
func groups() []group {
	atMost := func(name, unit string, limit float64) figure.Figure {
		return figure.Figure{Name: name, Unit: unit, Op: figure.AtMost, Limit: limit}
	}
	var repeats []figure.Figure
	for _, l := range repeated {
		repeats = append(repeats, figure.Figure{Name: repeatPrefix + l, Unit: "pct", Op: figure.AtLeast, Limit: 100})
	}
	return []group{
		{"default", 0, 0, 2 * time.Minute, []figure.Figure{atMost("chaos-default-time", "s", 120), atMost("chaos-plan-estimate", "ratio", 2)}, timed()},
		{"ci", 0, 0, 5 * time.Minute, []figure.Figure{atMost("chaos-ci-time", "s", 600), atMost("chaos-plan-estimate-ci", "ratio", 2)}, timed("--preset", "ci")},
		{"recovery", 100, 6, 2 * time.Minute, []figure.Figure{atMost("chaos-recovery-error", "ms", 5)}, recovery},
		{"repeat", 3, 10, 40 * time.Minute, repeats, repeat},
		{"none", 200, 0, 30 * time.Minute, []figure.Figure{atMost("chaos-none-unsafe", "rounds", 0)}, none},
		{"agree", 0, 0, 60 * time.Minute, []figure.Figure{atMost("chaos-agree", "cells", 0)}, agree},
	}
}

// size is the group's own, but for what is asked for.
func (g group) size(o options) size {
	s := size{g.rounds, g.repeat}
	if o.rounds > 0 {
		s.rounds = o.rounds
	}
	if o.repeat > 0 && s.repeat > 0 {
		s.repeat = o.repeat
	}
	return s
}

// asked are those of its targets that are among the names; none means all.
func (g group) asked(names []string) []figure.Figure {
	if len(names) == 0 || slices.Contains(names, g.name) {
		return slices.Clone(g.targets)
	}
	return slices.DeleteFunc(slices.Clone(g.targets), func(t figure.Figure) bool { return !slices.Contains(names, t.Name) })
}

// names are what -only takes.
func names(gs []group) []string {
	var out []string
	for _, g := range gs {
		out = append(out, g.name)
		for _, t := range g.targets {
			out = append(out, t.Name)
		}
	}
	return out
}
