package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// TestStress runs in real time, for the race detector: several clients and
// owners, contexts that end at any moment, late replies, and a Close in the
// midst of it all. In the end nothing is left on the server.
func TestStress(t *testing.T) {
	for name, driver := range map[string]func(*fake) lease.Driver{
		"detached": func(f *fake) lease.Driver { return shared{f} },
		"inline":   func(f *fake) lease.Driver { return sharedInline{shared{f}} },
	} {
		t.Run(name, func(t *testing.T) { stress(t, driver) })
	}
}

func stress(t *testing.T, driver func(*fake) lease.Driver) {
	const clients, workers, ops, keys = 3, 8, 150, 3
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	f := newFake()
	f.answered = func(ctx context.Context, what string, n int) error {
		if n%3 == 0 {
			time.Sleep(time.Duration(n%7) * 100 * time.Microsecond)
		}
		return nil
	}
	var m lock.Meter
	var inside [keys]atomic.Int32
	var granted atomic.Int64
	var wg sync.WaitGroup
	var cs []*lease.Client
	// All drivers share one service; only the last Close may close it.
	for c := range clients {
		cl := lease.New(driver(f), &m)
		cs = append(cs, cl)
		for w := range workers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(c*workers+w)))
				for i := range ops {
					if c == 0 && w == 0 && i == ops*3/4 {
						cl.Close()
						return
					}
					k := r.IntN(keys)
					o := opts()
					o.TTL, o.Wait.Min, o.Wait.Max = time.Minute, 50*time.Microsecond, time.Millisecond
					o.Try = r.IntN(8) == 0
					owner := r.IntN(3) == 0
					if owner {
						o.Owner = fmt.Sprintf("%d/%d", c, w)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(3000))*time.Microsecond)
					l, err := cl.Acquire(ctx, fmt.Sprint(k), o)
					switch {
					case err == nil:
						granted.Add(1)
						if n := inside[k].Add(1); n != 1 {
							t.Errorf("%d inside key %d", n, k)
						}
						if owner {
							again, err := cl.Acquire(t.Context(), fmt.Sprint(k), o)
							if err != nil {
								if !errors.Is(err, lease.ErrClosed) {
									t.Errorf("reenter: %v", err)
								}
							} else if err := again.Release(t.Context()); err != nil {
								t.Errorf("release of one of two: %v", err)
							}
						}
						inside[k].Add(-1)
						if err := l.Release(context.Background()); err != nil && !errors.Is(err, lease.ErrClosed) {
							t.Errorf("release: %v", err)
						} else if err != nil {
							f.mu.Lock()
							delete(f.keys, fmt.Sprint(k)) // would end with its TTL
							f.mu.Unlock()
						}
					case !errors.Is(err, lock.ErrNotAcquired) && !errors.Is(err, lock.ErrUnknown):
						t.Errorf("acquire: %v", err)
					}
					cancel()
				}
			})
		}
	}
	wg.Wait()
	for _, c := range cs {
		c.Close()
	}
	for k := range keys {
		if !f.free(fmt.Sprint(k)) {
			t.Errorf("key %d is left on the server", k)
		}
	}
	if granted.Load() == 0 {
		t.Error("nothing was granted")
	}
	t.Logf("%d granted, %d orphans", granted.Load(), m.Orphans.Load())
}

// shared is a driver whose service outlives it.
type shared struct{ *fake }

func (shared) Close() error { return nil }

type sharedInline struct{ shared }

func (sharedInline) Inline() {}
