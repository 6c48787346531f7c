package leasertest

import (
	"errors"
	"fmt"
	"time"

	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// checkSuccessor: a lease is lost, another client gets the lock, and only then
// the first one releases.
//
// A lease that expires is not renewed, and its client is cut off meanwhile, so that a
// session that is kept alive ends, too. One that ends with its connection loses that.
func checkSuccessor(e *env) error {
	to, proxies := e.behindProxies()
	first, err := e.leaserTo(to, e.cfg.short)
	if err != nil {
		return err
	}
	next, err := e.leasers(2)
	if err != nil {
		return err
	}
	key := e.keys[0]
	o := e.opts()
	o.TTL, o.Renew = e.cfg.short, false
	l, err := e.must(first, key, o)
	if err != nil {
		return err
	}
	for _, p := range proxies {
		if e.info.Remote.Expires {
			p.Hold(true)
		} else {
			p.Cut()
		}
	}
	if !awaitLost(l, e.cfg.guard) {
		return errors.New("a lease whose TTL or connection has ended is not lost for its client")
	}
	succ, err := e.must(next[0], key, e.opts())
	if err != nil {
		return fmt.Errorf("after another's lease was lost: %w", err)
	}
	a, fenced := l.Token()
	if b, _ := succ.Token(); fenced && b <= a {
		return fmt.Errorf("the successor's token is %d, after %d", b, a)
	}
	for _, p := range proxies {
		p.Hold(false)
	}
	if g, ok := l.(lock.Guarded); ok {
		if err := g.Apply(e.ctx, 1); err == nil {
			return errors.New("a write under a lost lease was acknowledged")
		}
	}
	if err := e.release(l); !errors.Is(err, lock.ErrNotHeld) {
		return fmt.Errorf("release of a lost lease: %v; want ErrNotHeld", err)
	}
	if err := e.refused(next[1], key, e.opts(), "after the release of a lost lease: it freed its successor"); err != nil {
		return err
	}
	return e.released(succ)
}

// behindProxies returns the target as reached through proxies; a target without
// addresses is returned as it is.
func (e *env) behindProxies() (lock.Target, []*tcpproxy.Proxy) {
	to := e.target
	var ps []*tcpproxy.Proxy
	to.Addrs = nil
	reach := map[string]string{}
	for k, v := range e.target.Reach {
		reach[k] = v
	}
	for _, a := range e.target.Addrs {
		upstream := a
		if r, ok := e.target.Reach[a]; ok {
			upstream = r
		}
		p := tcpproxy.New(e.t, upstream)
		ps = append(ps, p)
		to.Addrs = append(to.Addrs, p.Addr())
		reach[a] = p.Addr() // as the server announces itself
	}
	if len(reach) > 0 {
		to.Reach = reach
	}
	return to, ps
}

// checkRenewal: a lease that is renewed outlives its TTL several times, and
// nobody gets in. A machine that stands still can lose any lease, so that a loss counts only if it
// happens with longer TTLs, too.
func checkRenewal(e *env) error {
	other, err := e.leaser()
	if err != nil {
		return err
	}
	ttl := e.cfg.short
	for round := 1; ; round++ {
		lostAt, err := e.outlives(other, ttl)
		if err != nil || lostAt == 0 {
			return err
		}
		if round == 3 {
			return fmt.Errorf("a lease of %v that should be renewed was lost after %v (and shorter ones before it)", ttl, lostAt)
		}
		ttl *= 2
	}
}

// outlives holds a lease for 2.5 times its TTL; lostAt is when it was lost, 0 if it was not.
func (e *env) outlives(other lock.Leaser, ttl time.Duration) (lostAt time.Duration, err error) {
	c, err := e.leaserTo(e.target, ttl)
	if err != nil {
		return 0, err
	}
	o := e.opts()
	o.TTL = ttl
	start := time.Now()
	l, err := e.must(c, e.keys[0], o)
	if err != nil {
		return 0, err
	}
	for time.Since(start) < ttl*5/2 {
		if awaitLost(l, ttl/8) {
			_ = e.release(l)
			return time.Since(start), nil
		}
		if until, ok := l.ValidUntil(); ok && time.Until(until) <= 0 {
			continue // lost, and about to be told
		}
		o := e.try()
		got, err := other.Acquire(e.ctx, e.keys[0], o)
		if err == nil {
			// Only wrong if the first one still believes in its lease.
			until, ok := l.ValidUntil()
			valid := !lost(l) && (!ok || time.Now().Before(until))
			_, _ = e.release(got), e.release(l)
			if valid {
				return 0, fmt.Errorf("another one got in after %v, though the lease of %v is valid for its client", time.Since(start), ttl)
			}
			return time.Since(start), nil
		}
		if !errors.Is(err, lock.ErrNotAcquired) {
			return 0, fmt.Errorf("try meanwhile: %w", err)
		}
	}
	if err := e.release(l); err != nil {
		if errors.Is(err, lock.ErrNotHeld) {
			return time.Since(start), nil
		}
		return 0, fmt.Errorf("release: %w", err)
	}
	return 0, nil
}
