package locktest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/lock"
)

// ErrHang is wrapped by the error of a check whose workers got stuck.
var ErrHang = errors.New("hang")

// hangError says who was stuck in what and carries all goroutines' stacks.
type hangError struct {
	guard  time.Duration
	stuck  []string
	stacks []byte
}

func (e *hangError) Error() string {
	return fmt.Sprintf("%v: no worker finished an operation for %v; still in: %v\n\n%s", ErrHang, e.guard, e.stuck, e.stacks)
}

func (e *hangError) Unwrap() error { return ErrHang }

// A team is one lock (or several of a kind) with its workers.
type team struct {
	s       *subject
	locks   []lock.Lock
	workers []*worker
	stop    atomic.Bool // tells the workers of a stress to leave
}

// A worker is a goroutine that owns one handle to each lock of the team.
//
//	idle    start      busy with one function
//	busy    it returns idle
//	idle    close      gone
//	busy    stuck      busy until the process ends: nothing can stop it
type worker struct {
	id    int
	h     lock.Handle   // the first of hs
	hs    []lock.Handle // one a lock
	rng   *rand.Rand
	brisk bool // there are no more workers than processors
	jobs  chan *call

	// passes through the sections, one a lock. Each worker counts its own: a
	// shared counter would order the sections that it counts.
	passes []uint64

	_     [lock.CacheLine]byte
	steps atomic.Uint64 // operations finished; what the guard watches
	_     [lock.CacheLine]byte
}

// A call is one function that a worker was given.
type call struct {
	worker int
	what   string
	f      func() error
	done   chan struct{} // closed when f has returned, after err is set
	err    error
}

// returned reports whether the function has returned.
func (c *call) returned() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// newTeam makes locks and handles as the contract asks: all handles before
// the first use, by one goroutine, from one Worker each.
func (s *subject) newTeam(workers, locks int) (*team, error) {
	t := &team{s: s}
	for range locks {
		l, err := s.info.New(workers)
		if err != nil {
			return nil, fmt.Errorf("make a lock for %d workers: %w", workers, err)
		}
		t.locks = append(t.locks, l)
	}
	for id := range workers {
		w := &worker{
			id:    id,
			rng:   rand.New(rand.NewPCG(s.o.Seed, uint64(id))),
			brisk: workers <= runtime.GOMAXPROCS(0),
			jobs:  make(chan *call, 1),

			passes: make([]uint64, locks),
		}
		own := &lock.Worker{ID: id}
		for _, l := range t.locks {
			w.hs = append(w.hs, l.NewHandle(own))
		}
		w.h = w.hs[0]
		t.workers = append(t.workers, w)
	}
	for _, w := range t.workers {
		go w.loop(s.info.ThreadBound)
	}
	return t, nil
}

// close lets the workers go, the stuck ones excepted.
func (t *team) close() {
	for _, w := range t.workers {
		close(w.jobs)
	}
}

func (w *worker) loop(threadBound bool) {
	if threadBound {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	for c := range w.jobs {
		c.err = protect(c.f)
		close(c.done)
	}
}

// protect turns a panic of the lock into an error of the check.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// start gives an idle worker a function and goes on.
func (t *team) start(id int, what string, f func(w *worker) error) *call {
	w := t.workers[id]
	c := &call{worker: id, what: what, done: make(chan struct{})}
	c.f = func() error { return f(w) }
	w.jobs <- c
	return c
}

// A step is one thing that one worker does in a staged scene.
type step struct {
	worker int
	what   string
	f      func(w *worker) error
}

// play does the steps one after the other, until one fails: what follows a
// failed acquisition must not release it.
func (t *team) play(steps ...step) error {
	for _, s := range steps {
		if err := t.wait(t.start(s.worker, s.what, s.f)); err != nil {
			return err
		}
	}
	return nil
}

// guardTicks divides the guard: it counts ticks without progress, not elapsed
// time, so that a machine that slept for an hour hung nothing.
const guardTicks = 20

// wait returns when all calls have returned, with their errors joined, or
// with a hangError.
func (t *team) wait(calls ...*call) error {
	tick := time.NewTicker(t.s.o.Guard / guardTicks)
	defer tick.Stop()
	quiet, last := 0, t.steps()
	for _, c := range calls {
		for !c.returned() {
			select {
			case <-c.done:
				quiet = 0
			case <-tick.C:
				if now := t.steps(); now != last {
					quiet, last = 0, now
				} else if quiet++; quiet >= guardTicks {
					return t.hang(calls)
				}
			}
		}
	}
	var errs []error
	for _, c := range calls {
		if c.err != nil {
			errs = append(errs, fmt.Errorf("worker %d, %s: %w", c.worker, c.what, c.err))
		}
	}
	return errors.Join(errs...)
}

// until waits for a condition on the lock, such as a number of waiters.
func (t *team) until(what string, cond func() bool) error {
	const pause = 20 * time.Microsecond
	for began := time.Now(); !cond(); time.Sleep(pause) {
		if time.Since(began) > t.s.o.Guard {
			return t.hang([]*call{{worker: -1, what: what, done: make(chan struct{})}})
		}
	}
	return nil
}

func (t *team) hang(calls []*call) error {
	e := &hangError{guard: t.s.o.Guard, stacks: make([]byte, 1<<17)}
	for _, c := range calls {
		if !c.returned() {
			e.stuck = append(e.stuck, fmt.Sprintf("worker %d: %s", c.worker, c.what))
		}
	}
	e.stacks = e.stacks[:runtime.Stack(e.stacks, true)]
	return e
}

func (t *team) steps() (sum uint64) {
	for _, w := range t.workers {
		sum += w.steps.Load()
	}
	return sum
}

// unbounded is for a stress that ends by its budget alone.
const unbounded = math.MaxInt

// stress makes every worker repeat op until it did so n times, or the budget
// is spent, or any op fails. It returns when all have left: that the stop
// drains is part of every stress.
func (t *team) stress(what string, budget time.Duration, n int, op func(w *worker) error) error {
	t.stop.Store(false)
	timer := time.AfterFunc(t.s.o.budget(budget), func() { t.stop.Store(true) })
	defer timer.Stop()
	var gate sync.WaitGroup
	gate.Add(1)
	calls := make([]*call, len(t.workers))
	for id := range t.workers {
		calls[id] = t.start(id, what, func(w *worker) error {
			gate.Wait()
			for i := 0; i < n && !t.stop.Load(); i++ {
				if err := op(w); err != nil {
					t.stop.Store(true)
					return err
				}
				w.steps.Add(1)
				w.dawdle()
			}
			return nil
		})
	}
	gate.Done()
	return t.wait(calls...)
}

// atRest checks that a lock which nobody holds or waits for can be had by
// every worker, and knows that nobody waits.
func (t *team) atRest() error {
	for i, l := range t.locks {
		for id, w := range t.workers {
			if err := t.play(step{id, "Lock at rest", func(w *worker) error {
				w.hs[i].Lock()
				w.hs[i].Unlock()
				return nil
			}}); err != nil {
				return err
			}
			if waiter := lock.WaiterOf(l, w.hs[i]); waiter != nil {
				if n := waiter.Waiters(); n != 0 {
					return fmt.Errorf("a lock at rest has %d waiters, want 0", n)
				}
			}
		}
	}
	return nil
}

// dawdle spends a random short time in arithmetic, and now and then yields:
// rarely if there are more workers than processors, as a yielding holder of a
// pure spin lock then gets its processor back only after all spinners were
// preempted. It must not be inlined: the call keeps the compiler from
// carrying the guarded words across it in registers.
//
//go:noinline
func (w *worker) dawdle() {
	r := w.rng.Uint32()
	x := r | 1
	for range r % 64 {
		x *= 2654435761 // any odd constant; this is 2^32 divided by the golden ratio
	}
	yield := uint32(64)
	if w.brisk {
		yield = 16
	}
	if x == 0 || (r>>8)%yield == 0 {
		runtime.Gosched()
	}
}
