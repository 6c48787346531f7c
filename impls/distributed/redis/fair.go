package redis

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// fair is the lock with a queue on the server: it is granted in the order in which
// requests reached the server.
//
//	outside --enter: free, and nobody is before--> holding
//	outside --enter: taken--> queued, with a ticket
//	queued --enter: free, and at the head--> holding
//	queued --not seen for its patience--> removed by whoever looks at the queue next
//	removed --enter, with its ticket--> queued, at its old place
//	holding --leave, or its lease ends--> outside
//
// A lock that is free belongs to the head of the queue, for as long as that one is
// alive. A dead one delays the next by its patience at most (half of its TTL; 150 ms at
// least), and any number of waiters who died at once delay it by no more. A waiter shows that
// it is alive three times in that time.
//
// Whoever frees the lock tells the head, over the channel of its process. So a
// handoff is two round trips and a message: see told, whose argument that no wake-up is
// lost holds here, with the same timers.
type fair struct {
	*core
	hub   *hub
	id    string // of this process, 16 characters: they begin each token
	inbox string // what begins the channels' names
}

var (
	_ lease.Inline  = (*fair)(nil)
	_ lease.Renewer = (*fair)(nil)
)

// Patience returns for how long a waiter of redis-fair counts as alive without showing
// itself: half of the TTL, so that the dead are passed over before a lease would have ended;
// 150 ms at least, so that a waiter on a busy machine can show itself in time.
func Patience(ttl time.Duration) time.Duration { return max(ttl/2, 150*time.Millisecond) }

func dialFair(ctx context.Context, t lock.Target) (lock.Client, error) {
	f, err := openFair(ctx, t)
	if err != nil {
		return nil, err
	}
	return client{lease.New(f, t.Meter)}, nil
}

func openFair(ctx context.Context, t lock.Target) (*fair, error) {
	c, err := newCore(ctx, t, fairLeave, fairEnter)
	if err != nil {
		return nil, err
	}
	f := &fair{core: c, hub: newHub(c.s, t.TTL), inbox: t.Prefix + "inbox/"}
	f.id = hex.EncodeToString([]byte(c.tokens.Next()))[:16]
	c.free = func(ctx context.Context, a *attempt, sent time.Time) (int64, error) {
		return f.leave(ctx, a, sent, "0")
	}
	c.giveUp = func(ctx context.Context, a *attempt) (int64, error) { return f.leave(ctx, a, time.Now(), "1") }
	live := f.hub.pin(f.inbox + f.id)
	// Until then waiters poll: it is no reason to fail.
	wait, cancel := context.WithTimeout(ctx, server.Within(t.TTL))
	defer cancel()
	select {
	case <-live:
	case <-wait.Done():
	}
	return f, nil
}

// Close implements lease.Driver.
func (f *fair) Close() error {
	f.hub.close()
	return f.core.Close()
}

func (f *fair) leave(ctx context.Context, a *attempt, sent time.Time, queued string) (int64, error) {
	return f.s.Eval(ctx, sent, a.within, fairLeave, &a.name, a.name+":queue", a.name+":seen", &a.token, &f.inbox, queued)
}

// Release implements lease.Driver. A request of the attempt that had no reply may still be on its
// way, and would take the lock again or queue for it: what it leaves is deleted, too.
func (f *fair) Release(ctx context.Context, g *lease.Grant) error {
	err := f.core.Release(ctx, g)
	if a := of(g); a.late {
		f.forget(a, unsure)
	}
	return err
}

// Acquire implements lease.Driver.
func (f *fair) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	a, err := f.newAttempt(key, o)
	if err != nil {
		return nil, err
	}
	a.token = f.id + a.token
	// The channel is live since the beginning: whoever is a waiter here before it is one
	// there misses no message.
	w := f.hub.expect(f.inbox+f.id, a.token)
	g, err := f.queue(ctx, a, w, o)
	f.hub.leave(w, err == nil)
	return settled(g, err)
}

// queue enters, sleeps until there is a reason to enter again, and so on.
func (f *fair) queue(ctx context.Context, a *attempt, w *waiter, o lock.AcquireOptions) (*lease.Grant, error) {
	e := &entering{attempt: a, queue: a.name + ":queue", seen: a.name + ":seen", tickets: a.name + ":tickets",
		counter: fenceName(a.name), patience: Patience(o.TTL).Milliseconds(), fence: "0", try: "0"}
	if o.Fence {
		e.fence = "1"
	}
	if o.Try {
		e.try = "1"
	}
	lock.TraceOf(ctx).Attempt() // in a queue there is one
	for n := 1; ; n++ {
		left, err := f.enter(ctx, e)
		switch {
		case err == nil:
			return &a.Grant, nil
		case !errors.Is(err, errTaken):
			f.forget(a, unsure)
			return nil, err
		case o.Try:
			if e.late {
				f.forget(a, unsure)
			}
			return nil, err
		}
		pause := min(left+time.Millisecond, Patience(o.TTL)/3)
		if !f.hub.live(w.topic) { // no message would come: poll
			pause = min(pause, lease.Delay(o.Wait, n))
		}
		if err := lease.Rest(ctx, pause, w.wake); err != nil {
			answers := sure
			if e.late {
				answers = unsure
			}
			f.forget(a, answers) // leave the queue
			return nil, err
		}
	}
}

// entering is what an attempt sends while it waits.
type entering struct {
	*attempt
	queue, seen, tickets, counter string
	patience, ticket              int64
	fence, try                    string
	unanswered                    time.Time // when the first of the latest requests without a reply was sent
}

// enter sends the script once; once more, if there is no reply. A lock that the
// first may have got is dated by the first. The first may also arrive later than the second, even
// after an answer to that: whatever it took then, the next request extends, or forget deletes.
func (f *fair) enter(ctx context.Context, e *entering) (left time.Duration, err error) {
	for again := false; ; again = true {
		sent := time.Now()
		got, err := f.s.EvalInts(ctx, sent, e.within, fairEnter, &e.name, &e.queue, &e.seen, &e.tickets, &e.counter,
			&e.token, &e.ms, &e.patience, e.fence, e.try, &e.ticket, &f.inbox)
		if err == nil && len(got) < 2 {
			err = fmt.Errorf("a reply of %d numbers", len(got))
		}
		if e.unanswered.IsZero() {
			e.unanswered = sent
		}
		e.late = e.late || err != nil && !server.Unsent(err) && !server.Refused(err)
		switch {
		case err != nil && (server.Unsent(err) || server.Refused(err)) && !again:
			return 0, refused{err}
		case err != nil && (again || ctx.Err() != nil):
			return 0, fmt.Errorf("%w: no reply to the request for the lock: %w", lock.ErrUnknown, err)
		case err != nil:
			continue
		case got[0] == 1:
			e.grant(e.unanswered, got[1])
			if time.Since(e.Sent) >= e.TTL {
				return 0, fmt.Errorf("%w: the reply came after the lease had ended", lock.ErrUnknown)
			}
			return 0, nil
		}
		e.unanswered = time.Time{}
		if len(got) > 2 {
			e.ticket = got[2]
		}
		return time.Duration(got[1]) * time.Millisecond, errTaken
	}
}
