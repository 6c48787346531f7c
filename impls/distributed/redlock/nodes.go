package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/redis/server"
)

// attempt is one try to get a quorum, and the lease that it became.
type attempt struct {
	lease.Grant
	name   string
	token  string
	ms     int64
	ttl    time.Duration
	within time.Duration
	// flying[i] is locked from before server i's SET is sent until it has been answered
	// or given up. A DEL waits for it.
	flying []sync.Mutex
	// unsure[i] says that server i's SET got no reply; flying[i] guards it.
	unsure []bool
}

func (d *driver) newAttempt(key string, ttl time.Duration) *attempt {
	a := &attempt{name: d.prefix + key, token: d.tokens.Next(), ms: ttl.Milliseconds(), ttl: ttl, within: within(ttl),
		flying: make([]sync.Mutex, len(d.nodes)), unsure: make([]bool, len(d.nodes))}
	a.Key, a.Data = key, a
	return a
}

// reply is what a server said: 1 for yes, 0 for no.
type reply struct {
	n   int64
	err error
}

// errSlow is the failure of servers that have not answered in time.
var errSlow = errors.New("no reply in time")

// errGone is the reply of a server where the key is gone, perhaps by a request whose
// reply was lost.
var errGone = errors.New("the key is gone, perhaps by an earlier request of ours")

// errClosed is the reply of servers that are not asked any more.
var errClosed = errors.New("the client is closed")

// each asks all servers at once, in the background, and returns their replies in the order in
// which they come. Nobody needs to read them all. Requests side by side are one round trip, which
// the caller notes: the tasks' context has no trace.
func (d *driver) each(ask func(ctx context.Context, i int, s *server.Server) reply) <-chan reply {
	replies := make(chan reply, len(d.nodes))
	for i, s := range d.nodes {
		if !d.tasks.Go(func(ctx context.Context) { replies <- ask(ctx, i, s) }) {
			replies <- reply{err: errClosed}
		}
	}
	return replies
}

func (d *driver) setAll(a *attempt, sent time.Time) <-chan reply {
	for i := range a.flying {
		a.flying[i].Lock()
	}
	return d.each(func(_ context.Context, i int, s *server.Server) reply {
		defer a.flying[i].Unlock()
		err := s.Do(alone, sent, a.within, redis.NewStatusCmd(alone, "set", &a.name, &a.token, "nx", "px", &a.ms))
		switch {
		case err == nil:
			return reply{n: 1}
		case errors.Is(err, redis.Nil):
			return reply{}
		}
		a.unsure[i] = !server.Unsent(err) && !server.Refused(err)
		return reply{err: err}
	})
}

func (d *driver) extendAll(a *attempt, sent time.Time) <-chan reply {
	return d.each(func(_ context.Context, _ int, s *server.Server) reply {
		n, err := s.Eval(alone, sent, a.within, server.Extend, &a.name, &a.token, &a.ms)
		return reply{n, err}
	})
}

// delAll deletes the attempt on all servers. One that does not answer is asked again, as
// long as the key can be there; its reply comes when it has answered, or then.
func (d *driver) delAll(a *attempt) <-chan reply {
	return d.each(func(ctx context.Context, i int, s *server.Server) reply {
		a.flying[i].Lock()
		unsure := a.unsure[i]
		a.flying[i].Unlock()
		r := a.del(ctx, s)
		if r.err == nil && r.n == 0 && unsure {
			// The SET may be on its way yet, over a connection that was given up.
			d.tasks.Go(func(ctx context.Context) {
				if server.Pause(ctx, a.within) {
					a.del(ctx, s)
				}
			})
		}
		return r
	})
}

// alone is the context of requests that end by themselves, long before a Close gives
// up on them: one that ends costs each request the arrangement for it.
var alone = context.Background()

// del deletes the attempt on one server.
func (a *attempt) del(ctx context.Context, s *server.Server) reply {
	n, err := s.Eval(alone, time.Now(), a.within, server.Release, &a.name, &a.token)
	if err == nil {
		return reply{n: n}
	}
	ctx, cancel := context.WithTimeout(ctx, max(a.ttl, time.Second))
	defer cancel()
	perhaps := false // an earlier request may have been the one that deleted
	for {
		perhaps = perhaps || !server.Unsent(err) && !server.Refused(err)
		if !server.Pause(ctx, a.within) {
			return reply{err: err}
		}
		n, err = s.Eval(ctx, time.Now(), a.within, server.Release, &a.name, &a.token)
		switch {
		case err == nil && n == 0 && perhaps:
			return reply{err: errGone}
		case err == nil:
			return reply{n: n}
		}
	}
}

// votes are the replies of the servers.
type votes struct {
	yes, no, failed int
	err             error // the last of those that failed
	left            bool  // the context ended before it was decided
}

// count reads replies until it is decided whether a quorum says yes, or until a time: who
// has not answered then counts as failed. It ends with ctx; the requests do not.
func (d *driver) count(ctx context.Context, replies <-chan reply, until time.Time) votes {
	var v votes
	t := time.NewTimer(time.Until(until) + slack)
	defer t.Stop()
	for range d.nodes {
		select {
		case r := <-replies:
			switch {
			case r.err != nil:
				v.failed, v.err = v.failed+1, r.err
			case r.n > 0:
				v.yes++
			default:
				v.no++
			}
		case <-t.C:
			v.failed = len(d.nodes) - v.yes - v.no
			v.err = errSlow
			return v
		case <-ctx.Done():
			v.left = true
			return v
		}
		if v.yes >= d.quorum || v.no+v.failed > len(d.nodes)-d.quorum {
			return v
		}
	}
	return v
}

// slack lets a server's own timeout come first, which says more. The count's is for
// one that is still being connected to.
const slack = 5 * time.Millisecond
