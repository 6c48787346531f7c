package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// hub is a client process's one subscription connection. It wakes those that wait
// here for a channel's messages.
//
//	absent --the first waiter joins--> asked --the server confirms--> live
//	live --the connection ends--> asked (again, over the next connection)
//	asked, live --enough messages that nobody here waited for--> absent
//
// Messages that come while a channel is not live are lost. So whoever joins waits
// until it is live, and then looks at the lock again; and when a channel becomes live
// again, all its waiters are woken to look.
type hub struct {
	s     *server.Server
	check time.Duration // how long the connection may be silent before it is asked for a sign of life

	mu              sync.Mutex
	topics          map[string]*topic
	ps              *redis.PubSub // nil: there is no connection
	started, closed bool
	ctx             context.Context // of the connection
	cancel          context.CancelFunc
	loop            sync.WaitGroup

	// wire orders what is sent: an UNSUBSCRIBE that was decided on before somebody
	// joined must not be sent after his SUBSCRIBE.
	wire sync.Mutex
}

// topic is a channel. hub.mu guards it.
type topic struct {
	live    chan struct{} // closed while it is live
	isLive  bool
	waiters []*waiter // in the order in which they joined
	unasked int       // messages in a row that nobody here waited for
	pinned  bool      // never unsubscribed
}

// waiter is an acquisition that waits.
type waiter struct {
	wake  chan struct{} // holds one wake-up
	topic string
	id    string // what a message that is for this waiter alone says; empty: any message is for it
	armed bool   // it has seen the topic live once, and looks at the lock only when woken
}

const (
	// unaskedMax is how many messages without a waiter end a subscription. One that is
	// kept saves the next waiter two round trips; a message costs less than one.
	unaskedMax = 16
	// topicsMax bounds how many are kept without a waiter.
	topicsMax = 1024
	// redial is the pause between two attempts to connect.
	redial = 50 * time.Millisecond
)

func newHub(s *server.Server, ttl time.Duration) *hub {
	h := &hub{s: s, check: min(max(ttl, 500*time.Millisecond), 5*time.Second), topics: map[string]*topic{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// live reports whether messages of the channel arrive here now.
func (h *hub) live(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[name]
	return t != nil && t.isLive
}

// join makes the caller a waiter, who must leave. It subscribes if nobody here has, and
// waits until the channel is live, for some time; whoever has waited in vain polls. Its
// error is lease.Rest's.
func (h *hub) join(ctx context.Context, name string, within time.Duration) (*waiter, error) {
	w := &waiter{wake: make(chan struct{}, 1), topic: name}
	h.mu.Lock()
	t := h.topics[name]
	asked := t != nil
	if !asked {
		t = &topic{live: make(chan struct{})}
		h.topics[name] = t
	}
	t.waiters = append(t.waiters, w)
	if w.armed = t.isLive; w.armed {
		h.mu.Unlock()
		return w, nil
	}
	if h.loop0() {
		asked = true // the loop subscribes to all that is there
	}
	live := t.live
	if ps := h.ps; !asked && ps != nil && !h.closed {
		// Not here, where the caller may leave at any time: what it asks for is everybody's.
		h.loop.Go(func() { h.subscribe(ps, name) })
	}
	h.mu.Unlock()
	lock.TraceOf(ctx).Trip()
	err := lease.Rest(ctx, within, live)
	h.mu.Lock()
	w.armed = true
	h.mu.Unlock()
	return w, err
}

// leave ends the waiting. One who has not got the lock passes a wake-up on that he
// may have used up: it may have told of a lock that is free.
func (h *hub) leave(w *waiter, got bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[w.topic]
	if t == nil {
		return
	}
	for i, x := range t.waiters {
		if x == w {
			t.waiters = append(t.waiters[:i], t.waiters[i+1:]...)
			break
		}
	}
	if !got && w.id == "" {
		t.wakeOne()
	}
	if len(t.waiters) == 0 && !t.pinned && len(h.topics) > topicsMax {
		h.drop(w.topic)
	}
}

// wakeOne wakes the first waiter that is not woken already: he looks at the lock
// after this, and if he gets it, his release tells the others.
func (t *topic) wakeOne() {
	for _, w := range t.waiters {
		select {
		case w.wake <- struct{}{}:
			return
		default:
		}
	}
}

// deliver hands a message on.
func (h *hub) deliver(m *redis.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[m.Channel]
	if t == nil {
		return
	}
	if len(t.waiters) == 0 {
		if t.unasked++; t.unasked >= unaskedMax && !t.pinned {
			h.drop(m.Channel)
		}
		return
	}
	t.unasked = 0
	if m.Payload == "" {
		t.wakeOne()
		return
	}
	for _, w := range t.waiters {
		if w.id == m.Payload {
			select {
			case w.wake <- struct{}{}:
			default: // he is woken already
			}
		}
	}
}

// drop forgets a topic and unsubscribes. The caller holds mu.
func (h *hub) drop(name string) {
	delete(h.topics, name)
	ps := h.ps
	if ps == nil || h.closed {
		return
	}
	h.loop.Go(func() {
		h.wire.Lock()
		defer h.wire.Unlock()
		h.mu.Lock()
		back := h.topics[name] != nil
		h.mu.Unlock()
		if !back {
			h.s.Meter.Command(1)
			_ = ps.Unsubscribe(h.ctx, name) // an error ends the connection, and the subscription with it
		}
	})
}

// subscribe asks for channels. That it is confirmed, the loop learns.
func (h *hub) subscribe(ps *redis.PubSub, names ...string) {
	h.wire.Lock()
	defer h.wire.Unlock()
	h.s.Meter.Command(1)
	_ = ps.Subscribe(h.ctx, names...) // the loop sees that the connection has failed
}

// confirmed notes that the server has confirmed a subscription, or its end.
func (h *hub) confirmed(m *redis.Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[m.Channel]
	switch {
	case t == nil:
	case m.Kind == "subscribe":
		if !t.isLive {
			t.isLive = true
			close(t.live)
		}
		for _, w := range t.waiters {
			if w.armed {
				select {
				case w.wake <- struct{}{}:
				default:
				}
			}
		}
	default:
		t.down()
	}
}

func (t *topic) down() {
	if t.isLive {
		t.isLive, t.live = false, make(chan struct{})
	}
}

// expect makes the caller a waiter for messages of its own on a channel that is pinned.
func (h *hub) expect(name, id string) *waiter {
	w := &waiter{wake: make(chan struct{}, 1), topic: name, id: id, armed: true}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[name]; t != nil {
		t.waiters = append(t.waiters, w)
	}
	return w
}
