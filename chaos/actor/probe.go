package actor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/clock"
)

// probe is DoProbe: the service's availability as its users see it.
func (a *actor) probe(j *job) error {
	if a.s.leaser == nil {
		return fmt.Errorf("lock %s grants no leases: %w", a.s.p.info.Name, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	go func() { // DoFinish ends a wait, too
		select {
		case <-j.finish:
			cancel()
		case <-ctx.Done():
		}
	}()
	every := limit(j.EveryNS, EveryDefault)
	for ctx.Err() == nil {
		a.probeOnce(ctx, j)
		before(ctx.Done(), time.Now().Add(every))
	}
	class := StopFinish
	if j.ctx.Err() != nil {
		class = ClassCanceled
	}
	a.say(j, Event{Ev: EvStopped, Class: class})
	return nil
}

// probeOnce acquires and releases. An error shows in that there is no event.
func (a *actor) probeOnce(ctx context.Context, j *job) {
	bound := limit(j.LimitNS, j.Options.TTL)
	within, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	if a.s.prepare(within, j.Key) != nil {
		return
	}
	called := clock.Shared()
	lease, err := a.s.leaser.Acquire(within, j.Key, j.Options)
	at := clock.Shared()
	if err != nil {
		return
	}
	a.say(j, Event{Ev: EvProbed, AtNS: at, CalledNS: called})
	// What was granted is given back also when the loop is to end. Its outcome is the TTL's: the next
	// grant, or none, shows it.
	release, done := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer done()
	_ = lease.Release(release)
}
