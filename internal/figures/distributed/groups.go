package main

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/figure"
)

// group measures some figures that belong together.
type group struct {
	name    string
	rounds  int           // unless it is said otherwise
	takes   time.Duration // about, on an idle machine of two cores
	targets []figure.Figure
	measure func(ctx context.Context, b *bench, rounds int, targets []figure.Figure) (figure.Report, error)
}

// groups in the order in which they run: those on the same servers follow each other.
func groups() []group {
	atLeast := func(name string, limit float64) figure.Figure {
		return figure.Figure{Name: name, Unit: "ratio", Op: figure.AtLeast, Limit: limit}
	}
	atMost := func(name, unit string, limit float64) figure.Figure {
		return figure.Figure{Name: name, Unit: unit, Op: figure.AtMost, Limit: limit}
	}
	out := []group{{"redis-pair", 16, 130 * time.Second, []figure.Figure{
		atLeast("redis-pair-1", 0.80), atLeast("redis-pair-8", 0.70), atMost("harness-cost", "pct", 1)}, redisPair}}
	for _, p := range []rivals{
		{"redis", "redis", []string{"redsync", "redislock"}, 300 * time.Millisecond},
		{"etcd-1", "etcd", []string{"etcd-concurrency"}, 500 * time.Millisecond},
		{"zookeeper-1", "zookeeper", []string{"zk-recipe"}, 500 * time.Millisecond},
	} {
		g := group{name: "peers-" + p.ours, rounds: 20, takes: 65 * time.Second, measure: p.measure}
		for _, peer := range p.peers {
			g.targets = append(g.targets, atLeast(figureOf(p.ours, peer), 0.95))
		}
		out = append(out, g)
	}
	// After the other groups on redis.
	out = slices.Insert(out, 2, group{"handoff", 12, 130 * time.Second, []figure.Figure{
		atMost("pubsub-handoff", "ratio", 0.05), atMost("pubsub-handoff-trips", "1", 3)}, handoff})
	return append(out,
		group{"pg", 16, 65 * time.Second, []figure.Figure{atLeast("pg-advisory-pair", 0.80)}, pgPair},
		group{"start", 3, 50 * time.Second, []figure.Figure{
			atMost(startPrefix+"redis", "s", 5), atMost(startPrefix+"etcd-1", "s", 5), atMost(startPrefix+"zookeeper-1", "s", 5),
			atMost(startPrefix+"postgres", "s", 5), atMost(startPrefix+"etcd-3", "s", 10), atMost(startPrefix+"zookeeper-3", "s", 10)}, startup})
}

// wants reports whether the group, or one of its figures, is among the names; none means all.
func (g group) wants(names []string) bool {
	return len(names) == 0 || slices.Contains(names, g.name) ||
		slices.ContainsFunc(g.targets, func(t figure.Figure) bool { return slices.Contains(names, t.Name) })
}

// asked are those of its figures that are among the names.
func (g group) asked(names []string, figs []figure.Figure) []figure.Figure {
	if len(names) == 0 || slices.Contains(names, g.name) {
		return figs
	}
	return slices.DeleteFunc(slices.Clone(figs), func(f figure.Figure) bool { return !slices.Contains(names, f.Name) })
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
