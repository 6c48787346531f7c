package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockbench/lock"
)

// Keeper is the local clock of a lease or session, and renews it.
//
//	kept --T/3 after the last success was sent--> renewing
//	renewing --success--> kept, the deadline is its send time + the TTL granted
//	renewing --failure--> renewing again after T/6
//	renewing --lock.ErrNotHeld, or the deadline passes--> lost
//	kept (without renewal) --the deadline passes--> lost
//	kept, renewing --Lose--> lost
//	kept, renewing --Stop--> stopped
//
// T/3 leaves room for two failed renewals before the deadline; T/6 is half of
// that, so that one that hangs does not cost the next its turn.
type Keeper struct {
	renew func(context.Context) (time.Duration, error)
	ended chan struct{} // closed when lost

	mu       sync.Mutex
	deadline time.Time
	ttl      time.Duration
	renewal  *time.Timer
	expiry   *time.Timer        // nil until the first renewal begins
	cancel   context.CancelFunc // of the renewal under way
	over     bool               // lost or stopped
}

// Keep starts a keeper of a lease whose request was sent at a time and that was
// granted for ttl > 0. renew sends one renewal and returns the TTL granted; nil: the
// lease is not renewed. Only an error that wraps lock.ErrNotHeld is final.
func Keep(sent time.Time, ttl time.Duration, renew func(context.Context) (time.Duration, error)) *Keeper {
	k := &Keeper{renew: renew, ended: make(chan struct{}), deadline: sent.Add(ttl), ttl: ttl}
	k.mu.Lock()
	defer k.mu.Unlock()
	if renew == nil {
		k.expiry = time.AfterFunc(time.Until(k.deadline), k.expire)
		return k
	}
	// The timer of the deadline is armed with the first renewal: most leases are
	// released before, and a timer costs time.
	k.renewal = time.AfterFunc(time.Until(sent.Add(ttl/3)), k.turn)
	return k
}

// Session returns a keeper without deadline or renewal, of a session whose
// owner tells its end with Lose.
func Session() *Keeper { return &Keeper{ended: make(chan struct{})} }

// Lost returns a channel that is closed when the lease is lost.
func (k *Keeper) Lost() <-chan struct{} { return k.ended }

// ValidUntil returns the deadline; ok is false for a Session.
func (k *Keeper) ValidUntil() (deadline time.Time, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.deadline, !k.deadline.IsZero()
}

// Stop ends the keeper without the lease being lost. The renewal under way is
// told to end; it may still reach the service.
func (k *Keeper) Stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.end()
}

// Lose ends the lease: its owner knows that it is gone.
func (k *Keeper) Lose() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.over {
		k.end()
		close(k.ended)
	}
}

// end stops all that runs. The caller holds mu.
func (k *Keeper) end() {
	k.over = true
	for _, t := range []*time.Timer{k.renewal, k.expiry} {
		if t != nil {
			t.Stop()
		}
	}
	if k.cancel != nil {
		k.cancel()
	}
}

// expire is called at the deadline, or at one that a renewal has moved since.
func (k *Keeper) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return
	}
	if left := time.Until(k.deadline); left > 0 {
		k.expiry.Reset(left)
		return
	}
	k.end()
	close(k.ended)
}

// turn sends one renewal and arranges the next.
func (k *Keeper) turn() {
	k.mu.Lock()
	if k.over {
		k.mu.Unlock()
		return
	}
	if k.expiry == nil {
		k.expiry = time.AfterFunc(time.Until(k.deadline), k.expire)
	}
	sent := time.Now()
	// One that hangs must not take the turn of the next: T/6.
	ctx, cancel := context.WithTimeout(context.Background(), k.ttl/6)
	k.cancel = cancel
	k.mu.Unlock()

	ttl, err := k.renew(ctx)
	cancel()

	k.mu.Lock()
	defer k.mu.Unlock()
	k.cancel = nil
	switch {
	case k.over:
	case err == nil:
		k.deadline, k.ttl = sent.Add(ttl), ttl
		k.expiry.Reset(time.Until(k.deadline))
		k.renewal.Reset(time.Until(sent.Add(ttl / 3)))
	case errors.Is(err, lock.ErrNotHeld):
		k.end()
		close(k.ended)
	default:
		k.renewal.Reset(time.Until(sent.Add(k.ttl / 6)))
	}
}
