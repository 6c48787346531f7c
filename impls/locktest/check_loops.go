package locktest

import (
	"fmt"
	"testing"

	"lockbench/lock"
	"lockbench/lock/loop"
)

// checkLoops runs the generated measured loops and counts: as many operations
// as asked for, as many passes through the section, no finding, samples and an
// order log from the probing loops only, an immediate return with a free lock
// once the stop word is up, and no allocation and no clock reading in the
// plain loop.
//
// It cannot see whether the loops were generated from the current version of
// the generator; make lint compares those.
func checkLoops(s *subject) error {
	for _, n := range s.crews(1, 2) {
		if err := countLoops(s, n); err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
	}
	return nil
}

// loopOps is how many operations each worker does in each loop: few, because
// a spinning lock on a busy machine takes a time slice for each handover.
const loopOps = 300

type looper struct {
	stop *loop.Stop
	sec  *loop.Section
	run  lock.Batcher
}

func countLoops(s *subject, workers int) error {
	t, err := s.newTeam(workers, 1)
	if err != nil {
		return err
	}
	defer t.close()
	prot := loop.NewProtected(2, true)
	ls := make([]looper, workers)
	for i, w := range t.workers {
		ls[i].stop, ls[i].run = new(loop.Stop), w.h.(lock.Batcher)
		ls[i].sec = loop.New(loop.Config{
			Worker: i, Protected: []*loop.Protected{prot}, Handles: []any{w.h},
			Section: []uint32{3}, Think: []uint32{5}, ReadLines: 1, WriteLines: 1,
			Every: 4, Jitter: []int32{-1, 1}, NSPerTick: 1,
		}, ls[i].stop)
	}
	sampled := make([]int, workers)
	for _, l := range []struct {
		name  string
		probe bool
		batch func(x looper, n int) int
	}{
		{"BatchPlain", false, func(x looper, n int) int { return x.run.BatchPlain(x.sec, n) }},
		{"BatchGeneral", false, func(x looper, n int) int { return x.run.BatchGeneral(x.sec, n) }},
		{"BatchProbe", true, func(x looper, n int) int { return x.run.BatchProbe(x.sec, n) }},
		{"BatchGeneral, probing", true, func(x looper, n int) int { return x.run.BatchGeneral(x.sec, n) }},
	} {
		before := prot.Count()
		calls := make([]*call, workers)
		for id := range t.workers {
			calls[id] = t.start(id, l.name, func(w *worker) error {
				x := ls[id]
				x.sec.Reset()
				x.sec.Sampling(l.probe)
				sampled[id] = 0
				for done := 0; done < loopOps; {
					n := l.batch(x, loopOps-done)
					if n < 0 || n > loopOps-done {
						return fmt.Errorf("a batch of %d returned %d", loopOps-done, n)
					}
					if f := x.sec.Found(); f.Count > 0 {
						return fmt.Errorf("the exclusion check failed: %+v", f)
					}
					done += n
					w.steps.Add(uint64(n) + 1)
					sampled[id] += len(x.sec.Take())
				}
				return nil
			})
		}
		if err := t.wait(calls...); err != nil {
			return err
		}
		if got, want := prot.Count()-before, uint64(workers*loopOps); got != want && !s.info.Control {
			return fmt.Errorf("%s: %d passes through the section, want %d", l.name, got, want)
		}
		for id, n := range sampled {
			if (n > 0) != l.probe {
				return fmt.Errorf("%s: worker %d has %d samples", l.name, id, n)
			}
		}
		if order := prot.Order(before); l.probe && len(order) != workers*loopOps {
			return fmt.Errorf("%s: the order log has %d entries, want %d", l.name, len(order), workers*loopOps)
		} else if l.probe {
			for i, who := range order {
				if who < 1 || int(who) > workers {
					return fmt.Errorf("%s: entry %d of the order log is %d", l.name, i, who)
				}
			}
		}
	}
	return stopLoops(t, ls[0])
}

// stopLoops raises the stop word: each loop then does nothing and leaves the
// lock free. It also counts what the plain loop must not do.
func stopLoops(t *team, x looper) error {
	x.sec.Reset()
	x.sec.Sampling(false)
	x.sec.Counters()
	err := t.play(step{0, "BatchPlain, counted", func(*worker) error {
		if n := testing.AllocsPerRun(20, func() { x.run.BatchPlain(x.sec, loopOps) }); n > 0 && !t.s.info.Allocates && !raceEnabled {
			return fmt.Errorf("%v allocations in a batch, want 0", n)
		}
		if _, _, _, n := x.sec.Counters(); n > 0 {
			return fmt.Errorf("%d readings of the clock in plain batches, want 0", n)
		}
		x.stop.Set()
		for name, n := range map[string]int{
			"BatchPlain": x.run.BatchPlain(x.sec, 10), "BatchProbe": x.run.BatchProbe(x.sec, 10), "BatchGeneral": x.run.BatchGeneral(x.sec, 10),
		} {
			if n != 0 {
				return fmt.Errorf("%s did %d operations after the stop, want 0", name, n)
			}
		}
		return nil
	}})
	if err != nil {
		return err
	}
	return t.atRest()
}
