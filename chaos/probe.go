package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"lockbench/chaos/actor"
	"lockbench/lock"
)

// The prober: while faults on servers last, an actor of the second waiter's process acquires and releases a key of its
// own, again and again. Where no grant comes through, the service is not there for anybody.

const (
	probeActor = 1
	probeEvery = 50 * time.Millisecond
	probeKey   = "-probe" // behind the name of the round's own key
)

// probes reports whether the play has a prober.
func (p *Play) probes() bool { return p.fault.On == OnServers && p.Cell.Lock.Kind == lock.KindLease }

// probe begins it, and returns once a grant has come through.
func (p *Play) probe(ctx context.Context) error {
	if !p.probes() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if _, err := p.Second.send(actor.Command{Do: actor.DoProbe, Actor: probeActor, Key: p.key() + probeKey, Slot: p.slot, Worker: p.Second.Worker(probeActor),
		Options: p.options(true), EveryNS: int64(probeEvery), LimitNS: int64(p.times.TTL)}); err != nil {
		return err
	}
	if _, err := p.Second.awaitOf(ctx, probeActor, actor.EvProbed); err != nil {
		return err
	}
	// What its key leaves for good, such as the counter of its tokens, is no orphan.
	names, err := p.names(ctx)
	for _, n := range names {
		if strings.Contains(n, p.key()+probeKey) {
			p.base = append(p.base, n)
		}
	}
	return err
}

// unprobe ends it, once a grant has come through after the fault.
func (p *Play) unprobe(ctx context.Context) error {
	if !p.probes() || p.Second.Gone() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 6*answerTime)
	defer cancel()
	after := p.obs.Injection.FeltNS
	pctx, stop := context.WithTimeout(ctx, 3*answerTime)
	defer stop()
	_, perr := p.Second.await(pctx, func(e actor.Event) bool { return e.Actor == probeActor && e.Ev == actor.EvProbed && e.CalledNS > after })
	if perr != nil && pctx.Err() == nil {
		return fmt.Errorf("the prober: %w", perr)
	}
	// One that got nothing any more, because its own lost grant is in the way, has no gap to tell; what the round is
	// about has been seen without it.
	if _, err := p.Second.send(actor.Command{Do: actor.DoFinish, Actor: probeActor}); err != nil {
		return err
	}
	_, err := p.Second.awaitOf(ctx, probeActor, actor.EvStopped)
	return err
}

// available finds the longest time without a grant of the prober's around the fault, and when it ended.
func (p *Play) available(injected int64) (gap time.Duration, end int64) {
	last := int64(0)
	for _, e := range p.Second.events() {
		if e.Ev != actor.EvProbed || e.Actor != probeActor {
			continue
		}
		if last != 0 && e.AtNS > injected {
			if d := time.Duration(e.AtNS - last); d > gap {
				gap, end = d, e.AtNS
			}
		}
		last = e.AtNS
	}
	return gap, end
}
