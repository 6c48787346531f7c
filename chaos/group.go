package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"lockbench/backends"
	"lockbench/chaos/actor"
	"lockbench/internal/clock"
	"lockbench/lock"
)

// group is the plays that see one injection: one of a fault on clients, one a lock and policy of a fault on servers.
type group struct {
	run     *run
	fault   Fault
	cluster *backends.Cluster
	times   Times
	round   int
	plays   []*Play
	rand    *rand.Rand
}

// roundTime bounds a round.
const roundTime = 3 * time.Minute

// healthTime is what a cluster gets to be healthy again.
const healthTime = 60 * time.Second

// newGroup makes the plays of some cells for one round.
func (r *run) newGroup(cells []*Cell, cluster *backends.Cluster, round int) *group {
	f := cells[0].Fault
	g := &group{run: r, fault: f, cluster: cluster, times: r.times(cluster, f), round: round, rand: random(r.o.Seed, f.Name, cells[0].Topology.Name, round)}
	for _, c := range cells {
		slot := r.nextSlot()
		g.plays = append(g.plays, &Play{Cell: c, Round: round, run: r, cluster: cluster, times: g.times, fault: f, rand: g.rand, slot: slot,
			prefix: fmt.Sprintf("lockbench/%s/%d/", r.id, slot)})
	}
	return g
}

// do runs the round and returns what was seen by each play, in their order.
func (g *group) do(ctx context.Context) []Observation {
	ctx, cancel := context.WithTimeoutCause(ctx, roundTime, errors.New("the round took too long"))
	defer cancel()
	failed := make([]error, len(g.plays))
	each := func(do func(p *Play) error) {
		var wg sync.WaitGroup
		for i, p := range g.plays {
			if failed[i] == nil {
				wg.Go(func() { failed[i] = do(p) })
			}
		}
		wg.Wait()
	}
	all := func(err error) {
		for i := range failed {
			if err != nil && failed[i] == nil {
				failed[i] = err
			}
		}
	}
	defer func() {
		cancel() // nobody may talk to a process that is given back
		var wg sync.WaitGroup
		for _, p := range g.plays {
			wg.Go(func() {
				p.wg.Wait()
				p.end()
			})
		}
		wg.Wait()
	}()
	var err error
	all(wrap("before the round", g.run.sound(ctx, g.cluster, time.Now().Add(-soundFor))))
	if g.fault.Choose != nil && anyNil(failed) {
		n, cerr := g.fault.Choose(ctx, g.cluster)
		all(cerr)
		for _, p := range g.plays {
			p.minority = n
		}
	}
	each(func(p *Play) error { return wrap("begin", p.begin(ctx)) })
	if first := firstError(failed); g.fault.On != OnServers && first != nil {
		all(first)
	}
	inj := newInjection(g.fault.steps(g.stage()))
	share := func() {
		for _, p := range g.plays {
			p.obs.Injection = *inj
		}
	}
	if anyNil(failed) {
		all(inj.Setup(ctx))
	}
	each(func(p *Play) error { return wrap("arm", scriptOf(p.Cell).arm(ctx, p)) })
	each(func(p *Play) error { return wrap("probe", p.probe(ctx)) })
	if anyNil(failed) {
		all(g.phase(ctx))
	}
	if anyNil(failed) {
		err = inj.Inject(ctx)
		share()
		if err == nil {
			err = inj.Felt(ctx)
			share()
		}
		all(err)
	}
	watch := g.times.Hold
	if g.fault.Watch != nil {
		watch = g.fault.Watch(g.stage())
	}
	each(func(p *Play) error { return wrap("while the fault lasts", scriptOf(p.Cell).open(ctx, p, watch)) })
	if inj.State() == StateFelt {
		all(wrap("end the fault", inj.Recover(ctx)))
		share()
	}
	each(func(p *Play) error { return wrap("after the fault", scriptOf(p.Cell).close(ctx, p)) })
	each(func(p *Play) error { return wrap("probe", p.unprobe(ctx)) })
	cerr := inj.Cleanup(ctx)
	if cerr == nil {
		cerr = g.run.sound(ctx, g.cluster, time.Now())
	}
	each(func(p *Play) error { return wrap("read the value", p.value(ctx)) })
	each(func(p *Play) error { return wrap("look for orphans", p.orphans(ctx)) })
	for i, err := range failed { // that nobody gets in, or no harm comes, at servers that are down says nothing of the lock
		if cerr != nil && (err == nil || errors.Is(err, errStuck)) {
			failed[i] = fmt.Errorf("after the round: %w", cerr)
		}
	}
	out := make([]Observation, len(g.plays))
	for i, p := range g.plays {
		out[i] = p.judge(failed[i], inj)
	}
	if cerr != nil {
		g.run.broken(g.cluster, cerr)
	}
	return out
}

func (g *group) stage() *Stage {
	return &Stage{Plays: g.plays, Cluster: g.cluster, Times: g.times, Rand: g.rand, Set: g.run.set(g.plays[0].Cell), Fault: g.fault}
}

// steps makes the fault's steps; none are those that do nothing.
func (f Fault) steps(s *Stage) Steps {
	if f.Steps == nil {
		return Steps{}
	}
	return f.Steps(s)
}

// phase waits for the instant of the injection: right after a renewal, or anywhere between two.
func (g *group) phase(ctx context.Context) error {
	if g.fault.Shape != ShapeHold {
		return nil
	}
	if !g.fault.Fresh {
		return sleep(ctx, time.Duration(g.rand.Int64N(int64(g.times.TTL/3))))
	}
	for _, p := range g.plays {
		if p.Holder == nil || !p.Cell.Lock.Remote.Renews {
			continue
		}
		at := clock.Shared()
		ctx, cancel := context.WithTimeout(ctx, g.times.TTL)
		_, err := p.Holder.await(ctx, func(e actor.Event) bool { return e.Ev == actor.EvRenewed && e.AtNS > at })
		cancel()
		if err == nil {
			return nil // the first that renews: of several plays the others are somewhere between
		}
	}
	return nil
}

// soundFor is for how long a cluster that was found healthy need not be looked at again before a round: rounds of faults on
// clients share one, and a look takes its servers milliseconds.
const soundFor = 2 * time.Second

// sound waits until the cluster serves, all servers together, unless it has been found to since then. One that did not come
// back is not looked at again.
func (r *run) sound(ctx context.Context, c *backends.Cluster, since time.Time) error {
	r.mu.Lock()
	broke, at := r.broke[c], r.soundAt[c]
	r.mu.Unlock()
	if broke != nil || !at.Before(since) {
		return broke
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTime)
	defer cancel()
	at = time.Now()
	if err := c.Await(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.soundAt[c].Before(at) {
		r.soundAt[c] = at
	}
	return nil
}

// value asks the service what is there, of locks that are judged by that.
func (p *Play) value(ctx context.Context) error {
	if p.Cell.Policy != Protected {
		return nil
	}
	who := p.Second
	if who.Gone() {
		who = p.Next
	}
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	id, err := who.send(actor.Command{Do: actor.DoValue, Key: p.key()})
	if err != nil {
		return err
	}
	e, err := who.awaitID(ctx, id, actor.EvValue)
	if err != nil {
		return err
	}
	acked, maybe := p.acknowledged()
	p.obs.updates(e.Value, acked, maybe)
	return nil
}

// orphans looks what is left on the servers though everybody has released.
func (p *Play) orphans(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	until := clock.Shared() + int64(orphanTime)
	for {
		names, err := p.names(ctx)
		if err != nil {
			return err
		}
		left := without(names, p.base)
		if len(left) == 0 || clock.Shared() > until {
			p.obs.Orphans = append(p.obs.Orphans, left...)
			return nil
		}
		if err := sleep(ctx, orphanTime/10); err != nil {
			return err
		}
	}
}

// judge sums the round up.
func (p *Play) judge(failed error, inj *Injection) Observation {
	o := &p.obs
	o.Round, o.Slot, o.Injection = p.Round, p.slot, *inj
	o.Felt = inj.FeltNS != 0
	if p.Holder == nil || p.Next == nil || p.Second == nil {
		o.Why = fmt.Sprint(failed)
		return *o
	}
	all := p.grants()
	if p.Cell.Lock.Kind == lock.KindLease {
		o.claims(all)
		if !p.Cell.silent() {
			o.stores(all, p.run.witness.Log(p.key()))
		}
		if p.Cell.silent() { // judged by damage alone
			o.DoubleGrants, o.StaleHolders = 0, 0
		}
	}
	p.moments(o, all)
	if at := p.early(all); at {
		o.Felt, failed = false, errors.New("the lease ended before the fault, or without one: the machine stood still for too long")
	}
	if failed == nil {
		p.linearize(o, all)
	}
	o.Probative = o.Felt && failed == nil
	o.Stuck = o.Felt && errors.Is(failed, errStuck)
	if failed != nil {
		o.Why = failed.Error()
	}
	o.Lines = p.timeline(all)
	return *o
}

// early reports whether the holder's lease ended though no fault had come. That says something of the machine
// only: whoever holds longer than a lease that could not be renewed in time loses it rightly.
func (p *Play) early(all []*grant) bool {
	if p.fault.NoRenew || p.fault.Shape != ShapeHold && p.fault.Shape != ShapeWait {
		return false
	}
	at := p.obs.Injection.InjectedNS
	if p.fault.On == OnNothing {
		at = forever
	}
	for _, g := range all {
		if g.who == p.Holder && g.lost != 0 && g.lost < at {
			return true
		}
	}
	return false
}

// errGroup collects the errors of goroutines.
type errGroup struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

func (g *errGroup) Go(f func() error) {
	g.wg.Go(func() {
		if err := f(); err != nil {
			g.mu.Lock()
			g.errs = append(g.errs, err)
			g.mu.Unlock()
		}
	})
}

func (g *errGroup) Wait() error {
	g.wg.Wait()
	return errors.Join(g.errs...)
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func anyNil(errs []error) bool {
	for _, err := range errs {
		if err == nil {
			return true
		}
	}
	return false
}
