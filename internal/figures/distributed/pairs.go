package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"lockbench/backends"
	"lockbench/internal/figure"
	"lockbench/results"
)

// length is how long one side of a round is measured.
const (
	length  = 400 * time.Millisecond
	warmup  = 50 * time.Millisecond
	workers = 8 // also connections, and client processes, of the figures with 8
)

// flags of every lockbench run: fence off, because redis-benchmark's SET has none and peers have
// none. Renewal stays on, its first one being due after a third of the TTL.
func flags(d time.Duration, more ...string) []string {
	return append([]string{"--fence=false", "--warmup", warmup.String(), "--duration", d.String()}, more...)
}

// uncontended runs each worker on a key of its own.
func uncontended(locks string, clients, workers int, d time.Duration) []string {
	return flags(d, "--lock", locks, "--workload", "uncontended", "--keys", "own", "--reps", "1",
		"--clients", strconv.Itoa(clients), "--workers", strconv.Itoa(workers))
}

// nullLease is the control that lockbench measures in every run: claims and clocks, no server.
const nullLease = "null-lease"

// ours is a side that runs one lock, and tells its pairs a second as name, and what the control
// costs in the same run.
func (b *bench) ours(c *backends.Cluster, name, lock string, clients, workers int, d time.Duration) side {
	return side{name, func(ctx context.Context) (values, error) {
		reps, err := b.lockbench(ctx, c, uncontended(lock, clients, workers, d)...)
		if err != nil {
			return nil, err
		}
		s, null := reps[0][lock], reps[0][nullLease]
		ns, err := wall(s)
		if err != nil {
			return nil, err
		}
		if null == nil || null.WallNSPerOp <= 0 {
			return nil, errors.New("no measurement of " + nullLease)
		}
		v := values{name: 1e9 / ns, name + "/null": null.WallNSPerOp / ns}
		if s.CPUNSPerOp > 0 && null.CPUNSPerOp > 0 {
			v[name+"/null-cpu"] = null.CPUNSPerOp / s.CPUNSPerOp
		}
		return v, nil
	}}
}

// command is a side that measures one command.
func (r *redisBench) command(name string, clients int, fresh bool, make func(key string) []string) side {
	return side{name, func(ctx context.Context) (values, error) {
		v, err := r.rate(ctx, name, clients, fresh, make)
		return values{name: v}, err
	}}
}

// redisPair measures pairs of lock redis against redis-benchmark's anchor.
func redisPair(ctx context.Context, b *bench, rounds int, targets []figure.Figure) (rep figure.Report, err error) {
	c, err := b.servers.cluster(ctx, "redis")
	if err != nil {
		return rep, err
	}
	t, err := b.tool(ctx, "redis-benchmark", c)
	if err != nil {
		return rep, err
	}
	r, err := newRedisBench(ctx, t, c, length)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, r.close()) }()

	sides := []side{
		b.ours(c, "one", "redis", 1, 1, length),
		b.ours(c, "workers", "redis", 1, workers, length),
		b.ours(c, "processes", "redis", workers, 1, length),
	}
	for _, n := range []int{1, workers} {
		sides = append(sides,
			r.command(fmt.Sprintf("set-%d", n), n, false, r.set), r.command(fmt.Sprintf("eval-%d", n), n, false, r.eval),
			r.command(fmt.Sprintf("fresh-set-%d", n), n, true, r.set), r.command(fmt.Sprintf("fresh-eval-%d", n), n, true, r.eval))
	}
	got, err := interleave(ctx, b.rng, rounds, sides, b.rounds("redis-pair", rounds))
	if err != nil {
		return rep, err
	}
	return redisPairFigures(got, targets), nil
}

// redisPairFigures decides.
func redisPairFigures(got []values, targets []figure.Figure) figure.Report {
	against := func(ours, kind string, n int) []float64 {
		return per(got, func(v values) float64 {
			return v[ours] / anchor(v[fmt.Sprintf("%sset-%d", kind, n)], v[fmt.Sprintf("%seval-%d", kind, n)])
		})
	}
	one := func(name string) []float64 { return per(got, func(v values) float64 { return v[name] }) }
	rep := figure.Report{
		Figures: []figure.Figure{
			paired(targets[0], against("one", "", 1)),
			paired(targets[1], against("workers", "", workers)),
			scaled(paired(targets[2], one("one/null")), 100),
		},
		Notes: []figure.Figure{
			paired(figure.Note("redis-pair-8-processes", "ratio"), against("processes", "", workers)),
			paired(figure.Note("redis-pair-1-fresh-keys", "ratio"), against("one", "fresh-", 1)),
			paired(figure.Note("redis-pair-8-fresh-keys", "ratio"), against("workers", "fresh-", workers)),
			scaled(paired(figure.Note("harness-cost-cpu", "pct"), one("one/null-cpu")), 100),
		},
	}
	for _, x := range []struct{ name, of string }{
		{"redis-pairs-1", "one"}, {"redis-pairs-8", "workers"}, {"redis-pairs-8-processes", "processes"},
		{"redis-benchmark-set-1", "set-1"}, {"redis-benchmark-evalsha-1", "eval-1"},
		{"redis-benchmark-set-8", "set-8"}, {"redis-benchmark-evalsha-8", "eval-8"},
	} {
		rep.Notes = append(rep.Notes, figure.Note(x.name, "1/s").Median(one(x.of)))
	}
	return rep
}

// pgPair measures pairs of pg-advisory against pgbench.
func pgPair(ctx context.Context, b *bench, rounds int, targets []figure.Figure) (rep figure.Report, err error) {
	c, err := b.servers.cluster(ctx, "postgres")
	if err != nil {
		return rep, err
	}
	t, err := b.tool(ctx, "pgbench", c)
	if err != nil {
		return rep, err
	}
	got, err := interleave(ctx, b.rng, rounds, []side{
		b.ours(c, "one", "pg-advisory", 1, 1, time.Second), // as long as pgbench
		{"pgbench", func(ctx context.Context) (values, error) {
			v, err := pgPairs(ctx, t, c.Target())
			return values{"pgbench": v}, err
		}},
	}, b.rounds("pg", rounds))
	if err != nil {
		return rep, err
	}
	return figure.Report{
		Figures: []figure.Figure{paired(targets[0], per(got, ratio("one", "pgbench")))},
		Notes: []figure.Figure{
			figure.Note("pg-advisory-pairs-1", "1/s").Median(per(got, func(v values) float64 { return v["one"] })),
			figure.Note("pgbench-pairs-1", "1/s").Median(per(got, func(v values) float64 { return v["pgbench"] })),
		},
	}, nil
}

// handoff holds redis-pubsub's against redsync's.
func handoff(ctx context.Context, b *bench, rounds int, targets []figure.Figure) (rep figure.Report, err error) {
	c, err := b.servers.cluster(ctx, "redis")
	if err != nil {
		return rep, err
	}
	run := func(d time.Duration, more ...string) (map[int]map[string]*results.Sample, error) {
		return b.lockbench(ctx, c, flags(d, append([]string{"--lock", "redis-pubsub,redsync", "--workload", "max-contention",
			"--clients", strconv.Itoa(workers), "--workers", "1", "--reps", strconv.Itoa(rounds)}, more...)...)...)
	}
	b.say("handoff: %d rounds of 8 clients that come back after some time", rounds)
	reps, err := run(handoffLength, "--section", handoffSection, "--think", handoffThink)
	if err != nil {
		return rep, err
	}
	b.say("handoff: %d rounds of 8 clients that come back at once", rounds)
	greedy, err := run(length)
	if err != nil {
		return rep, err
	}
	return handoffFigures(reps, greedy, targets), nil
}

// In the workload of the figure the clients want the lock four times as often as it can be had, so
// that others wait whenever it is released, and who has released it is away for longer than they
// need to look again. Between release and grant passes a fifth of a section at most, so
// that few clients come back in between and take what was on its way to a waiter.
const (
	handoffSection = "100ms"
	handoffThink   = "100ms"
	handoffLength  = 3 * time.Second
)

// handoffFigures decides. greedy are repetitions without think time, which are told.
func handoffFigures(reps, greedy map[int]map[string]*results.Sample, targets []figure.Figure) figure.Report {
	ratios := func(reps map[int]map[string]*results.Sample) ([]float64, error) {
		var out []float64
		for i := range len(reps) {
			ours, theirs := reps[i]["redis-pubsub"], reps[i]["redsync"]
			if ours == nil || theirs == nil || ours.Handoff == nil || theirs.Handoff == nil || theirs.Handoff.P50 <= 0 {
				return nil, fmt.Errorf("repetition %d: a lock was never handed from one client to another", i+1)
			}
			out = append(out, float64(ours.Handoff.P50)/float64(theirs.Handoff.P50))
		}
		return out, nil
	}
	decide := func(t figure.Figure, reps map[int]map[string]*results.Sample) figure.Figure {
		r, err := ratios(reps)
		if err != nil {
			return t.Failed(err)
		}
		return paired(t, r)
	}
	median := func(name, lock string) figure.Figure {
		var us []float64
		for i := range len(reps) {
			if s := reps[i][lock]; s != nil && s.Handoff != nil {
				us = append(us, float64(s.Handoff.P50)/1e3)
			}
		}
		return figure.Note(name, "us").Median(us)
	}
	return figure.Report{
		Figures: []figure.Figure{decide(targets[0], reps), trips(targets[1], reps)},
		Notes: []figure.Figure{median("pubsub-handoff-p50", "redis-pubsub"), median("redsync-handoff-p50", "redsync"),
			decide(figure.Note("pubsub-handoff-greedy", "ratio"), greedy), trips(figure.Note("pubsub-handoff-trips-greedy", "1"), greedy)},
	}
}

// trips is the median of the rounds' median round trips of a handoff of redis-pubsub.
func trips(t figure.Figure, reps map[int]map[string]*results.Sample) figure.Figure {
	var n []float64
	for i := range len(reps) {
		s := reps[i]["redis-pubsub"]
		if s == nil || s.Remote == nil || s.Remote.HandoffTrips == nil {
			return t.Failed(fmt.Errorf("repetition %d: no handoff's round trips were counted", i+1))
		}
		n = append(n, *s.Remote.HandoffTrips)
	}
	return t.Median(n)
}
