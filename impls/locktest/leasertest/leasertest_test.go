package leasertest

import (
	"context"
	"testing"
	"time"

	"lockbench/lock"
)

// TestCorrect: a correct lock passes.
func TestCorrect(t *testing.T) {
	s := &service{}
	Run(t, s.info(), func(*testing.T) lock.Target { return lock.Target{Prefix: "p/"} },
		Without("process", "the fake is in this process only"))
	if failed := Check(t, s.info(), lock.Target{}, ShortTTL(200*time.Millisecond)); len(failed) > 0 {
		t.Errorf("Check: %v", failed)
	}
}

// TestPlanted: each fault is caught, by the check that is there for it.
func TestPlanted(t *testing.T) {
	for _, c := range []struct {
		fault fault
		check string
	}{
		{"does not exclude", "exclusion"},
		{"does not exclude", "try"},
		{"its release frees the successor", "successor"},
		{"does not tell of a loss", "successor"},
		{"writes without the lock", "successor"},
		{"writes without the lock", "guarded"},
		{"loses writes", "guarded"},
		{"repeats a token", "tokens"},
		{"ignores cancel", "cancel"},
		{"ignores cancel", "timeout"},
		{"ignores a context that has ended", "cancel"},
		{"is not reentrant", "reentrant"},
		{"one release frees all", "reentrant"},
		{"a client is one owner", "try"},
		{"last come, first served", "fifo"},
		{"never renews", "renewal"},
		{"leaks when its time is over", "timeout"},
		{"leaks when its time is over", "cancel"},
		{"waits when it should try", "try"},
		{"says yes to a second release", "acquire"},
		{"all keys are one", "keys"},
		{"counts nothing", "meter"},
		{"waits after its close", "close"},
		{"close hangs", "close"},
	} {
		t.Run(string(c.fault)+", "+c.check, func(t *testing.T) {
			if raceEnabled && c.check == "exclusion" {
				t.Skip("the race detector catches it first")
			}
			t.Parallel()
			s := &service{fault: c.fault}
			// The lock is broken whatever the machine does, so that the guard may be short.
			cfg := configure([]Option{Only(c.check), TTL(2 * time.Second), ShortTTL(100 * time.Millisecond), Guard(time.Second)})
			for _, k := range cfg.checks() {
				if err := runCheck(quiet{t}, k, s.info(), lock.Target{}, cfg); err == nil {
					t.Error("not caught")
				} else {
					t.Log(err)
				}
			}
		})
	}
}

// quiet is a test whose errors do not count: of the clients of a broken lock that
// cannot be closed.
type quiet struct{ testing.TB }

func (q quiet) Errorf(format string, args ...any) { q.Logf(format, args...) }

// TestPlantedOptimistic: updates that are lost, or happen twice.
func TestPlantedOptimistic(t *testing.T) {
	for _, f := range []fault{"", "loses updates", "updates twice", "says one attempt"} {
		t.Run(string(f), func(t *testing.T) {
			s := &service{fault: f}
			i := s.info()
			i.Kind, i.FIFO = lock.KindOptimistic, false
			i.Dial = func(_ context.Context, t lock.Target) (lock.Client, error) { return &optimist{s: s, m: t.Meter}, nil }
			failed := Check(t, i, lock.Target{})
			if _, ok := failed["optimistic"]; ok != (f != "") || len(failed) > 1 {
				t.Errorf("failed: %v", failed)
			}
		})
	}
}

type optimist struct {
	s *service
	m *lock.Meter
}

var (
	_ lock.Optimistic = (*optimist)(nil)
	_ lock.Valuer     = (*optimist)(nil)
)

func (o *optimist) Close() error { return nil }

func (o *optimist) Value(_ context.Context, key string) (int64, error) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	return o.s.slot(key).value, nil
}

func (o *optimist) Update(ctx context.Context, key string, fn func(int64) int64) (int, error) {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return n, lock.ErrNotAcquired
		}
		lock.TraceOf(ctx).Trip()
		o.m.Command(2)
		v, err := o.Value(ctx, key)
		if err != nil {
			return n, err
		}
		w := fn(v)
		time.Sleep(10 * time.Microsecond)
		o.s.mu.Lock()
		k := o.s.slot(key)
		ok := k.value == v
		switch {
		case ok || o.s.fault == "loses updates":
			ok, k.value = true, w
		case o.s.fault == "updates twice":
			k.value += w - v
		}
		o.s.mu.Unlock()
		if ok && o.s.fault == "says one attempt" {
			return 1, nil
		}
		if ok {
			return n, nil
		}
	}
}

// TestBreaks: a lock that is known to fail a check may, and must.
func TestBreaks(t *testing.T) {
	s := &service{fault: "last come, first served"}
	Run(t, s.info(), func(*testing.T) lock.Target { return lock.Target{} },
		Breaks("fifo", "it is a stack"), Without("process", "the fake is in this process only"), ShortTTL(200*time.Millisecond))
}
