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
//	renewing --T/6 after it was sent: failure, or no answer--> renewing again
//	renewing --lock.ErrNotHeld, or the deadline passes--> lost
//	kept (without renewal) --the deadline passes--> lost
//	kept, renewing --Lose--> lost
//	kept, renewing --Stop--> stopped
//
// T/3 leaves room for three failed renewals before one at 5/6 of T. One that hangs
// does not cost the next its turn, even if renew ignores the end of its context.
// A success that comes after the deadline changes nothing: lost is final.
//
// The deadline itself passes without help; only who waits for the channel of Lost needs a
// timer. So it is armed with the first call of Lost, or with the first renewal: most leases are
// released before, and a timer costs time.
type Keeper struct {
	renew func(context.Context) (time.Duration, error)

	mu       sync.Mutex
	ended    chan struct{} // closed when lost; made by the first call of Lost
	deadline time.Time
	ttl      time.Duration
	success  time.Time // when the last one was sent
	renewal  *time.Timer
	expiry   *time.Timer // nil until it is needed

	// Of the renewals under way; nil until the first begins.
	ctx    context.Context
	cancel context.CancelFunc
	over   bool // lost or stopped
	gone   bool // lost
}

// Keep starts a keeper of a lease whose request was sent at a time and that was
// granted for ttl > 0. renew sends one renewal and returns the TTL granted; nil: the
// lease is not renewed. Only an error that wraps lock.ErrNotHeld is final. If renew
// ignores its context, it may be called again before it has returned.
func Keep(sent time.Time, ttl time.Duration, renew func(context.Context) (time.Duration, error)) *Keeper {
	k := &Keeper{}
	k.keep(sent, ttl, renew)
	return k
}

// keep is Keep with a keeper that is part of something else.
func (k *Keeper) keep(sent time.Time, ttl time.Duration, renew func(context.Context) (time.Duration, error)) {
	k.mu.Lock() // a timer may fire before it is stored
	defer k.mu.Unlock()
	k.renew, k.deadline, k.ttl, k.success = renew, sent.Add(ttl), ttl, sent
	if renew != nil {
		k.renewal = time.AfterFunc(time.Until(sent.Add(ttl/3)), k.turn)
	}
}

// Session returns a keeper without deadline or renewal, of a session whose
// owner tells its end with Lose.
func Session() *Keeper { return &Keeper{} }

// Lost returns a channel that is closed when the lease is lost.
func (k *Keeper) Lost() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended == nil {
		k.ended = make(chan struct{})
		switch {
		case k.gone:
			close(k.ended)
		case !k.over && k.passed():
			k.lose()
		case !k.over && k.renewal == nil && !k.deadline.IsZero():
			k.expiry = time.AfterFunc(time.Until(k.deadline), k.expire)
		}
	}
	return k.ended
}

// lost looks at the deadline, too: after the process was stopped, the timer that
// closes the channel may not have run yet, and there may be none.
func (k *Keeper) lost() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.over && k.passed() {
		k.lose()
	}
	return k.gone
}

// passed reports whether the deadline is over. The caller holds mu.
func (k *Keeper) passed() bool {
	return !k.deadline.IsZero() && !time.Now().Before(k.deadline)
}

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
		k.lose()
	}
}

// lose closes the channel, if there is one. The caller holds mu, and over is false.
func (k *Keeper) lose() {
	k.end()
	k.gone = true
	if k.ended != nil {
		close(k.ended)
	}
}

// end stops all that runs. The caller holds mu.
func (k *Keeper) end() {
	k.over = true
	if k.renewal != nil {
		k.renewal.Stop()
	}
	if k.expiry != nil {
		k.expiry.Stop()
	}
	if k.cancel != nil {
		k.cancel()
	}
}

// expire is called at the deadline, or at one that a renewal has moved since.
func (k *Keeper) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.over:
	case k.passed():
		k.lose()
	default:
		k.expiry.Reset(time.Until(k.deadline))
	}
}

// turn sends one renewal.
func (k *Keeper) turn() {
	k.mu.Lock()
	if k.over {
		k.mu.Unlock()
		return
	}
	if k.passed() { // the process was stopped
		k.lose()
		k.mu.Unlock()
		return
	}
	if k.expiry == nil { // of a lease that is renewed, Lost arms none
		k.expiry = time.AfterFunc(time.Until(k.deadline), k.expire)
		k.ctx, k.cancel = context.WithCancel(context.Background())
	}
	sent := time.Now()
	// The next one is arranged first: this one may hang.
	k.renewal.Reset(k.ttl / 6)
	ctx, cancel := context.WithTimeout(k.ctx, k.ttl/6)
	k.mu.Unlock()

	ttl, err := k.renew(ctx)
	cancel()

	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.over:
	case errors.Is(err, lock.ErrNotHeld), k.passed():
		k.lose()
	case err == nil && ttl > 0 && sent.After(k.success): // else a newer one has answered before
		k.success, k.deadline, k.ttl = sent, sent.Add(ttl), ttl
		k.expiry.Reset(time.Until(k.deadline))
		k.renewal.Reset(time.Until(sent.Add(ttl / 3)))
	}
}
