package leasertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockbench/lock"
)

// Queuer is an extra of a lock.Client: how many wait for a key. With it the
// arrivals of the fifo check are staged exactly; without it, the check waits until a
// waiter is quiet, and tries again before it says that the order was wrong.
type Queuer interface {
	Queued(ctx context.Context, key string) (int, error)
}

func checkFIFO(e *env) error {
	const waiters, rounds = 6, 3
	cs, err := e.leasers(3)
	if err != nil {
		return err
	}
	want := make([]int, waiters)
	for i := range want {
		want[i] = i
	}
	for round := 1; ; round++ {
		got, exact, err := e.arrive(cs, waiters)
		switch {
		case err != nil:
			return err
		case slices.Equal(got, want):
			return nil
		case exact || round == rounds:
			return fmt.Errorf("round %d: arrived as %v, granted as %v", round, want, got)
		}
	}
}

// arrive lets waiters arrive one by one at a held lock, and returns the order in
// which they were granted it.
func (e *env) arrive(cs []lock.Leaser, waiters int) (order []int, exact bool, err error) {
	key := e.keys[0]
	holder, err := e.must(cs[0], key, e.opts())
	if err != nil {
		return nil, false, err
	}
	q, exact := cs[0].(Queuer)
	ctx, cancel := context.WithTimeout(e.ctx, e.cfg.guard)
	defer cancel()
	var mu sync.Mutex
	done := make(chan error, waiters)
	for i := range waiters {
		tr := lock.NewTrace()
		go func() {
			l, err := cs[i%len(cs)].Acquire(lock.WithTrace(ctx, tr), key, e.opts())
			if err != nil {
				done <- fmt.Errorf("waiter %d: %w", i, err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			done <- e.released(l)
		}()
		if !exact {
			e.settle(tr)
			continue
		}
		for {
			n, err := q.Queued(ctx, key)
			if err != nil {
				return nil, exact, err
			}
			if n > i {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	if err := e.released(holder); err != nil {
		return nil, exact, err
	}
	for range waiters {
		if err := <-done; err != nil {
			return nil, exact, err
		}
	}
	return order, exact, nil
}
