package leasertest

import (
	"errors"
	"fmt"
	"time"

	"lockbench/lock"
)

func checkInfo(e *env) error {
	switch {
	case e.info.Dial == nil:
		return errors.New("not a distributed lock")
	case e.info.Doc == "" || e.info.Remote.Waits == "":
		return errors.New("empty Doc or Remote.Waits")
	}
	return e.info.Validate()
}

func checkAcquire(e *env) error {
	c, err := e.leaser()
	if err != nil {
		return err
	}
	for range 3 {
		l, err := e.must(c, e.keys[0], e.opts())
		if err != nil {
			return err
		}
		if err := e.looksHeld(l); err != nil {
			return err
		}
		if err := e.released(l); err != nil {
			return err
		}
		if err := e.release(l); !errors.Is(err, lock.ErrNotHeld) {
			return fmt.Errorf("second release: %v; want ErrNotHeld", err)
		}
	}
	o := e.opts()
	o.Fence, o.Renew = false, false
	l, err := e.must(c, e.keys[0], o)
	if err != nil {
		return err
	}
	if tok, ok := l.Token(); ok && !e.info.Remote.AlwaysFences {
		return fmt.Errorf("token %d, though none was asked for", tok)
	}
	return e.released(l)
}

// looksHeld checks what a fresh lease says of itself.
func (e *env) looksHeld(l lock.Lease) error {
	_, ok := l.Token()
	r := e.info.Remote
	until, dated := l.ValidUntil()
	switch {
	case lost(l):
		return errors.New("a fresh lease is lost")
	case r.Fences && !ok:
		return errors.New("no token, though the lock claims to fence and was asked to")
	case !r.Fences && !r.AlwaysFences && ok:
		return errors.New("a token, though the lock does not claim to fence")
	case dated && !time.Now().Before(until):
		return errors.New("a fresh lease is past its deadline")
	case r.Expires && !dated:
		return errors.New("no deadline, though the lease expires")
	}
	return nil
}

func checkTry(e *env) error {
	cs, err := e.leasers(2)
	if err != nil {
		return err
	}
	for i := range 2 {
		l, err := e.must(cs[i], e.keys[0], e.try())
		if err != nil {
			return err
		}
		for j, c := range cs {
			who := "of another client"
			if i == j {
				who = "of the same client (every acquisition is a new owner)"
			}
			for range 3 {
				if err := e.refused(c, e.keys[0], e.opts(), who); err != nil {
					return err
				}
			}
		}
		if err := e.released(l); err != nil {
			return err
		}
	}
	return nil
}

func checkKeys(e *env) error {
	cs, err := e.leasers(2)
	if err != nil {
		return err
	}
	a, err := e.must(cs[0], e.keys[0], e.opts())
	if err != nil {
		return err
	}
	b, err := e.must(cs[0], e.keys[1], e.opts())
	if err != nil {
		return fmt.Errorf("the other key: %w", err)
	}
	if err := e.released(a); err != nil {
		return err
	}
	if err := e.refused(cs[1], e.keys[1], e.opts(), "after the release of another key"); err != nil {
		return err
	}
	a, err = e.must(cs[1], e.keys[0], e.opts())
	if err != nil {
		return err
	}
	return errors.Join(e.released(a), e.released(b))
}

func checkTokens(e *env) error {
	cs, err := e.leasers(2)
	if err != nil {
		return err
	}
	var last uint64
	for i := range 10 {
		l, err := e.must(cs[i%2], e.keys[0], e.opts())
		if err != nil {
			return err
		}
		tok, ok := l.Token()
		if !ok || tok <= last {
			return fmt.Errorf("acquisition %d: token %d (%v) after %d; want a larger one", i+1, tok, ok, last)
		}
		last = tok
		if err := e.released(l); err != nil {
			return err
		}
	}
	return nil
}

func checkReentrant(e *env) error {
	cs, err := e.leasers(2)
	if err != nil {
		return err
	}
	key := e.keys[0]
	mine := e.opts()
	mine.Owner = "owner-1"
	var held []lock.Lease
	for i := range 3 {
		l, err := e.must(cs[0], key, mine)
		if err != nil {
			return fmt.Errorf("acquisition %d of one owner: %w", i+1, err)
		}
		a, aok := l.Token()
		if held = append(held, l); i > 0 {
			if b, bok := held[0].Token(); a != b || aok != bok {
				return fmt.Errorf("token %d of a reentrant acquisition, the first has %d", a, b)
			}
		}
	}
	other := e.opts()
	other.Owner = "owner-2"
	for i, l := range held {
		when := fmt.Sprintf("after %d releases of %d", i, len(held))
		for _, try := range []error{
			e.refused(cs[0], key, other, "(another owner of the same client) "+when),
			e.refused(cs[0], key, e.opts(), "(no owner, the same client) "+when),
			e.refused(cs[1], key, other, "(another client) "+when),
		} {
			if try != nil {
				return try
			}
		}
		if err := e.released(l); err != nil {
			return err
		}
	}
	l, err := e.must(cs[1], key, other)
	if err != nil {
		return fmt.Errorf("after as many releases: %w", err)
	}
	return e.released(l)
}

// checkMeter: what the client does is counted.
func checkMeter(e *env) error {
	to, tr := e.target, lock.NewTrace()
	to.Meter = &lock.Meter{}
	ctx := lock.WithTrace(e.ctx, tr)
	c, err := e.dial(to, e.cfg.ttl)
	if err != nil {
		return err
	}
	before := to.Meter.Commands.Load()
	switch c := c.(type) {
	case lock.Leaser:
		l, err := c.Acquire(ctx, e.keys[0], e.opts())
		if err != nil {
			return err
		}
		if tr.Attempts() < 1 {
			return errors.New("no attempt in the trace")
		}
		acquired := to.Meter.Commands.Load()
		if err := e.released(l); err != nil {
			return err
		}
		if acquired == before || to.Meter.Commands.Load() == acquired {
			return fmt.Errorf("commands: %d before, %d after the acquisition, %d after the release; want more each time",
				before, acquired, to.Meter.Commands.Load())
		}
	case lock.Optimistic:
		if _, err := c.Update(ctx, e.keys[0], func(v int64) int64 { return v + 1 }); err != nil {
			return err
		}
		if to.Meter.Commands.Load() == before {
			return errors.New("no commands counted")
		}
	}
	if tr.Trips() < 1 {
		return errors.New("no round trip in the trace")
	}
	return nil
}
