package loopback

import (
	"slices"
	"time"
)

// key is one lock, with its queue. The server's mutex guards it.
//
//	free --acquire--> held
//	held --acquire by another--> held, and that one waits at the end of the queue
//	held --release by its owner, delete, its TTL, its session's end--> the first in the queue holds, or free
//	waiting --release by its owner, its connection's end--> gone from the queue
//
// A TTL runs on the monotonic clock (time.AfterFunc), so that setting the
// machine's clock changes nothing.
type key struct {
	s      *Server
	holder *grant
	queue  []*grant // in order of arrival; not granted yet
	fence  uint64   // of the last grant; outlives it
	value  int64
}

// grant is a holder or a waiter.
type grant struct {
	owner uint64
	peer  *peer         // whose connection it came by, last
	ttl   time.Duration // 0: lives with the connection
	timer *time.Timer   // ends it; nil: none
}

// acquire returns the state of the answer.
func (k *key) acquire(p *peer, r request) string {
	if h := k.holder; h != nil && h.owner == r.Owner { // a repetition: the reply was lost, or the turn is confirmed
		h.peer = p
		k.hold(h, r.TTL)
		return stGranted
	}
	if i := k.waiting(r.Owner); i >= 0 {
		k.queue[i].peer, k.queue[i].ttl = p, r.TTL
		return stQueued
	}
	g := &grant{owner: r.Owner, peer: p, ttl: r.TTL}
	switch {
	case k.holder == nil: // then nobody waits
		k.grant(g)
		return stGranted
	case r.Try:
		return stTaken
	}
	k.queue = append(k.queue, g)
	return stQueued
}

// waiting returns the owner's place in the queue, or -1.
func (k *key) waiting(owner uint64) int {
	return slices.IndexFunc(k.queue, func(g *grant) bool { return g.owner == owner })
}

// leave ends the owner's grant, or its waiting; false: it has neither.
func (k *key) leave(owner uint64) bool {
	if k.holder != nil && k.holder.owner == owner {
		k.free()
		return true
	}
	if i := k.waiting(owner); i >= 0 {
		k.queue = slices.Delete(k.queue, i, i+1)
		return true
	}
	return false
}

func (k *key) grant(g *grant) {
	k.fence++
	k.holder = g
	k.hold(g, g.ttl)
}

// hold begins the holder's TTL anew.
func (k *key) hold(g *grant, ttl time.Duration) {
	g.stop()
	if g.ttl = ttl; ttl > 0 {
		k.endAfter(g, ttl)
	}
}

// endAfter ends the grant after a time, unless somebody stops its timer before.
func (k *key) endAfter(g *grant, d time.Duration) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		k.s.mu.Lock()
		defer k.s.mu.Unlock()
		// A timer that was replaced while it waited for the mutex has no say.
		if !k.s.closed && k.holder == g && g.timer == t {
			k.free()
		}
	})
	g.timer = t // under the mutex, for which the function above waits
}

func (g *grant) stop() {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
}

// free ends the holder's grant, if there is one, and grants the first in the queue.
func (k *key) free() {
	if k.holder == nil {
		return
	}
	k.holder.stop()
	k.holder = nil
	if len(k.queue) > 0 {
		g := k.queue[0]
		k.queue = slices.Delete(k.queue, 0, 1)
		k.grant(g)
		g.peer.send(answer{State: stGranted, Owner: g.owner, Token: k.fence})
	}
}

// disconnected removes the connection's waiters, and ends its session's grant
// after a time.
func (k *key) disconnected(p *peer, wait time.Duration) {
	k.queue = slices.DeleteFunc(k.queue, func(g *grant) bool { return g.peer == p })
	h := k.holder
	if h == nil || h.peer != p || h.ttl > 0 {
		return
	}
	h.stop()
	if wait == 0 {
		k.free()
		return
	}
	k.endAfter(h, wait)
}

// stop ends all timers.
func (k *key) stop() {
	if k.holder != nil {
		k.holder.stop()
	}
	k.holder, k.queue = nil, nil
}
