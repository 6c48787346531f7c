package lease_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

func TestDelay(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		p    lock.WaitPolicy
		n    int
		want time.Duration // without jitter
	}{
		{lock.WaitPolicy{Min: ms, Max: 8 * ms}, 1, ms},
		{lock.WaitPolicy{Min: ms, Max: 8 * ms}, 2, 2 * ms},
		{lock.WaitPolicy{Min: ms, Max: 8 * ms}, 3, 4 * ms},
		{lock.WaitPolicy{Min: ms, Max: 8 * ms}, 4, 8 * ms},
		{lock.WaitPolicy{Min: ms, Max: 8 * ms}, 5, 8 * ms},
		{lock.WaitPolicy{Min: ms, Max: 7 * ms}, 4, 7 * ms},
		{lock.WaitPolicy{Min: 5 * ms, Max: 5 * ms}, 1, 5 * ms},
		{lock.WaitPolicy{Min: 1, Max: math.MaxInt64}, 63, 1 << 62},
		{lock.WaitPolicy{Min: 1, Max: math.MaxInt64}, 64, math.MaxInt64},
		{lock.WaitPolicy{Min: time.Second, Max: math.MaxInt64}, 35, math.MaxInt64}, // 10^9 << 34 overflows
		{lock.WaitPolicy{Min: time.Second, Max: time.Hour}, math.MaxInt32, time.Hour},
	} {
		if got := lease.Delay(c.p, c.n); got != c.want {
			t.Errorf("Delay(%v, %d) = %v, want %v", c.p, c.n, got, c.want)
		}
	}
	for _, jitter := range []float64{0.3, 1} {
		p := lock.WaitPolicy{Min: time.Second, Max: time.Second, Jitter: jitter}
		low, high := p.Max, time.Duration(0)
		for range 10000 {
			d := lease.Delay(p, 1)
			low, high = min(low, d), max(high, d)
		}
		floor := time.Duration(float64(p.Max) * (1 - jitter))
		span := float64(p.Max - floor)
		if low < floor || high > p.Max || float64(low-floor) > 0.05*span || float64(p.Max-high) > 0.05*span {
			t.Errorf("jitter %v: delays from %v to %v, want them spread over %v to %v", jitter, low, high, floor, p.Max)
		}
	}
}

// TestPoll: attempts at the times that the policy says, counted in the trace.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.keys["k"] = entry{1000, time.Now().Add(100 * time.Millisecond)}
		c := newClient(t, f, nil)
		o := opts()
		o.Wait = lock.WaitPolicy{Min: 10 * time.Millisecond, Max: 40 * time.Millisecond}
		tr := lock.NewTrace()
		l, err := c.Acquire(lock.WithTrace(t.Context(), tr), "k", o)
		if err != nil {
			t.Fatal(err)
		}
		want := seconds(0, 0.01, 0.03, 0.07, 0.11)
		got := f.at("acquire")
		if len(got) != len(want) || tr.Attempts() != len(want) {
			t.Fatalf("attempts at %v, want %v; in the trace %d", got, want, tr.Attempts())
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("attempt %d at %v, want %v", i, got[i], want[i])
			}
		}
		l.Release(t.Context())

		f.sent = func(context.Context, string, int) error { return errAway } // not a refusal: no other attempt
		before := len(f.at("acquire"))
		if _, err := c.Acquire(t.Context(), "k", o); !errors.Is(err, errAway) {
			t.Errorf("acquire: %v", err)
		}
		if n := len(f.at("acquire")) - before; n != 1 {
			t.Errorf("%d attempts after an error that is no refusal", n)
		}
		c.Close()
	})
}

func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		wake := make(chan struct{}, 1)
		wake <- struct{}{}
		if err := lease.Rest(t.Context(), time.Hour, wake); err != nil || time.Since(start) != 0 {
			t.Errorf("woken: %v after %v", err, time.Since(start))
		}
		if err := lease.Rest(t.Context(), time.Second, wake); err != nil || time.Since(start) != time.Second {
			t.Errorf("not woken: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lease.Rest(ctx, time.Hour, nil); !errors.Is(err, lock.ErrNotAcquired) || time.Since(start) != 2*time.Second {
			t.Errorf("left: %v after %v", err, time.Since(start))
		}
	})
}
