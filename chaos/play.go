package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"lockbench/backends"
	"lockbench/chaos/actor"
	"lockbench/chaos/proxy"
	"lockbench/lock"
)

// Times of a round that depend on nothing.
const (
	// answerTime bounds what an actor answers at once, whatever its servers do: points, writes to the stores.
	answerTime = 5 * time.Second
	// releaseTime bounds a release.
	releaseTime = 3 * time.Second
	// waitTime is what a waiter waits for the lock, at most: longer than any fault lasts.
	waitTime = 90 * time.Second
	// queueTime is how long the first waiter is ahead of the second, and the second of the fault: the request of a
	// queued lock is on the server by then.
	queueTime = 40 * time.Millisecond
	// settleTime is how long is looked, after a fault on clients has ended, whether somebody gets in beside the holder.
	settleTime = 200 * time.Millisecond
	// askAgain is the pause of a waiter whose request has failed.
	askAgain = 50 * time.Millisecond
	// orphanTime is what the servers and clients get to tidy up before what is left counts as an orphan.
	orphanTime = 250 * time.Millisecond
)

// PollMax is the longest pause of locks that poll; the bounds of expect.yaml call it poll.
const PollMax = 50 * time.Millisecond

var waitPolicy = lock.WaitPolicy{Min: 5 * time.Millisecond, Max: PollMax, Jitter: 0.5}

// Play is one lock on one key in one round: a holder, the next in line and a second waiter, each a client process.
//
//	begun: processes connected --arm--> the holder stands at its point, two wait
//	armed --(the fault is injected and felt)--> open: the holder goes on
//	open --somebody got in, or the time is over; the fault ends--> danger: the holder has written, or noticed
//	danger --drain--> all have released and left --> judged
type Play struct {
	Cell  *Cell
	Round int

	Holder, Next, Second *Party

	run     *run
	cluster *backends.Cluster
	times   Times
	fault   Fault
	rand    *rand.Rand
	slot    int
	prefix  string

	minority *backends.Node // the server that the holder is attached to; nil: any

	waiters []*waiter
	leave   chan struct{}  // closed when waiters that are inside may release
	updates map[*Party]int // of locks that are none: the command that a party is at
	left    sync.Once
	wg      sync.WaitGroup
	entered chan *waiter // a waiter is inside and has read the stores

	mu    sync.Mutex
	first *waiter // who was granted first
	base  []string
	obs   Observation
}

// waiter is a party that waits for the lock.
type waiter struct {
	*Party
	actor   int
	granted actor.Event
	entered actor.Event
	err     error
}

// key is the name of the play's lock, and of its stores at the witness.
func (p *Play) key() string { return fmt.Sprintf("k%d", p.slot) }

// App is what a party of the play calls itself to its servers: below the prefix, so that what it leaves there is
// known to be the play's.
func (p *Play) App(who *Party) string { return p.prefix + who.Name }

// target is where a party finds its servers.
func (p *Play) target(ctx context.Context, who *Party) (lock.Target, error) {
	t := p.cluster.Target()
	if who.Net != nil {
		var err error
		if t, err = p.servers(ctx); err != nil {
			return t, err
		}
	}
	if p.fault.Reach != nil {
		t = p.fault.Reach(p, who, t)
	}
	if who.Net != nil {
		t = who.Net.Target(t)
	}
	t.Prefix, t.TTL, t.Workers, t.App = p.prefix, p.times.TTL, actor.MaxActors, p.App(who)
	t.DialTimeout = answerTime
	return t, nil
}

// begin gets the parties, and connects them.
func (p *Play) begin(ctx context.Context) error {
	p.leave, p.entered = make(chan struct{}), make(chan *waiter, 4)
	for _, x := range []struct {
		name string
		at   **Party
	}{{"holder", &p.Holder}, {"next", &p.Next}, {"second", &p.Second}} {
		c, err := p.run.pool.get(ctx, p.Cell.Lock.Name)
		if err != nil {
			return err
		}
		*x.at = &Party{Name: x.name, proc: c, since: len(c.log)}
	}
	hit := p.Holder
	if p.fault.On == OnNext {
		hit = p.Next
	}
	if p.fault.Proxied {
		t, err := p.servers(ctx)
		if err != nil {
			return err
		}
		hit.servers = upstreams(t)
		if hit.Net, err = proxy.Open(hit.servers); err != nil {
			return fmt.Errorf("open proxies: %w", err)
		}
	}
	var g errGroup
	for _, who := range p.parties() {
		g.Go(func() error { return p.dial(ctx, who) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if p.Cell.Lock.Kind != lock.KindOptimistic {
		if err := p.warm(ctx); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	base, err := p.names(ctx)
	p.base = base
	return err
}

// warm has the holder acquire and release once: connections and scripts are there then, and whatever a lock
// leaves for good, such as the counter of its tokens.
func (p *Play) warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*answerTime)
	defer cancel()
	if err := again(ctx, func() error { return p.warmOnce(ctx) }); err != nil {
		return err
	}
	p.Holder.skip()
	return nil
}

func (p *Play) warmOnce(ctx context.Context) error {
	const a = actor.MaxActors - 1
	p.Holder.skip()
	if _, err := p.Holder.send(actor.Command{Do: actor.DoAcquire, Actor: a, Key: p.key(), Slot: p.slot, Worker: p.Holder.Worker(a),
		Options: p.options(true), LimitNS: int64(answerTime), Silent: true}); err != nil {
		return err
	}
	e, err := p.Holder.awaitOf(ctx, a, actor.EvEntered, actor.EvRefused, actor.EvFailed)
	if err == nil && e.Ev != actor.EvEntered {
		err = fmt.Errorf("%s: %s", e.Class, e.Text)
	}
	if err != nil {
		return err
	}
	return p.release(ctx, p.Holder, a)
}

// servers is where the cluster is reached by who is proxied.
func (p *Play) servers(ctx context.Context) (lock.Target, error) {
	t := p.cluster.Target()
	if p.fault.Inner {
		return inner(ctx, p.cluster, t)
	}
	return t, nil
}

// upstreams are the addresses of all servers that a client may connect to.
func upstreams(t lock.Target) []string {
	all := slices.Clone(t.Addrs)
	for _, a := range t.Reach {
		all = append(all, a)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (p *Play) dial(ctx context.Context, who *Party) error {
	t, err := p.target(ctx, who)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*answerTime)
	defer cancel()
	// Clients give a server a part of the TTL to answer. On a machine that does much else, such as starting the
	// processes of other rounds, that may be too short once; nothing is judged yet.
	return again(ctx, func() error {
		id, err := who.send(actor.Command{Do: actor.DoDial, Target: &t})
		if err == nil {
			_, err = who.awaitID(ctx, id, actor.EvDialled)
		}
		return err
	})
}

// again tries until there is no error, or ctx ends.
func again(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || errors.Is(err, errGone) || sleep(ctx, 20*time.Millisecond) != nil {
			return err
		}
	}
}

// parties are the three of them.
func (p *Play) parties() []*Party { return []*Party{p.Holder, p.Next, p.Second} }

// options are those of an acquisition.
func (p *Play) options(renew bool) lock.AcquireOptions {
	r := p.Cell.Lock.Remote
	return lock.AcquireOptions{TTL: p.times.TTL, Renew: renew && r.Renews, Wait: waitPolicy, Fence: r.Fences}
}

// acquire has an actor acquire.
func (p *Play) acquire(who *Party, a int, renew bool) (id int, err error) {
	return who.send(actor.Command{Do: actor.DoAcquire, Actor: a, Key: p.key(), Slot: p.slot, Worker: who.Worker(a),
		Options: p.options(renew), LimitNS: int64(waitTime), Silent: p.Cell.silent()})
}

// work has an actor that is inside begin to write.
func (p *Play) work(who *Party, a int, point string) error {
	_, err := who.send(actor.Command{Do: actor.DoWork, Actor: a, Policy: p.Cell.Policy, EveryNS: int64(p.times.TTL / 20), Point: point, MarginNS: int64(margin(p.times.TTL))})
	return err
}

// margin is how long before its lease's own deadline a careful holder stops: what it has begun by then arrives
// in time, unless it stands still for longer. A tenth of the TTL, at least 20 ms, is what lockbench run takes, too.
func margin(ttl time.Duration) time.Duration { return min(ttl/2, max(ttl/10, 20*time.Millisecond)) }

// hold has the holder acquire, and write until it stands at its point.
func (p *Play) hold(ctx context.Context, a int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*answerTime)
	defer cancel()
	if _, err := p.acquire(p.Holder, a, !p.fault.NoRenew); err != nil {
		return err
	}
	e, err := p.Holder.awaitOf(ctx, a, actor.EvEntered, actor.EvRefused, actor.EvFailed)
	if err == nil && e.Ev != actor.EvEntered {
		err = fmt.Errorf("the holder got no lock: %s: %s", e.Class, e.Text)
	}
	if err != nil {
		return err
	}
	if err := p.work(p.Holder, a, p.fault.Point); err != nil {
		return err
	}
	want := actor.EvWrote
	if p.fault.Point != "" {
		want = actor.EvPoint
	}
	_, err = p.Holder.awaitOf(ctx, a, want)
	return err
}

// queue has a party wait for the lock, and returns when its request is under way.
func (p *Play) queue(ctx context.Context, who *Party, a int) error {
	w := &waiter{Party: who, actor: a}
	p.waiters = append(p.waiters, w)
	id, err := p.acquire(who, a, true)
	if err != nil {
		return err
	}
	actx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if _, err := who.awaitOf(actx, a, actor.EvRequested); err != nil {
		return err
	}
	p.wg.Go(func() { w.err = p.wait(ctx, w, id) })
	return sleep(ctx, queueTime)
}

// wait sees a waiter through: granted, inside, writing, and out when it may leave. One whose server fails asks
// again, as users do.
func (p *Play) wait(ctx context.Context, w *waiter, id int) error {
	e, err := w.awaitID(ctx, id, actor.EvGranted, actor.EvRefused, actor.EvFailed)
	for ; err == nil && e.Ev != actor.EvGranted; e, err = w.awaitID(ctx, id, actor.EvGranted, actor.EvRefused, actor.EvFailed) {
		if err := sleep(ctx, askAgain); err != nil {
			return fmt.Errorf("%s: the last answer was %s: %w", w.Name, words(e), err)
		}
		if id, err = p.acquire(w.Party, w.actor, true); err != nil {
			if w.Gone() {
				err = errGone
			}
			return err
		}
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	w.granted = e
	if p.first == nil || e.AtNS < p.first.granted.AtNS {
		p.first = w
	}
	p.mu.Unlock()
	if e, err = w.awaitOf(ctx, w.actor, actor.EvEntered); err != nil {
		return err
	}
	p.mu.Lock()
	w.entered = e
	p.mu.Unlock()
	if err := p.work(w.Party, w.actor, ""); err != nil {
		return err
	}
	if _, err := w.awaitOf(ctx, w.actor, actor.EvWrote, actor.EvStopped); err != nil {
		return err
	}
	p.entered <- w
	select {
	case <-p.leave:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return p.finish(ctx, w.Party, w.actor)
}

// finish has an actor that is inside end its writes, and release.
func (p *Play) finish(ctx context.Context, who *Party, a int) error {
	if _, err := who.send(actor.Command{Do: actor.DoFinish, Actor: a}); err != nil {
		return err
	}
	if _, err := who.awaitOf(ctx, a, actor.EvStopped); err != nil {
		return err
	}
	return p.release(ctx, who, a)
}

func (p *Play) release(ctx context.Context, who *Party, a int) error {
	id, err := who.send(actor.Command{Do: actor.DoRelease, Actor: a, LimitNS: int64(releaseTime)})
	if err != nil {
		return err
	}
	_, err = who.awaitID(ctx, id, actor.EvReleased)
	return err
}

// open lets the holder go on from its point. A process that is stopped finds the word when it continues.
func (p *Play) open(a int) error {
	if p.fault.Point == "" || p.Holder.Gone() {
		return nil
	}
	_, err := p.Holder.send(actor.Command{Do: actor.DoGo, Actor: a})
	if p.Holder.Gone() {
		return nil
	}
	return err
}

// somebody waits until a waiter is inside, or the time is over.
func (p *Play) somebody(ctx context.Context, limit time.Duration) (*waiter, error) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case w := <-p.entered:
		p.entered <- w // for who asks next: there is room for all
		return w, nil
	case <-t.C:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// danger waits until the holder has had its chance to do harm: it has written after an instant, or it
// has noticed that it must not, or it is gone.
func (p *Play) danger(ctx context.Context, a int, after int64) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err := p.Holder.await(ctx, func(e actor.Event) bool {
		return e.Actor == a && (e.Ev == actor.EvStopped || e.Ev == actor.EvWrote && e.AtNS > after)
	})
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// errStuck is a round in which nobody got in though the fault had ended and the holder had left.
var errStuck = errors.New("nobody got in, long after the fault had ended and the holder had left")

// stuckTime is how long after that, beside three TTLs; where servers were hit, longer than they take to be there again
// in their containers.
const (
	stuckTime        = 4 * time.Second
	stuckTimeServers = 20 * time.Second
)

// dismiss lets whoever waits leave as soon as it has been granted the lock and done its work.
func (p *Play) dismiss() { p.left.Do(func() { close(p.leave) }) }

// nobody reports whether no waiter has got in yet.
func (p *Play) nobody() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first == nil
}

// drain lets everybody out, and waits until they are.
func (p *Play) drain(ctx context.Context) error {
	p.dismiss()
	stuck := stuckTime
	if p.fault.On == OnServers {
		stuck = stuckTimeServers
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stuck+3*(p.times.TTL+p.times.Tick), errStuck)
	defer cancel()
	done := make(chan struct{})
	go func() { p.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if cause := context.Cause(ctx); p.first != nil || !errors.Is(cause, errStuck) {
			return fmt.Errorf("waiters are still waiting: %w", cause)
		}
		return errStuck
	}
	for _, w := range p.waiters {
		if w.err != nil && !errors.Is(w.err, errGone) {
			return w.err
		}
	}
	return nil
}

// end closes the clients, and gives the processes back.
func (p *Play) end() {
	p.left.Do(func() {
		if p.leave != nil {
			close(p.leave)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*answerTime)
	defer cancel()
	var wg sync.WaitGroup
	for _, who := range p.parties() {
		if who == nil {
			continue
		}
		wg.Go(func() {
			fit := p.hangup(ctx, who) == nil
			if who.Net != nil {
				_ = who.Net.Close() // its connections are ended either way
			}
			p.run.pool.put(p.Cell.Lock.Name, who.proc, fit)
		})
	}
	wg.Wait()
	p.run.witness.Forget(p.key())
}

func (p *Play) hangup(ctx context.Context, who *Party) error {
	if err := who.Continue(); err != nil {
		return err
	}
	id, err := who.send(actor.Command{Do: actor.DoHangup})
	if err != nil {
		return err
	}
	_, err = who.awaitID(ctx, id, actor.EvClosed)
	return err
}

// names are what locks have left on the servers under the play's prefix.
func (p *Play) names(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	return p.cluster.Names(ctx, p.prefix)
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
