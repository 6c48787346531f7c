package chaos

import (
	"context"
	"errors"
	"time"

	"lockbench/chaos/actor"
	"lockbench/lock"
)

// script is what the parties of a round do around the injection.
type script struct {
	// arm brings everybody to where the fault finds them.
	arm func(ctx context.Context, p *Play) error
	// open is called once the fault was felt: it returns when there is no more to be seen while the fault lasts.
	open func(ctx context.Context, p *Play, watch time.Duration) error
	// close is called when the fault has ended: the holder has its chance to do harm, and everybody leaves.
	close func(ctx context.Context, p *Play) error
}

// scriptOf is the script of a cell.
func scriptOf(c *Cell) script {
	if c.Lock.Kind == lock.KindOptimistic {
		return scriptUpdate
	}
	switch c.Fault.Shape {
	case ShapeUnlock:
		return scriptUnlock
	case ShapeAcquire:
		return scriptAcquire
	case ShapeWait:
		return scriptWait
	}
	return scriptHold
}

var scriptHold = script{
	arm: func(ctx context.Context, p *Play) error {
		if err := p.hold(ctx, 0); err != nil {
			return err
		}
		return p.line(ctx)
	},
	open: func(ctx context.Context, p *Play, watch time.Duration) error {
		if err := p.open(0); err != nil {
			return err
		}
		w, err := p.somebody(ctx, watch)
		if w == nil || err != nil {
			return err
		}
		if n := len(p.Holder.pause); n > 0 && p.Holder.pause[n-1].To == 0 {
			return nil // it stands still: its chance comes
		}
		if p.Holder.Gone() { // it does no harm; whoever stayed might outlive a lease that nobody renews
			p.dismiss()
		}
		return p.danger(ctx, 0, w.entered.AtNS)
	},
	close: func(ctx context.Context, p *Play) error {
		// What the end of the fault brings about, such as a server that is there again, may let somebody in.
		settle := settleTime
		if p.fault.On == OnServers {
			settle = p.times.TTL + p.times.Tick + settleTime
		}
		if _, stopped := p.Holder.find(0, actor.EvStopped); stopped || p.Holder.Gone() {
			settle = 0 // it does no harm any more
		}
		w, err := p.somebody(ctx, settle)
		if err != nil {
			return err
		}
		after := p.obs.Injection.RecoverNS
		if w != nil {
			after = max(after, w.entered.AtNS)
		}
		if err := p.danger(ctx, 0, after); err != nil {
			return err
		}
		if err := p.retire(ctx); err != nil {
			return err
		}
		if w != nil { // a late release of the holder's may let a third one in, if it is wrong
			if err := sleep(ctx, 3*PollMax); err != nil {
				return err
			}
		}
		return p.drain(ctx)
	},
}

// line has the next and the second queue up.
func (p *Play) line(ctx context.Context) error {
	return errors.Join(p.queue(ctx, p.Next, 0), p.queue(ctx, p.Second, 0))
}

// retire has the holder end its section, if it still can.
func (p *Play) retire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	err := p.finish(ctx, p.Holder, 0)
	if errors.Is(err, errGone) || p.Holder.Gone() {
		return nil
	}
	return err
}

// scriptWait: the holder is well and leaves once the fault was felt.
var scriptWait = script{
	arm: scriptHold.arm,
	open: func(ctx context.Context, p *Play, watch time.Duration) error {
		if err := p.open(0); err != nil {
			return err
		}
		if err := p.retire(ctx); err != nil {
			return err
		}
		_, err := p.somebody(ctx, watch)
		return err
	},
	close: func(ctx context.Context, p *Play) error { return p.drain(ctx) },
}

// scriptUnlock: the holder's lease ends, an actor of the same process is granted, others wait.
var scriptUnlock = script{
	arm: func(ctx context.Context, p *Play) error {
		if err := p.hold(ctx, 0); err != nil {
			return err
		}
		finish := func() error {
			_, err := p.Holder.send(actor.Command{Do: actor.DoFinish, Actor: 0})
			return err
		}
		if !p.Cell.Lock.Remote.Expires {
			// It does not end by itself: a release too many is as late. The holder is inside until it releases, so that
			// whoever is let in before, as by a session that both share, is let in beside it.
			if err := p.queue(ctx, p.Holder, 1); err != nil {
				return err
			}
			w, err := p.somebody(ctx, settleTime)
			if err == nil && w != nil { // longer than a holder may take to notice that it has lost its session
				err = sleep(ctx, 2*noticeTime)
			}
			if err != nil {
				return err
			}
			if err := errors.Join(finish(), p.release(ctx, p.Holder, 0)); err != nil {
				return err
			}
		} else if err := errors.Join(finish(), p.queue(ctx, p.Holder, 1)); err != nil {
			return err
		}
		w, err := p.somebody(ctx, p.times.TTL+p.times.Tick+settleTime)
		if err == nil && w == nil { // nor does this one, though it might
			if err = p.release(ctx, p.Holder, 0); err == nil {
				w, err = p.somebody(ctx, 2*answerTime)
			}
		}
		if err == nil && w == nil {
			err = errors.New("nobody got in when the holder had released")
		}
		if err != nil {
			return err
		}
		return p.line(ctx)
	},
	open: func(ctx context.Context, p *Play, _ time.Duration) error {
		// Whoever a wrong release lets in is there after a turn of polling.
		return sleep(ctx, settleTime+2*PollMax)
	},
	close: func(ctx context.Context, p *Play) error { return p.drain(ctx) },
}

// scriptAcquire: the holder's request is under way, and its reply does not come.
var scriptAcquire = script{
	arm: func(ctx context.Context, p *Play) error {
		p.Holder.Net.HoldReplies()
		if _, err := p.acquire(p.Holder, 0, true); err != nil {
			return err
		}
		actx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		if _, err := p.Holder.awaitOf(actx, 0, actor.EvRequested); err != nil {
			return err
		}
		if err := p.Holder.Net.AwaitHeldReply(actx); err != nil {
			return err
		}
		return p.line(ctx)
	},
	open: func(ctx context.Context, p *Play, watch time.Duration) error {
		// Whoever gets in before the holder does leaves after its work: one that stayed would keep the holder out, and
		// outlive a lease that nobody renews, which is not what the fault has done.
		p.dismiss()
		octx, cancel := context.WithTimeout(ctx, answerTime+3*(p.times.TTL+p.times.Tick))
		defer cancel()
		e, err := p.Holder.awaitOf(octx, 0, actor.EvEntered, actor.EvRefused)
		if err != nil && octx.Err() != nil && ctx.Err() == nil && p.nobody() {
			return errStuck // its own request keeps it, and all others, out
		}
		if err != nil {
			return err
		}
		if e.Ev == actor.EvEntered {
			if err := p.work(p.Holder, 0, ""); err != nil {
				return err
			}
			if _, err := p.Holder.awaitOf(octx, 0, actor.EvWrote, actor.EvStopped); err != nil {
				return err
			}
			if err := p.retire(ctx); err != nil {
				return err
			}
		}
		_, err = p.somebody(ctx, watch)
		return err
	},
	close: func(ctx context.Context, p *Play) error { return p.drain(ctx) },
}

// scriptUpdate is that of locks that are none: the "holder" stands between its read and its write, the next one
// updates meanwhile.
var scriptUpdate = script{
	arm: func(ctx context.Context, p *Play) error {
		if err := p.update(p.Holder, actor.PointWrite); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
		defer cancel()
		if _, err := p.Holder.awaitOf(ctx, 0, actor.EvPoint); err != nil {
			return err
		}
		if p.fault.Shape == ShapeAcquire { // the reply of the write is lost
			p.Holder.Net.HoldReplies()
			if _, err := p.Holder.send(actor.Command{Do: actor.DoGo}); err != nil {
				return err
			}
			return p.Holder.Net.AwaitHeldReply(ctx)
		}
		return nil
	},
	open: func(ctx context.Context, p *Play, _ time.Duration) error {
		for _, who := range []*Party{p.Next, p.Second} {
			if err := p.update(who, ""); err != nil {
				return err
			}
		}
		if p.fault.On == OnServers {
			return nil // they may have to wait for its end
		}
		ctx, cancel := context.WithTimeout(ctx, 4*answerTime)
		defer cancel()
		_, err := p.Next.awaitOf(ctx, 0, actor.EvUpdated)
		return err
	},
	close: func(ctx context.Context, p *Play) error {
		if p.fault.Shape != ShapeAcquire && !p.Holder.Gone() {
			if _, err := p.Holder.send(actor.Command{Do: actor.DoGo}); err != nil && !p.Holder.Gone() {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, 6*answerTime)
		defer cancel()
		for _, who := range p.parties() {
			if err := p.updated(ctx, who); err != nil && !errors.Is(err, errGone) {
				return err
			}
		}
		return nil
	},
}

// update has a party update once.
func (p *Play) update(who *Party, point string) error {
	id, err := who.send(actor.Command{Do: actor.DoUpdate, Key: p.key(), Slot: p.slot, Worker: who.Worker(0), Point: point, LimitNS: int64(waitTime)})
	if p.updates == nil {
		p.updates = map[*Party]int{}
	}
	p.updates[who] = id
	return err
}

// updated waits until a party's update has come to its end. One that could not even begin, because its servers were not there, is
// begun again, as users do.
func (p *Play) updated(ctx context.Context, who *Party) error {
	for {
		e, err := who.awaitID(ctx, p.updates[who], actor.EvUpdated, actor.EvFailed)
		if err != nil || e.Ev == actor.EvUpdated {
			return err
		}
		if err := errors.Join(sleep(ctx, askAgain), p.update(who, "")); err != nil {
			return err
		}
	}
}
