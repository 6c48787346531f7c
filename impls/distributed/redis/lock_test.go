package redis

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

func TestInfosAreValid(t *testing.T) {
	for _, i := range Infos() {
		if err := i.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// Several clients with several workers each: never two inside at a time.
func TestExclusion(t *testing.T) {
	for _, name := range own {
		for _, fence := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: "/fence"}[fence], func(t *testing.T) {
				tg := target(t)
				var in, tokens atomic.Int64
				var wg sync.WaitGroup
				for range 3 {
					c, _ := dialTo(t, name, tg)
					for range 3 {
						wg.Go(func() {
							for range 15 {
								o := opts(10 * time.Second)
								o.Fence = fence
								l := acquire(t, c, "k", o)
								if n := in.Add(1); n != 1 {
									t.Errorf("%d are inside", n)
								}
								if tok, ok := l.Token(); ok != fence {
									t.Errorf("token %d, %v with fence=%v", tok, ok, fence)
								} else if fence && int64(tok) <= tokens.Swap(int64(tok)) {
									t.Errorf("token %d does not grow", tok)
								}
								in.Add(-1)
								giveBack(t, l)
							}
						})
					}
				}
				wg.Wait()
			})
		}
	}
}

func TestExpiryLetsTheNextIn(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			a, m := dialTo(t, name, tg)
			b, _ := dialTo(t, name, tg)
			first := acquire(t, a, "k", opts(300*time.Millisecond))
			// Nobody tells of an expiry, and the second hardly polls: a timer covers it.
			o := opts(10 * time.Second)
			if name != "redis" {
				o = seldom(10 * time.Second)
			}
			second := acquire(t, b, "k", o)
			<-first.Lost()
			wantErr(t, "release of the lost lease", first.Release(context.Background()), lock.ErrNotHeld)
			if free(t, raw(t, tg), tg.Prefix+"k") {
				t.Error("the release of a lost lease has freed the successor's")
			}
			giveBack(t, second)
			if n := m.Lost.Load(); n != 1 {
				t.Errorf("%d leases counted as lost, want 1", n)
			}
		})
	}
}

// The classic mistake, acted out: the release of a lost lease frees the successor.
func TestNaiveFreesTheSuccessor(t *testing.T) {
	tg := target(t)
	a, _ := dialTo(t, "redis-naive", tg)
	b, _ := dialTo(t, "redis-naive", tg)
	first := acquire(t, a, "k", opts(200*time.Millisecond))
	acquire(t, b, "k", opts(10*time.Second))
	<-first.Lost()
	_ = first.Release(context.Background())
	if !free(t, raw(t, tg), tg.Prefix+"k") {
		t.Error("the successor's lock is still there: then this lock is not naive")
	}
	acquire(t, a, "k", opts(10*time.Second)) // two are inside
}

func TestRenewalKeepsAlive(t *testing.T) {
	for _, name := range append(own, "redis-naive") {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			c, m := dialTo(t, name, tg)
			o := opts(500 * time.Millisecond)
			o.Renew = true
			l := acquire(t, c, "k", o)
			before, _ := l.ValidUntil()
			eventually(t, "four renewals", func() bool { return m.Renewals.Load() >= 4 })
			if after, _ := l.ValidUntil(); !after.After(before) {
				t.Errorf("the deadline does not move: %v, %v", before, after)
			}
			select {
			case <-l.Lost():
				t.Error("lost, although it was renewed")
			default:
			}
			giveBack(t, l)
		})
	}
}

// Tokens grow over expiry and over clients that know nothing of each other.
func TestTokensGrowOverExpiry(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			var last uint64
			for range 3 {
				c, _ := dialTo(t, name, tg)
				o := opts(100 * time.Millisecond)
				o.Fence = true
				l := acquire(t, c, "k", o)
				tok, ok := l.Token()
				if !ok || tok <= last {
					t.Errorf("token %d, %v after %d", tok, ok, last)
				}
				last = tok
				<-l.Lost()
			}
		})
	}
}

func TestTry(t *testing.T) {
	for _, name := range append(own, "redis-naive") {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			a, _ := dialTo(t, name, tg)
			b, _ := dialTo(t, name, tg)
			l := acquire(t, a, "k", opts(10*time.Second))
			o := seldom(10 * time.Second)
			o.Try = true
			_, err := b.Acquire(context.Background(), "k", o)
			wantErr(t, "try", err, lock.ErrNotAcquired)
			giveBack(t, l)
			giveBack(t, acquire(t, b, "k", o))
		})
	}
}

// An acquisition that finds the lock free is one round trip, and so is a release.
func TestOneRoundTrip(t *testing.T) {
	for _, name := range append(own, "redis-naive") {
		t.Run(name, func(t *testing.T) {
			c, m := dialTo(t, name, target(t))
			before := m.Commands.Load()
			get, put := lock.NewTrace(), lock.NewTrace()
			l, err := c.Acquire(lock.WithTrace(context.Background(), get), "k", opts(10*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Release(lock.WithTrace(context.Background(), put)); err != nil {
				t.Fatal(err)
			}
			if get.Trips() != 1 || get.Attempts() != 1 || put.Trips() != 1 {
				t.Errorf("acquire: %d trips, %d attempts; release: %d trips; want 1 of each", get.Trips(), get.Attempts(), put.Trips())
			}
			if n := m.Commands.Load() - before; n != 2 {
				t.Errorf("%d commands, want 2", n)
			}
		})
	}
}

func TestReentrant(t *testing.T) {
	tg := target(t)
	c, _ := dialTo(t, "redis", tg)
	o := opts(10 * time.Second)
	o.Owner, o.Fence = "o", true
	a, b := acquire(t, c, "k", o), acquire(t, c, "k", o)
	ta, _ := a.Token()
	if tb, _ := b.Token(); ta != tb {
		t.Errorf("tokens %d and %d of one owner", ta, tb)
	}
	giveBack(t, a)
	if free(t, raw(t, tg), tg.Prefix+"k") {
		t.Error("free after the first of two releases")
	}
	giveBack(t, b)
}

func TestBadInput(t *testing.T) {
	tg := target(t)
	c, _ := dialTo(t, "redis", tg)
	_, err := c.Acquire(context.Background(), "k", opts(time.Microsecond))
	wantErr(t, "a TTL below 1 ms", err, lock.ErrNotAcquired)
	if err == nil || !strings.Contains(err.Error(), "1ms") {
		t.Errorf("the error does not name the least TTL: %v", err)
	}
	for what, change := range map[string]func(*lock.Target){
		"nobody listens": func(t2 *lock.Target) { t2.Addrs = []string{refusing(t)} },
		"wrong password": func(t2 *lock.Target) { t2.User, t2.Password = "nobody", "s3cret-word" },
		"bad database":   func(t2 *lock.Target) { t2.Database = "x" },
		"no address":     func(t2 *lock.Target) { t2.Addrs = nil },
		"no such CA":     func(t2 *lock.Target) { t2.TLS = &lock.TLS{CAFile: "/nonexistent"} },
	} {
		t2 := tg
		change(&t2)
		t2.DialTimeout = 5 * time.Second
		_, err := info(t, "redis").Dial(context.Background(), t2)
		if err == nil {
			t.Errorf("%s: dialled", what)
			continue
		}
		if strings.Contains(err.Error(), "s3cret-word") {
			t.Errorf("%s: the error holds the password: %v", what, err)
		}
		if h, ok := err.(interface{ Hint() string }); what != "no such CA" && (!ok || h.Hint() == "") {
			t.Errorf("%s: no hint in %v", what, err)
		}
	}
}

// A server that does not know the scripts any more gets them again.
func TestScriptsAreForgotten(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			c, _ := dialTo(t, name, tg)
			l := acquire(t, c, "k", opts(10*time.Second))
			if err := raw(t, tg).ScriptFlush(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
			giveBack(t, l)
		})
	}
}

func TestTokensDiffer(t *testing.T) {
	var tok server.Tokens
	seen := map[string]bool{}
	for range 1000 {
		x := tok.Next()
		if len(x) != 16 || seen[x] {
			t.Fatalf("token %x of %d bytes, seen: %v", x, len(x), seen[x])
		}
		seen[x] = true
	}
}
