package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/lock"
)

// waiters are the locks whose waiters are woken.
var waiters = []string{"redis-pubsub", "redis-fair"}

// parked waits until n acquisitions of the clients wait, and their attempts have failed.
func parked(t *testing.T, n int, traces ...*lock.Trace) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d waiters", n), func() bool {
		k := 0
		for _, tr := range traces {
			if tr.Trips() > 0 {
				k++
			}
		}
		return k >= n
	})
}

type result struct {
	who int
	l   lock.Lease
	err error
}

// start acquires in the background.
func start(c lock.Leaser, who int, o lock.AcquireOptions, tr *lock.Trace, out chan<- result) (cancel context.CancelFunc) {
	ctx, cancel := context.WithTimeout(lock.WithTrace(context.Background(), tr), hang)
	go func() {
		l, err := c.Acquire(ctx, "k", o)
		out <- result{who, l, err}
	}()
	return cancel
}

// subscribers returns how many clients listen to the lock's channel.
func subscribers(t *testing.T, r *redis.Client, tg lock.Target, name string) int {
	t.Helper()
	pattern := tg.Prefix + "k"
	if name == "redis-fair" {
		pattern = tg.Prefix + "inbox/*"
	}
	chans, err := r.PubSubChannels(context.Background(), pattern).Result()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, ch := range chans {
		got, err := r.PubSubNumSub(context.Background(), ch).Result()
		if err != nil {
			t.Fatal(err)
		}
		n += int(got[ch])
	}
	return n
}

// Every waiter, of several clients with several workers each, is woken in its turn; polling
// would take an hour, and no lease expires before the test hangs.
func TestWokenWithoutPolling(t *testing.T) {
	for _, name := range waiters {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			holder, _ := dialTo(t, name, tg)
			l := acquire(t, holder, "k", opts(10*time.Minute))
			const clients, workers = 3, 3
			out := make(chan result)
			var traces []*lock.Trace
			for i := range clients {
				c, _ := dialTo(t, name, tg)
				for j := range workers {
					tr := lock.NewTrace()
					traces = append(traces, tr)
					defer start(c, i*workers+j, seldom(10*time.Minute), tr, out)()
				}
			}
			parked(t, clients*workers, traces...)
			giveBack(t, l)
			for range clients * workers {
				r := <-out
				if r.err != nil {
					t.Fatalf("waiter %d: %v", r.who, r.err)
				}
				giveBack(t, r.l)
			}
		})
	}
}

// The critical path of a handoff among eight clients: the release, the message, and the
// request of the waiter that gets the lock. Others may be told, too, and ask in vain.
func TestHandoffInThreeTrips(t *testing.T) {
	for _, name := range waiters {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			r := raw(t, tg)
			out := make(chan result, 8)
			var cs []lock.Leaser
			var meters []*lock.Meter
			for range 8 {
				c, m := dialTo(t, name, tg)
				cs, meters = append(cs, c), append(meters, m)
			}
			l := acquire(t, cs[0], "k", opts(10*time.Minute))
			traces := make([]*lock.Trace, 8)
			for i := 1; i < 8; i++ {
				traces[i] = lock.NewTrace()
				defer start(cs[i], i, seldom(10*time.Minute), traces[i], out)()
			}
			want := 7
			if name == "redis-fair" {
				want = 8 // the holder's process has its inbox, too
			}
			eventually(t, "all have subscribed", func() bool { return subscribers(t, r, tg, name) == want })
			for i := 1; i < 8; i++ {
				parked(t, 1, traces[i])
			}
			for range 7 {
				// All that still wait have looked at the lock since it was taken.
				settle(t, meters)
				put := lock.NewTrace()
				at := time.Now()
				if err := l.Release(lock.WithTrace(context.Background(), put)); err != nil {
					t.Fatal(err)
				}
				got := <-out
				if got.err != nil {
					t.Fatal(got.err)
				}
				if n := put.Trips() + traces[got.who].TripsSince(at); n > 2 {
					t.Errorf("%d round trips beside the message, want 2: release %d, waiter %d", n, put.Trips(), traces[got.who].TripsSince(at))
				}
				l = got.l
			}
			giveBack(t, l)
		})
	}
}

// settle waits until nobody has a wake-up that it has not looked at, and no request is under way.
func settle(t *testing.T, meters []*lock.Meter) {
	t.Helper()
	still := 0
	var last int64
	eventually(t, "nobody asks", func() bool {
		var sum int64
		for _, m := range meters {
			sum += m.Commands.Load()
		}
		if sum == last {
			still++
		} else {
			still = 0
		}
		last = sum
		return still > 10
	})
}

// A waiter that leaves passes on the wake-up that it may have used up.
func TestLeavingPassesTheWakeUpOn(t *testing.T) {
	for _, name := range waiters {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				tg := target(t)
				a, _ := dialTo(t, name, tg)
				b, _ := dialTo(t, name, tg)
				l := acquire(t, a, "k", opts(10*time.Minute))
				first, second := make(chan result, 1), make(chan result, 1)
				t1, t2 := lock.NewTrace(), lock.NewTrace()
				leave := start(b, 1, seldom(10*time.Minute), t1, first)
				parked(t, 1, t1)
				defer start(b, 2, seldom(10*time.Minute), t2, second)()
				parked(t, 2, t1, t2)
				var wg sync.WaitGroup
				wg.Go(leave)
				wg.Go(func() { giveBack(t, l) })
				wg.Wait()
				if r := <-first; r.err == nil {
					giveBack(t, r.l)
				}
				r := <-second
				if r.err != nil {
					t.Fatalf("the second waiter: %v", r.err)
				}
				giveBack(t, r.l)
			}
		})
	}
}

// The subscription's connection is cut, and the message of a release in the meantime is lost:
// the waiter looks again when it is subscribed again.
func TestSubscriptionIsCut(t *testing.T) {
	for _, name := range waiters {
		t.Run(name, func(t *testing.T) {
			direct := target(t)
			direct.TTL = 10 * time.Minute
			tg, proxy := behind(t, direct)
			a, _ := dialTo(t, name, direct)
			b, _ := dialTo(t, name, tg)
			l := acquire(t, a, "k", opts(10*time.Minute))
			out, tr := make(chan result, 1), lock.NewTrace()
			defer start(b, 1, seldom(10*time.Minute), tr, out)()
			parked(t, 1, tr)
			want := map[string]int{"redis-pubsub": 1, "redis-fair": 2}[name]
			r := raw(t, direct)
			eventually(t, "subscribed", func() bool { return subscribers(t, r, direct, name) == want })
			proxy.Refuse(true)
			proxy.Cut()
			eventually(t, "no subscriber", func() bool { return subscribers(t, r, direct, name) == want-1 })
			giveBack(t, l) // nobody hears it
			proxy.Refuse(false)
			got := <-out
			if got.err != nil {
				// A request of its own that was cut tells the waiter so; it is not left hanging.
				if !strings.Contains(got.err.Error(), "no reply") {
					t.Fatal(got.err)
				}
				return
			}
			giveBack(t, got.l)
		})
	}
}

// Subscriptions that nobody needs any more end.
func TestSubscriptionsEnd(t *testing.T) {
	tg := target(t)
	a, _ := dialTo(t, "redis-pubsub", tg)
	b, _ := dialTo(t, "redis-pubsub", tg)
	r := raw(t, tg)
	l := acquire(t, a, "k", opts(10*time.Minute))
	out, tr := make(chan result, 1), lock.NewTrace()
	defer start(b, 1, seldom(10*time.Minute), tr, out)()
	eventually(t, "subscribed", func() bool { return subscribers(t, r, tg, "redis-pubsub") == 1 })
	giveBack(t, l)
	giveBack(t, (<-out).l)
	for range 3 * unaskedMax {
		giveBack(t, acquire(t, a, "k", opts(10*time.Minute)))
	}
	eventually(t, "unsubscribed", func() bool { return subscribers(t, r, tg, "redis-pubsub") == 0 })
	// And the next waiter is woken all the same.
	l = acquire(t, a, "k", opts(10*time.Minute))
	defer start(b, 1, seldom(10*time.Minute), tr, out)()
	eventually(t, "subscribed again", func() bool { return subscribers(t, r, tg, "redis-pubsub") == 1 })
	giveBack(t, l)
	giveBack(t, (<-out).l)
}
