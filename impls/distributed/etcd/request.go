package etcd

import (
	"context"
	"errors"
	"sync"
	"time"
)

// request is one request under way. Its context ends with its base, when the caller leaves, or
// when its time is up; it is not derived from the caller's, of which the metadata would have
// to be copied for each request.
//
// It has no deadline. grpc would send it along, the server would set a timer of its own,
// and each side wake the thread that waits for the network to tell it of a timer that
// is due before all others: 5 % of a pair of requests on one machine. One ticker looks at all
// requests instead; a time that is up is noticed up to a tick later.
type request struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool
	until  time.Time
	late   bool // its time was up; guarded by requests.mu
}

// requests are those of a client.
type requests struct {
	mu      sync.Mutex
	open    map[*request]struct{}
	last    time.Time // when one was begun
	running bool      // the ticker
}

const (
	tick      = 50 * time.Millisecond
	idleAfter = 5 * time.Second // without a request the ticker stops
)

// errNoAnswer is the failure of a request whose time was up.
var errNoAnswer = errors.New("no answer in time")

// begin makes a request of at most step; end is to be called.
func (d *driver) begin(caller, base context.Context, step time.Duration) *request {
	now := time.Now()
	r := &request{until: now.Add(step)}
	r.ctx, r.cancel = context.WithCancel(base)
	q := &d.requests
	q.mu.Lock()
	if q.open == nil {
		q.open = map[*request]struct{}{}
	}
	q.open[r] = struct{}{}
	q.last = now
	// When the client is closed no ticker starts, and there is no need: its connections end.
	if !q.running && d.bg.start(d.watchRequests) {
		q.running = true
	}
	q.mu.Unlock()
	r.stop = context.AfterFunc(caller, r.cancel)
	return r
}

// end ends the request, and returns what is to be said of its error.
func (d *driver) end(r *request, err error) error {
	r.stop()
	r.cancel()
	q := &d.requests
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, r)
	if err != nil && r.late {
		return errNoAnswer
	}
	return err
}

func (d *driver) watchRequests() {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-d.done.Done():
			return
		}
		if d.requests.look(time.Now()) {
			return
		}
	}
}

// look ends the requests whose time is up; idle: the ticker is to stop.
func (q *requests) look(now time.Time) (idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for r := range q.open {
		if !r.late && !now.Before(r.until) {
			r.late = true
			r.cancel()
		}
	}
	q.running = len(q.open) > 0 || now.Sub(q.last) < idleAfter
	return !q.running
}
