package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"lockbench/results"
	"lockbench/results/gate"
)

// A study is what was measured so far.
type study struct {
	o      options
	stderr io.Writer
	round  time.Duration // a round of all cells, as the last session took it
	ops    []response
	first  *recording // for what the document says of the machine; nil = nothing was measured
	old    bool       // the programs are of other sources than there are now
	parts  []part
	live   []*liveGate
	// lost is the live gates without a verdict, each with the reason.
	lost    []string
	guesses []guess
	failed  map[string]error // part -> why it could not be measured
}

// A part is a recording and what came of it.
type part struct {
	session
	rec *recording
	// Replays by metric. moving: whole gates over moving blocks, which overlap.
	// The others are trials: drawn has the order within pairs drawn anew (one
	// program a side, no slowdown), apart is whole gates one after the other (no
	// slowdown), one is a gate for each combination of builds (several a side),
	// cells is single cells one after the other (a slowdown).
	moving, drawn, apart, one, cells map[string]*tally
	spreads                          []spread  // a cell, of the study's metric
	others                           []spread  // a cell, of the other one
	effects                          []float64 // a cell: see layoutEffect
	looks                            []lookRow
}

// A lookRow is one way to look, at one threshold.
type lookRow struct {
	way     string
	allowed float64
	alarms  share
}

func (st *study) say(format string, args ...any) {
	fmt.Fprintf(st.stderr, "gatestudy: "+format+"\n", args...)
}

// measure records what is wanted and replays gates. What cannot be measured is
// in failed; an error ends the study.
func (st *study) measure(ctx context.Context) error {
	wanted := st.o.wanted()
	var live []session
	if st.o.wants(partLive) {
		live = st.o.liveGates()
	}
	path, err := st.build(ctx, base())
	if err == nil {
		st.old, err = st.stale(ctx, path)
	}
	if st.old {
		st.say("the programs in %s were built from other sources than there are now; remove it to measure anew", st.o.dir)
	}
	if slower := func(s session) bool { return s.slowdown > 0 }; err == nil && (slices.ContainsFunc(wanted, slower) || slices.ContainsFunc(live, slower)) {
		err = st.probe(ctx)
	}
	if err != nil {
		return err
	}
	for i, s := range wanted {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		st.say("session %d of %d: %s, %d pairs of %d locks, about %s; all that is left, about %s", i+1, len(wanted), s.title, s.pairs, len(st.o.locks),
			rough(st.o.estimate([]session{s}, 0, st.round)), rough(st.o.estimate(wanted[i:], len(live), st.round)))
		p, err := st.part(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			st.say("%s: %v", s.name, err)
			st.failed[s.name] = err
			continue
		}
		st.parts = append(st.parts, *p)
	}
	for i, s := range live {
		st.say("live gate %d of %d: %s; all that is left, about %s", i+1, len(live), s.title, rough(st.o.estimate(nil, len(live)-i, st.round)))
		g, err := st.runLive(ctx, i+1, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case errors.Is(err, errNoVerdict):
			st.say("live gate: %v", err)
			st.lost = append(st.lost, fmt.Sprintf("live gate %d, %s: %v", i+1, s.title, err))
			continue
		case err != nil:
			st.say("live gate: %v", err)
			st.failed[partLive] = err
			return st.guessLayouts()
		}
		st.live = append(st.live, g)
	}
	if len(st.lost) > 0 && len(st.live) == 0 {
		st.failed[partLive] = errors.New("no live gate came to a verdict: " + st.lost[0])
	}
	return st.guessLayouts()
}

// rough is a time for people who wait.
func rough(d time.Duration) string {
	if d == 0 {
		return "an unknown time"
	}
	if d < 90*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// probe measures what extra work does to each lock.
func (st *study) probe(ctx context.Context) error {
	var probes []*recording
	for i, s := range st.o.probes() {
		st.say("probe %d of %d: %s, %d pairs of %d locks", i+1, len(probeUnits()), s.title, s.pairs, len(st.o.locks))
		rec, err := st.record(ctx, s)
		if err != nil {
			return err
		}
		probes = append(probes, rec)
	}
	var err error
	st.ops, err = responses(probes)
	return err
}

// part records a session and replays gates over it.
func (st *study) part(ctx context.Context, s session) (*part, error) {
	rec, err := st.record(ctx, s)
	if err != nil {
		return nil, err
	}
	p := &part{session: s, rec: rec}
	for _, name := range []string{metric, otherMetric} {
		if err := p.replay(st.o, name); err != nil {
			return nil, err
		}
	}
	m, err := results.LookupMetric(metric)
	if err != nil {
		return nil, err
	}
	other, err := results.LookupMetric(otherMetric)
	if err != nil {
		return nil, err
	}
	for _, c := range rec.cells {
		p.spreads = append(p.spreads, spreadOf(c, m))
		p.others = append(p.others, spreadOf(c, other))
		p.effects = append(p.effects, rec.layoutEffect(c, m, rec.byBuild()))
	}
	if s.name == partSame {
		p.looks, err = st.ways(rec, m)
	}
	return p, err
}

// replay runs all gates over the recording that the part is to have.
func (p *part) replay(o options, metric string) error {
	rules, err := rulesOf(metric, threshold)
	if err != nil {
		return err
	}
	into := func(by *map[string]*tally, run func() (*tally, error)) {
		if err != nil {
			return
		}
		var t *tally
		if t, err = run(); err == nil {
			if *by == nil {
				*by = map[string]*tally{}
			}
			(*by)[metric] = t
		}
	}
	into(&p.moving, func() (*tally, error) { return p.rec.moving(rules, o.gates, o.budget, o.seed) })
	if p.slowdown > 0 {
		into(&p.cells, func() (*tally, error) { return p.rec.singles(rules, o.budget) })
		return err
	}
	into(&p.apart, func() (*tally, error) { return p.rec.apart(rules, o.budget) })
	if builds := p.rec.byBuild(); len(builds) > 1 {
		into(&p.one, func() (*tally, error) { return p.rec.oneEach(rules, builds, o.budget) })
	} else {
		into(&p.drawn, func() (*tally, error) { return p.rec.redraw(rules, o.gates, o.budget, o.seed) })
	}
	return err
}

// tiny is a threshold of nothing, as far as anybody can measure: any slowdown is
// to be found, and any verdict without one is chance.
const tiny = 0.0001

// ways compares the gate with looking after every pair, at the study's threshold
// and at none, where chance has the most to say.
func (st *study) ways(rec *recording, m results.Metric) ([]lookRow, error) {
	var out []lookRow
	for _, allowed := range []float64{threshold, tiny} {
		rules, err := rulesOf(m.Name, allowed)
		if err != nil {
			return nil, err
		}
		t, err := rec.redraw(rules, st.o.gates, st.o.budget, st.o.seed)
		if err != nil {
			return nil, err
		}
		out = append(out, lookRow{"lockbench gate", allowed, t.alarms()})
		// The level of a cell in a gate, so that only the looking differs; and
		// the one that is used out of habit.
		for _, alpha := range []float64{gate.DefaultAlpha / float64(len(rec.cells)), 0.05} {
			out = append(out, lookRow{fmt.Sprintf("interval of %s %% after every pair from %d on", pct(1-alpha), naiveFrom), allowed,
				rec.naiveAlarms(m, allowed, alpha, st.o.gates, st.o.budget, st.o.seed)})
		}
	}
	return out, nil
}
