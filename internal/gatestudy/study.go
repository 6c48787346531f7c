package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"lockbench/results"
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
	failed map[string]error // part -> why it could not be measured
}

// A part is a recording and what came of it.
type part struct {
	session
	rec *recording
	// replays by metric: as recorded, and, where there are several builds a
	// side, one build a side at a time.
	whole, single map[string]*tally
	spreads       []spread  // a cell, of the study's metric
	others        []spread  // a cell, of the other one
	effects       []float64 // a cell: see layoutEffect
	looks         []lookRow
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
		if err != nil {
			st.say("live gate: %v", err)
			st.failed[partLive] = err
			break
		}
		st.live = append(st.live, g)
	}
	return nil
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
	p := &part{session: s, rec: rec, whole: map[string]*tally{}, single: map[string]*tally{}}
	for _, name := range []string{metric, otherMetric} {
		rules, err := rulesOf(name, threshold)
		if err != nil {
			return nil, err
		}
		if p.whole[name], err = rec.replay(rules, rec.all(), st.o.gates, st.o.budget, st.o.seed); err != nil {
			return nil, err
		}
		if builds := rec.byBuild(); len(builds) > 1 {
			if p.single[name], err = rec.replay(rules, builds, st.o.gates, st.o.budget, st.o.seed); err != nil {
				return nil, err
			}
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
		p.effects = append(p.effects, layoutEffect(c, m, rec.byBuild()))
	}
	if s.name == partSame {
		p.looks, err = st.ways(rec, m)
	}
	return p, err
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
		t, err := rec.replay(rules, rec.all(), st.o.gates, st.o.budget, st.o.seed)
		if err != nil {
			return nil, err
		}
		out = append(out,
			lookRow{"lockbench gate", allowed, t.alarms()},
			lookRow{"95 % interval after every pair from 8 on", allowed, rec.naiveAlarms(m, allowed, st.o.gates, st.o.budget, st.o.seed)})
	}
	return out, nil
}
