package leasertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"lockbench/lock"
)

// config is what options change.
type config struct {
	ttl     time.Duration // of leases that must not end
	short   time.Duration // of leases that must
	ops     int
	limit   time.Duration // of a stress
	guard   time.Duration
	only    []string
	without map[string]string
	breaks  map[string]string
}

// Option changes a run.
type Option func(*config)

// Scale multiplies the operations of the stress checks, and their time limit; 1 is
// some seconds a lock.
func Scale(n int) Option {
	return func(c *config) { c.ops, c.limit = c.ops*n, c.limit*time.Duration(n) }
}

// TTL is that of leases that are not meant to end, and what somebody who left must not
// leave behind; 30 s by default, and more than Guard/2.
func TTL(d time.Duration) Option { return func(c *config) { c.ttl = d } }

// ShortTTL is that of leases that are meant to end; the default is 1 s, or what
// the client says is the least (lock.MinTTL).
func ShortTTL(d time.Duration) Option { return func(c *config) { c.short = d } }

// Guard is how long a check waits before it says that something is stuck; 30 s by default.
func Guard(d time.Duration) Option { return func(c *config) { c.guard = d } }

// Without leaves a check out, for a reason that is logged.
func Without(check, why string) Option { return func(c *config) { c.without[check] = why } }

// Only runs the named checks and no others.
func Only(checks ...string) Option { return func(c *config) { c.only = checks } }

// Breaks says that the lock is known to fail a check (another's library, a control), and
// why. Passing is a failure then: the remark would be out of date.
func Breaks(check, why string) Option { return func(c *config) { c.breaks[check] = why } }

func configure(opts []Option) config {
	c := config{ttl: 30 * time.Second, short: time.Second, ops: 200, limit: 3 * time.Second, guard: 30 * time.Second,
		without: map[string]string{}, breaks: map[string]string{}}
	for _, o := range opts {
		o(&c)
	}
	return c
}

// errNotClaimed is returned by a check that found that the lock is not concerned.
var errNotClaimed = errors.New("the lock does not offer it")

// check is one of the suite's.
type check struct {
	name string
	run  func(e *env) error
	skip func(i lock.Info) string // why the lock need not pass; nil or "": it must
}

// checks returns all, in the order in which they run: the simple ones first.
func checks() []check {
	leases := func(lock.Info) string { return "" }
	claims := func(has func(lock.Info) bool, what string) func(lock.Info) string {
		return func(i lock.Info) string {
			if has(i) {
				return ""
			}
			return "the lock does not claim " + what
		}
	}
	return []check{
		{"info", checkInfo, nil},
		{"acquire", checkAcquire, leases},
		{"try", checkTry, leases},
		{"keys", checkKeys, leases},
		{"exclusion", checkExclusion, leases},
		{"timeout", checkTimeout, leases},
		{"cancel", checkCancel, leases},
		{"successor", checkSuccessor, leases},
		{"renewal", checkRenewal, claims(func(i lock.Info) bool { return i.Remote.Renews }, "renewal")},
		{"tokens", checkTokens, claims(func(i lock.Info) bool { return i.Remote.Fences }, "fencing tokens")},
		{"reentrant", checkReentrant, claims(func(i lock.Info) bool { return i.Remote.Reentrant }, "reentrancy")},
		{"fifo", checkFIFO, claims(func(i lock.Info) bool { return i.FIFO }, "first come, first served")},
		{"guarded", checkGuarded, leases},
		{"optimistic", checkOptimistic, nil},
		{"meter", checkMeter, nil},
		{"close", checkClose, leases},
		{"process", checkProcess, leases},
	}
}

// checks returns those that are asked for.
func (c config) checks() []check {
	return slices.DeleteFunc(checks(), func(k check) bool { return c.only != nil && !slices.Contains(c.only, k.name) })
}

// why returns why the check is not for the lock; empty: it is.
func (c check) why(i lock.Info) string {
	switch {
	case c.name == "optimistic" && i.Kind != lock.KindOptimistic:
		return "the lock is not optimistic"
	case c.skip == nil:
		return ""
	case i.Kind == lock.KindOptimistic:
		return "an optimistic client has no leases"
	}
	return c.skip(i)
}

// Run puts a lock through the suite. target is called once; its prefix must be the
// test's own.
func Run(t *testing.T, info lock.Info, target func(t *testing.T) lock.Target, opts ...Option) {
	t.Helper()
	if os.Getenv(childEnv) != "" {
		child(t, info)
		return
	}
	cfg := configure(opts)
	to := target(t)
	for _, c := range cfg.checks() {
		t.Run(c.name, func(t *testing.T) {
			if why := c.why(info); why != "" {
				t.Skip(why)
			}
			if why := cfg.without[c.name]; why != "" {
				t.Skip(why)
			}
			err := runCheck(t, c, info, to, cfg)
			if errors.Is(err, errNotClaimed) {
				t.Skip(err)
			}
			known := cfg.breaks[c.name]
			switch {
			case err == nil && known != "":
				t.Errorf("%s passes, and was said to break this: %s", info.Name, known)
			case err != nil && known != "":
				t.Logf("as known (%s): %v", known, err)
			case err != nil:
				t.Errorf("%s: %v", info.Name, err)
			}
		})
	}
}

// Check puts a lock through the suite and returns what each check that failed
// said. The process check is left out: it needs a test of its own.
func Check(t testing.TB, info lock.Info, target lock.Target, opts ...Option) map[string]error {
	cfg := configure(opts)
	failed := map[string]error{}
	for _, c := range cfg.checks() {
		if c.name == "process" || c.why(info) != "" || cfg.without[c.name] != "" {
			continue
		}
		if err := runCheck(t, c, info, target, cfg); err != nil && !errors.Is(err, errNotClaimed) {
			failed[c.name] = err
		}
	}
	return failed
}

func runCheck(t testing.TB, c check, info lock.Info, target lock.Target, cfg config) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := &env{t: t, ctx: ctx, info: info, target: target, cfg: cfg}
	defer e.close()
	if err := e.prepare(c.name); err != nil {
		return err
	}
	if err := c.run(e); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}
