package actor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
)

// acquire is DoAcquire. What it returns is told as EvFailed: the lock was not asked.
func (a *actor) acquire(j *job) error {
	p := a.s.p
	switch {
	case a.s.leaser == nil:
		return fmt.Errorf("lock %s grants no leases: %w", p.info.Name, errors.ErrUnsupported)
	case a.held != nil && a.held.isInside():
		return errors.New("the actor is inside: it has one lease at most")
	case j.Slot < 0 || j.Slot >= p.arena.Keys() || j.Worker < 0 || j.Worker >= p.arena.Workers():
		return fmt.Errorf("slot %d, worker %d: the arena has %d and %d", j.Slot, j.Worker, p.arena.Keys(), p.arena.Workers())
	case !j.Silent && p.stores == nil:
		return errNoStores
	}
	ctx := j.ctx
	if j.LimitNS > 0 {
		c, cancel := context.WithTimeout(ctx, time.Duration(j.LimitNS))
		defer cancel()
		ctx = c
	}
	if err := a.s.prepare(ctx, j.Key); err != nil {
		return err
	}
	if a.held != nil { // lost, or released: nobody is about to release it again
		a.held.drop(a.s.say)
		a.s.mu.RLock()
		a.held = nil
		a.s.mu.RUnlock()
	}
	a.say(j, Event{Ev: EvRequested, AtNS: clock.Shared()})
	called := clock.Shared()
	lease, err := a.s.leaser.Acquire(ctx, j.Key, j.Options)
	at := clock.Shared()
	if err != nil {
		a.say(j, Event{Ev: EvRefused, AtNS: at, CalledNS: called, Class: classIn(ctx, err), Text: err.Error()})
		return nil
	}
	if !a.enter(j, lease, called, at) {
		return a.s.giveBack(lease)
	}
	a.read(j)
	return nil
}

// enter claims the key and tells the grant; false: the session is over, and the grant came too late.
func (a *actor) enter(j *job, lease lock.Lease, called, at int64) bool {
	h := &hold{a: a, id: j.ID, lease: lease, key: j.Key, ttl: j.Options.TTL, worker: j.Worker, slot: j.Slot, watch: newWatch()}
	token, has := lease.Token()
	if has {
		h.token = &token
	}
	if !a.claim(h, token) {
		return false
	}
	e := Event{Ev: EvGranted, AtNS: at, CalledNS: called, HasToken: has, Token: token}
	if deadline, ok := lease.ValidUntil(); ok {
		e.UntilNS = a.s.p.times.of(deadline)
		e.OwnTTLNS = e.UntilNS - called
	}
	a.say(j, e)
	go h.follow(e.UntilNS)
	return true
}

// claim enters, unless the session is over.
func (a *actor) claim(h *hold, token uint64) bool {
	a.s.mu.RLock()
	defer a.s.mu.RUnlock()
	if a.s.retired {
		return false
	}
	h.entry, h.inside = a.s.p.arena.Enter(h.worker, h.slot, token, h.token != nil), true
	a.held = h
	return true
}

// read registers the token at the stores, reads the value, and tells that the actor is inside.
func (a *actor) read(j *job) {
	h := a.held
	e := Event{Ev: EvEntered, CalledNS: h.entry.At, Met: h.entry.Overlap + 1}
	if !j.Silent {
		ctx, cancel := context.WithTimeout(a.s.ctx, CallLimit)
		defer cancel()
		op, err := a.s.p.stores.Read(ctx, h.key, h.worker, h.token)
		if err != nil {
			e.Class, e.Text = ClassOf(err), err.Error()
		}
		h.value = op.Value
		e.Value = op.Value
		if h.token != nil && err == nil {
			e.Fenced = &op.Fenced
		}
	}
	e.AtNS = clock.Shared()
	a.say(j, e)
}

// giveBack releases a lease that nobody waits for any more.
func (s *session) giveBack(l lock.Lease) error {
	ctx, cancel := context.WithTimeout(context.Background(), CallLimit)
	defer cancel()
	return l.Release(ctx)
}

// release is DoRelease. The same lease may be released again.
func (a *actor) release(j *job) error {
	h := a.held
	if h == nil {
		return errNoLease
	}
	h.leave(j.ID, a.s.say)
	if j.Point == PointRelease && !a.stand(j, PointRelease) {
		return j.ctx.Err()
	}
	h.watch.end()
	ctx, cancel := context.WithTimeout(j.ctx, limit(j.LimitNS, CallLimit))
	defer cancel()
	called := clock.Shared()
	err := h.lease.Release(ctx)
	at := clock.Shared()
	h.free()
	e := Event{Ev: EvReleased, AtNS: at, CalledNS: called, Class: ClassOf(err)}
	if err != nil {
		e.Text = err.Error()
	}
	a.say(j, e)
	return nil
}

var (
	errNoLease  = errors.New("the actor has no lease")
	errNoStores = errors.New("the process has no witness, and the command is not silent")
)
