package etcdconcurrency

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// session is one owner.
type session struct {
	*concurrency.Session
	ttl    time.Duration // as granted
	keeper *lease.Keeper // lost when the session is Done
}

// sessions are those of a client process.
//
//	none idle --take--> made --> taken --put, after its key is surely gone--> idle
//	idle --take--> taken, or closed if it is Done
//	taken --drop--> closed
//	all --close--> closed
type sessions struct {
	client *clientv3.Client
	ttl    time.Duration

	mu     sync.Mutex
	idle   []*session
	all    map[*session]bool
	closed bool
	ending sync.WaitGroup
}

func newSessions(c *clientv3.Client, ttl time.Duration) *sessions {
	return &sessions{client: c, ttl: ttl, all: map[*session]bool{}}
}

// take returns a session that nobody else uses.
func (p *sessions) take(ctx context.Context) (*session, error) {
	for {
		p.mu.Lock()
		n := len(p.idle)
		if n == 0 {
			p.mu.Unlock()
			return p.grow(ctx)
		}
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		select {
		case <-s.Done():
			p.drop(s)
		default:
			return s, nil
		}
	}
}

// grow makes a session. The lease is asked for here, because NewSession does not
// tell the TTL that was granted; the requests are the same.
func (p *sessions) grow(ctx context.Context) (*session, error) {
	granted, err := p.client.Grant(ctx, seconds(p.ttl))
	if err != nil {
		return nil, fmt.Errorf("grant a lease: %w", err)
	}
	cs, err := concurrency.NewSession(p.client, concurrency.WithLease(granted.ID), concurrency.WithTTL(int(granted.TTL)))
	if err == nil && cs == nil {
		err = errors.New("no keep-alive")
	}
	if err != nil {
		return nil, fmt.Errorf("make a session: %w", err)
	}
	s := &session{Session: cs, ttl: time.Duration(granted.TTL) * time.Second, keeper: lease.Session()}
	go func() { // ends with the session, at the latest with the client
		<-cs.Done()
		s.keeper.Lose()
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[s] = true
	if p.closed {
		p.end(s)
		return nil, lease.ErrClosed
	}
	return s, nil
}

// put gives a session back whose key is surely gone.
func (p *sessions) put(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.idle = append(p.idle, s)
	}
}

// drop closes a session, in the background.
func (p *sessions) drop(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(s)
}

// end closes a session. The caller holds mu.
func (p *sessions) end(s *session) {
	if !p.all[s] {
		return
	}
	delete(p.all, s)
	p.ending.Add(1)
	go func() {
		defer p.ending.Done()
		_ = s.Close() // revokes; else the lease ends with its TTL
	}()
}

// closeGrace bounds how long the revocation of leases is waited for.
const closeGrace = 2 * time.Second

// close ends all sessions, and with them all keys.
func (p *sessions) close() {
	p.mu.Lock()
	p.closed = true
	for s := range p.all {
		p.end(s)
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { p.ending.Wait(); close(done) }()
	t := time.NewTimer(closeGrace)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// seconds rounds up: etcd's leases have whole seconds.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// MinTTL implements lock.MinTTL: it asks for a lease of a second, and revokes it.
func (c *client) MinTTL(ctx context.Context) (time.Duration, error) {
	r, err := c.etcd.Grant(ctx, 1)
	if err != nil {
		return 0, fmt.Errorf("grant a lease: %w", err)
	}
	if _, err := c.etcd.Revoke(ctx, r.ID); err != nil {
		return 0, fmt.Errorf("revoke a lease: %w", err)
	}
	return time.Duration(r.TTL) * time.Second, nil
}

var _ lock.MinTTL = (*client)(nil)
