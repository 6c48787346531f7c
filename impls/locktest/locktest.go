package locktest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lockbench/lock"
)

// Options say how hard to test. The zero value of a field means its default.
type Options struct {
	// Seed of everything random. Default 1.
	Seed uint64
	// Scale multiplies the duration of every stress. At the default 1 the
	// suite takes about a second a lock.
	Scale float64
	// Guard is for how long no worker may finish an operation before the
	// check counts as hung. Default 20 s, under -race 60 s: far above any
	// delay of a busy machine, as a false alarm would be a wall-clock assertion.
	Guard time.Duration
	// Atomic makes the guarded words atomic, which keeps the race detector
	// quiet about a lock that is expected to fail. Exclusion is judged all the
	// same, memory order is not.
	Atomic bool
}

// An Option changes one field of Options.
type Option func(*Options)

// WithSeed sets Options.Seed.
func WithSeed(seed uint64) Option { return func(o *Options) { o.Seed = seed } }

// WithScale sets Options.Scale.
func WithScale(scale float64) Option { return func(o *Options) { o.Scale = scale } }

// WithGuard sets Options.Guard.
func WithGuard(guard time.Duration) Option { return func(o *Options) { o.Guard = guard } }

func (o Options) withDefaults() Options {
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Guard == 0 {
		o.Guard = defaultGuard
	}
	return o
}

// budget returns how long a stress of nominal length d lasts.
func (o Options) budget(d time.Duration) time.Duration {
	return time.Duration(float64(d) * o.Scale)
}

// Failure is a check that a lock did not pass.
type Failure struct {
	Lock  string
	Check string // a name of the table in the package comment
	Seed  uint64
	After time.Duration // since the check began
	Err   error         // wraps ErrHang if the check hung
}

// Error implements error.
func (f Failure) Error() string {
	return fmt.Sprintf("lock %s, check %s, seed %d: %v", f.Lock, f.Check, f.Seed, f.Err)
}

// Unwrap returns the error of the check.
func (f Failure) Unwrap() error { return f.Err }

// A check is one line of the table in the package comment.
type check struct {
	name string
	// skip returns why the check does not apply, or "".
	skip func(*subject) string
	run  func(*subject) error
}

// checks are in the order in which they run: what later ones rely on first.
func checks() []check {
	return []check{
		{"info", applies, checkInfo},
		{"progress", skipUnjudged, checkProgress},
		{"exclusion", skipUnjudged, checkExclusion},
		{"trylock", skipWithout("TryLock", func(c lock.Caps) bool { return c.Try }), checkTryLock},
		{"timed", skipWithout("LockFor", func(c lock.Caps) bool { return c.Timed }), checkTimed},
		{"context", skipWithout("LockContext", func(c lock.Caps) bool { return c.Context }), checkContext},
		{"fifo", skipUnlessFIFO, checkFIFO},
		{"rw", skipWithout("RLock", func(c lock.Caps) bool { return c.RW }), checkRW},
		{"many", skipUnjudged, checkMany},
		{"loops", skipLoops, checkLoops},
		{"alloc", skipAlloc, checkAlloc},
	}
}

// subject is the lock under test as the checks see it.
type subject struct {
	info lock.Info
	o    Options
	caps lock.Caps
}

// workers returns n, or as many workers as the lock and the build take.
func (s *subject) workers(n int) int {
	n = min(n, mostWorkers)
	if m := s.info.MaxWorkers; m > 0 && n > m {
		return m
	}
	return n
}

func applies(*subject) string { return "" }

func skipUnjudged(s *subject) string {
	switch {
	case s.info.New == nil:
		return "not an in-process lock"
	case s.info.Control:
		return "a Control is run, never judged"
	}
	return ""
}

func skipWithout(what string, has func(lock.Caps) bool) func(*subject) string {
	return func(s *subject) string {
		if reason := skipUnjudged(s); reason != "" {
			return reason
		}
		if !has(s.caps) {
			return "the handle has no " + what
		}
		if s.workers(2) < 2 {
			return "needs two workers"
		}
		return ""
	}
}

// skipLoops leaves out, besides locks without loops, the builds in which the
// race detector would report what Options.Atomic asks to be quiet about: the
// words that the generated loops guard are always plain.
func skipLoops(s *subject) string {
	if s.o.Atomic && raceEnabled {
		return "the loops' guarded words cannot be made atomic"
	}
	return skipWithout("generated loops", func(c lock.Caps) bool { return c.Loops })(s)
}

// Run puts a lock through every check. It makes a subtest named after the
// lock, with one subtest a check; a lock that is unavailable here is skipped
// with its reason. It must not run beside parallel tests, which would
// disturb the count of allocations.
func Run(t *testing.T, info lock.Info, opts ...Option) {
	t.Helper()
	var o Options
	for _, set := range opts {
		set(&o)
	}
	o = o.withDefaults()
	t.Run(info.Name, func(t *testing.T) {
		if info.Unavailable != "" {
			t.Skip(info.Unavailable)
		}
		s := &subject{info: info, o: o}
		stop := ""
		for _, c := range checks() {
			t.Run(c.name, func(t *testing.T) {
				if stop != "" {
					t.Skip(stop)
				}
				if reason := c.skip(s); reason != "" {
					t.Skip(reason)
				}
				if f := s.do(c); f != nil {
					t.Error(f)
					stop = stopAfter(*f)
				}
			})
		}
	})
}

// Check puts a lock through the same checks and returns those that failed.
func Check(info lock.Info, o Options) []Failure {
	s := &subject{info: info, o: o.withDefaults()}
	var failures []Failure
	for _, c := range checks() {
		if c.skip(s) != "" {
			continue
		}
		if f := s.do(c); f != nil {
			failures = append(failures, *f)
			if stopAfter(*f) != "" {
				break
			}
		}
	}
	return failures
}

// do runs one check.
func (s *subject) do(c check) *Failure {
	began := time.Now()
	err := c.run(s)
	if err == nil {
		return nil
	}
	return &Failure{Lock: s.info.Name, Check: c.name, Seed: s.o.Seed, After: time.Since(began), Err: err}
}

// stopAfter returns why no further check is run after a failure, or "".
func stopAfter(f Failure) string {
	switch {
	case errors.Is(f, ErrHang):
		return "an earlier check hung; its workers may still be running"
	case f.Check == "info":
		return "the catalogue line is wrong"
	}
	return ""
}
