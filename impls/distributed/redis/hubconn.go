package redis

import (
	"errors"
	"maps"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/distributed/redis/server"
)

// loop0 starts the loop, once. The caller holds mu.
func (h *hub) loop0() bool {
	if h.started || h.closed {
		return false
	}
	h.started = true
	h.loop.Go(h.run)
	return true
}

// pin subscribes to a channel for as long as the hub lives.
func (h *hub) pin(name string) (live <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &topic{live: make(chan struct{}), pinned: true}
	h.topics[name] = t
	h.loop0()
	return t.live
}

// run keeps a connection, until the hub is closed. A connection that has failed is
// replaced rather than repaired, so that it is seen which messages may be lost: those
// before the new one's confirmations.
func (h *hub) run() {
	for h.ctx.Err() == nil {
		ps := h.s.Client.Subscribe(h.ctx)
		h.mu.Lock()
		names := slices.Collect(maps.Keys(h.topics))
		h.ps = ps // who joins from now on subscribes himself
		h.mu.Unlock()
		if len(names) > 0 {
			h.subscribe(ps, names...)
		}
		h.receive(ps)
		h.mu.Lock()
		h.ps = nil
		for _, t := range h.topics {
			t.down()
		}
		h.mu.Unlock()
		_ = ps.Close()
		server.Pause(h.ctx, redial)
	}
}

// receive hands on what comes, until the connection fails. A connection that is silent is
// asked for a sign of life; one that then stays silent has failed.
func (h *hub) receive(ps *redis.PubSub) {
	asked := false
	for {
		m, err := ps.ReceiveTimeout(h.ctx, h.check)
		if h.ctx.Err() != nil {
			return
		}
		var ne net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &ne) && ne.Timeout() && !asked:
			asked = true
			h.s.Meter.Command(1)
			if h.ping(ps) != nil {
				return
			}
		default:
			return
		}
		switch m := m.(type) {
		case *redis.Message:
			h.deliver(m)
		case *redis.Subscription:
			h.confirmed(m)
		}
	}
}

func (h *hub) ping(ps *redis.PubSub) error {
	h.wire.Lock()
	defer h.wire.Unlock()
	return ps.Ping(h.ctx)
}

// close ends the connection and whoever waits for it.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	ps := h.ps
	h.mu.Unlock()
	h.cancel()
	if ps != nil {
		_ = ps.Close() // wakes the loop from its reading
	}
	h.loop.Wait()
}
