package actor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
)

// work is the loop of writes.
//
//	point acquired -> check -> point write -> write -> pause -> check -> write -> pause ...
//
// Careful: a check that fails, or a lease that ends in a pause, ends the loop, and the claim with it.
// Nothing is checked between the point and the write: that is the window in which a holder that did all
// right is overtaken.
func (a *actor) work(j *job) error {
	h := a.held
	if h == nil || !h.isInside() {
		return errors.New("the actor is not inside")
	}
	write := func() (class string) { return a.write(j, h) }
	if j.Policy == Protected {
		g, ok := h.lease.(lock.Guarded)
		if !ok {
			return fmt.Errorf("lock %s has no protected write: %w", a.s.p.info.Name, errors.ErrUnsupported)
		}
		write = func() (class string) { return a.apply(j, g) }
	} else if !j.Silent && a.s.p.stores == nil {
		return errNoStores
	}
	e := Event{Ev: EvStopped}
	e.Class, e.Text = a.loop(j, h, write)
	if e.Class == StopLost || e.Class == ClassNotHeld {
		h.leave(j.ID, a.s.say)
	}
	e.AtNS = clock.Shared()
	a.say(j, e)
	return nil
}

// loop returns why it ended, and what showed it.
func (a *actor) loop(j *job, h *hold, write func() (class string)) (class, by string) {
	margin := time.Duration(j.MarginNS)
	if j.Point == PointAcquired && !a.stand(j, j.Point) {
		return ClassCanceled, ""
	}
	for first := true; ; first = false {
		if j.Policy == Careful {
			if by := h.ended(margin); by != "" {
				return StopLost, by
			}
		}
		if first && j.Point == PointWrite && !a.stand(j, j.Point) {
			return ClassCanceled, ""
		}
		if class := write(); class == ClassNotHeld {
			return class, "the service refused the write"
		}
		if class, by := a.pause(j, h); class != "" {
			return class, by
		}
	}
}

// pause waits until the next write is due; class says why there is to be none.
func (a *actor) pause(j *job, h *hold) (class, by string) {
	until := time.Now().Add(limit(j.EveryNS, EveryDefault))
	for {
		next := until
		var lost <-chan struct{}
		if j.Policy == Careful {
			margin := time.Duration(j.MarginNS)
			if by := h.ended(margin); by != "" {
				return StopLost, by
			}
			lost = h.lease.Lost()
			if deadline, ok := h.lease.ValidUntil(); ok {
				if deadline = deadline.Add(-margin); deadline.Before(next) { // it may have been renewed by then
					next = deadline
				}
			}
		}
		t := time.NewTimer(time.Until(next))
		select {
		case <-t.C:
			if next.Equal(until) {
				return "", ""
			}
		case <-lost: // the check tells
		case <-j.finish:
			t.Stop()
			return StopFinish, ""
		case <-j.ctx.Done():
			t.Stop()
			return ClassCanceled, ""
		}
		t.Stop()
	}
}

// write writes the next value to the witness's stores.
func (a *actor) write(j *job, h *hold) (class string) {
	if j.Silent {
		return ""
	}
	h.value++
	ctx, cancel := context.WithTimeout(j.ctx, CallLimit)
	defer cancel()
	e := Event{Ev: EvWrote, Value: h.value, CalledNS: clock.Shared()}
	op, err := a.s.p.stores.Write(ctx, h.key, h.worker, h.token, h.value)
	e.AtNS = clock.Shared()
	if err != nil { // it may have arrived: the stores know
		e.Class, e.Text = ClassOf(err), err.Error()
	} else {
		took := true // the unfenced store takes everything
		e.Unfenced = &took
		if h.token != nil {
			e.Fenced = &op.Fenced
		}
	}
	a.say(j, e)
	return e.Class
}

// apply is a protected write.
func (a *actor) apply(j *job, g lock.Guarded) (class string) {
	ctx, cancel := context.WithTimeout(j.ctx, limit(j.LimitNS, CallLimit))
	defer cancel()
	e := Event{Ev: EvWrote, CalledNS: clock.Shared()}
	err := g.Apply(ctx, 1)
	e.AtNS = clock.Shared()
	if err != nil {
		e.Class, e.Text = ClassOf(err), err.Error()
	}
	a.say(j, e)
	return e.Class
}
