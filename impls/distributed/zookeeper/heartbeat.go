package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/lock"
)

// heartbeat is what a session's heartbeats prove: see the package's comment.
//
//	answered, T/5 or more after the candidate: the candidate becomes the base, this one the candidate
//	answered, earlier than that: nothing new is proved
//	no answer, for the second time in a row: the connection is dead
//
// The session lasts until base + T. A fifth is a quarter, which is the pace, less what
// timers are early or late.
type heartbeat struct {
	ttl time.Duration
	// Send times of requests that were answered: the leader knows of the base; of the
	// candidate it will know half a tick later.
	base, candidate time.Time
	misses          int
}

// patience is how many heartbeats in a row go without an answer before the connection
// is taken for dead: one may be a pause of the server's disk.
const patience = 2

// answered returns how long the session lasts, from when the answered heartbeat was sent.
func (h *heartbeat) answered(sent time.Time) time.Duration {
	h.misses = 0
	if sent.Sub(h.candidate) >= h.ttl/5 {
		h.base, h.candidate = h.candidate, sent
	}
	return h.base.Add(h.ttl).Sub(sent)
}

// missed reports whether the connection is dead.
func (h *heartbeat) missed() bool {
	h.misses++
	return h.misses%patience == 0
}

// renew sends a heartbeat and returns how long the session lasts from now.
func (s *session) renew(ctx context.Context) (time.Duration, error) {
	sent := time.Now()
	err := within(ctx, func() error {
		_, err := s.conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
		return err
	})
	if errors.Is(err, zk.ErrSessionExpired) {
		return 0, fmt.Errorf("heartbeat: %w: %w", lock.ErrNotHeld, err)
	}
	// Also a refusal is an answer of the leader, which has looked for the session first.
	if err != nil && !answered(err) {
		s.mu.Lock()
		dead := s.beat.missed()
		s.mu.Unlock()
		if dead {
			s.cut()
		}
		return 0, fmt.Errorf("heartbeat: %w", err)
	}
	if m := s.d.t.Meter; m != nil {
		m.Renewals.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beat.answered(sent), nil
}
