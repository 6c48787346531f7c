package actor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/internal/clock"
)

// update is DoUpdate.
func (a *actor) update(j *job) error {
	if a.s.opt == nil {
		return fmt.Errorf("lock %s has no optimistic update: %w", a.s.p.info.Name, errors.ErrUnsupported)
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
	a.say(j, Event{Ev: EvRequested, AtNS: clock.Shared()})
	var tries atomic.Int32
	called := clock.Shared()
	attempts, err := a.s.opt.Update(ctx, j.Key, func(v int64) int64 {
		if tries.Add(1) == 1 && j.Point == PointWrite {
			// Ended there, the update goes on with a context that has ended, and says what came of it.
			a.stand(j, j.Point)
		}
		return v + 1
	})
	e := Event{Ev: EvUpdated, AtNS: clock.Shared(), CalledNS: called, Attempts: max(attempts, int(tries.Load())), Class: ClassOf(err)}
	if err != nil {
		e.Text = err.Error()
	}
	a.say(j, e)
	return nil
}
