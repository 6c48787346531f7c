package cell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/claims"
	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/results"
	"lockbench/workloads"
)

// DispatchRemote is that of distributed locks: one interface call an operation,
// which is nothing beside a round trip.
const DispatchRemote = "remote"

// What a worker does when it got no lock in time.
const (
	OnTimeoutFail     = "fail"     // count it, go on to the next operation
	OnTimeoutRetry    = "retry"    // try the same operation again; its latency goes on
	OnTimeoutFallback = "fallback" // run the section without the lock, counted apart
)

// Remote is what a child needs to know to run a distributed lock.
type Remote struct {
	Target lock.Target `json:"target"` // may hold a password: never printed
	// Arena is the file of claims that all clients of the cell map.
	Arena            string          `json:"arena"`
	TTLNS            int64           `json:"ttl_ns"`
	Renew            bool            `json:"renew"`
	Fence            bool            `json:"fence"`
	Wait             lock.WaitPolicy `json:"wait"`
	AcquireTimeoutNS int64           `json:"acquire_timeout_ns"`
	OnTimeout        string          `json:"on_timeout"`
	// CheckTTL says that nobody knows yet whether the servers grant the TTL: client 0 asks.
	CheckTTL bool `json:"check_ttl,omitempty"`
	Depth    int  `json:"depth"` // >= 1: acquisitions of the same owner in each other
}

// Validate returns what is wrong with the part of a spec, or nil.
func (r *Remote) Validate() error {
	switch {
	case r.Arena == "":
		return errors.New("spec: remote: no arena")
	case r.TTLNS <= 0 || r.AcquireTimeoutNS <= 0:
		return errors.New("spec: remote: ttl_ns and acquire_timeout_ns must be above 0")
	case r.Depth < 1:
		return fmt.Errorf("spec: remote: depth %d: want at least 1", r.Depth)
	case r.OnTimeout != OnTimeoutFail && r.OnTimeout != OnTimeoutRetry && r.OnTimeout != OnTimeoutFallback:
		return fmt.Errorf("spec: remote: on_timeout %q", r.OnTimeout)
	}
	return nil
}

// remote is one client process of a distributed cell. Its repetition:
//
//	dialled --go--> warming up --warm-up over--> measuring --stop--> draining --all out--> audited
//
// Each operation is timed: a clock reading is a thousandth of a round trip. There
// is one interval, therefore.
type remote struct {
	c      *child
	r      *Remote
	client lock.Client
	leaser lock.Leaser
	opt    lock.Optimistic
	meter  lock.Meter
	arena  *claims.Arena
	keys   []string
	stop   chan struct{} // closed at the stop, once
	once   sync.Once

	// On the shared clock; stopAt is MaxInt64 for fixed work.
	start, warmEnd, stopAt int64
	began                  int64     // when this client was there
	base                   time.Time // and what the shared clock was then
	baseShared             int64

	workers []*rworker
	open    bool // the staged meeting let two in
	failed  atomic.Pointer[error]
	hot     atomic.Int64 // operations so far, for the hang guard
}

// dialTimeout bounds dialling, and each reconnect.
const dialTimeout = 5 * time.Second

// setUpRemote dials. Client 0 prepares what the service must have.
func (c *child) setUpRemote() error {
	if err := c.verifyCores(); err != nil {
		return err
	}
	if c.info.Unavailable != "" {
		return errors.New(c.info.Unavailable)
	}
	if c.info.Dial == nil {
		return fmt.Errorf("lock %s is not a distributed lock", c.info.Name)
	}
	c.threads = "free"
	r := &remote{c: c, r: c.spec.Remote, stop: make(chan struct{})}
	c.remote = r
	var err error
	if r.arena, err = claims.Open(r.r.Arena); err != nil {
		return err
	}
	total := c.spec.Workers * c.spec.Clients
	if r.arena.Workers() != total || r.arena.Keys() != c.spec.Load.Locks {
		return fmt.Errorf("claims of %d workers and %d keys: the cell has %d and %d", r.arena.Workers(), r.arena.Keys(), total, c.spec.Load.Locks)
	}
	for i := range c.spec.Load.Locks {
		r.keys = append(r.keys, "k"+strconv.Itoa(i))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*dialTimeout)
	defer cancel()
	t := r.r.Target
	t.TTL, t.Workers, t.DialTimeout, t.Meter = time.Duration(r.r.TTLNS), c.spec.Workers, dialTimeout, &r.meter
	if c.spec.Load.Order != "" {
		t.Workers *= 2
	}
	if r.client, err = c.info.Dial(ctx, t); err != nil {
		return fmt.Errorf("dial %s: %w", c.info.Name, err)
	}
	r.leaser, _ = r.client.(lock.Leaser)
	r.opt, _ = r.client.(lock.Optimistic)
	if (r.leaser == nil) == (r.opt == nil) || (r.opt != nil) != (c.info.Kind == lock.KindOptimistic) {
		return errors.Join(fmt.Errorf("lock %s: its client is not what its kind says", c.info.Name), r.client.Close())
	}
	if p, ok := r.client.(lock.Preparer); ok && c.spec.Client == 0 {
		if err := p.Prepare(ctx, r.keys); err != nil {
			return errors.Join(fmt.Errorf("prepare %s: %w", c.info.Name, err), r.client.Close())
		}
	}
	if c.spec.Client == 0 {
		if err := r.ready(ctx); err != nil {
			return errors.Join(err, r.client.Close())
		}
	}
	for i := range c.spec.Workers {
		r.workers = append(r.workers, newRworker(r, i))
	}
	return nil
}

// errSkip is a cell that cannot be run as asked.
type errSkip struct{ error }

// ready looks at the TTL, and at exclusion where no other worker ever will.
func (r *remote) ready(ctx context.Context) error {
	if m, ok := r.client.(lock.MinTTL); ok && r.r.CheckTTL && r.c.info.Remote.Expires {
		least, err := m.MinTTL(ctx)
		if err != nil {
			return fmt.Errorf("ask for the shortest TTL: %w", err)
		}
		if ttl := time.Duration(r.r.TTLNS); ttl < least {
			return errSkip{fmt.Errorf("ttl %v: the server grants no less than %v: use --ttl %v or more", ttl, least, least)}
		}
	}
	if r.leaser == nil || r.c.info.Control || r.arena.Workers() > 1 && !r.c.spec.Load.Own {
		return nil
	}
	return r.stage(ctx)
}

// stage is for cells in which no two workers want the same key: while one owner holds a key,
// another must not get it, and then must. Its key is none of the cell's.
func (r *remote) stage(ctx context.Context) error {
	const key = "staged"
	if p, ok := r.client.(lock.Preparer); ok {
		if err := p.Prepare(ctx, []string{key}); err != nil {
			return fmt.Errorf("prepare %s: %w", key, err)
		}
	}
	o := lock.AcquireOptions{TTL: time.Duration(r.r.TTLNS), Renew: r.r.Renew, Fence: r.r.Fence, Wait: r.r.Wait}
	held, err := r.leaser.Acquire(ctx, key, o)
	if err != nil {
		return fmt.Errorf("acquire %s: %w", key, err)
	}
	o.Try = true
	second, err := r.leaser.Acquire(ctx, key, o)
	if err == nil {
		r.open = !isLost(&grant{Lease: held})
		err = second.Release(ctx)
	}
	// An answer that is not known proves nothing either way.
	if err != nil && !errors.Is(err, lock.ErrNotAcquired) && !errors.Is(err, lock.ErrNotHeld) && !errors.Is(err, lock.ErrUnknown) {
		return errors.Join(fmt.Errorf("try %s: %w", key, err), held.Release(ctx))
	}
	if err := held.Release(ctx); err != nil && !r.open {
		return fmt.Errorf("release %s: %w", key, err)
	}
	return nil
}

// run is the repetition, from the start instant on the shared clock on; 0: now.
func (r *remote) run(at int64) (*results.Sample, error) {
	spec := r.c.spec
	r.base, r.baseShared = time.Now(), clock.Shared()
	// All clients have the same interval, whenever they woke up.
	r.start, r.began = at, r.baseShared
	if at == 0 {
		r.start = r.baseShared
	}
	r.warmEnd = r.start + spec.WarmupNS
	r.stopAt = int64(math.MaxInt64)
	if spec.Ops == 0 {
		r.stopAt = r.warmEnd + spec.DurationNS
	}
	var wg sync.WaitGroup
	for _, w := range r.workers {
		wg.Go(w.main)
	}
	out := make(chan struct{})
	go func() { wg.Wait(); close(out) }()
	quit := make(chan struct{})
	defer close(quit)
	go r.timeouts(quit)
	hung := make(chan error, 1)
	go r.guard(hung, quit)

	var from, to edge
	err := r.until(r.warmEnd, out, hung)
	from = r.edge()
	if err == nil {
		err = r.until(r.stopAt, out, hung)
	}
	to = r.edge()
	r.halt()
	if err == nil {
		err = r.await(out, hung)
	}
	if err != nil {
		return nil, err
	}
	end := clock.Shared()
	r.arena.Finish()
	s := r.record(from, to)
	s.DrainNS = max(0, end-max(to.at, from.at))
	if spec.Client == 0 && !r.c.info.Control {
		if err := r.audit(s); err != nil {
			return s, err
		}
	}
	r.doubt(s)
	closeErr := r.client.Close()
	if closeErr != nil {
		s.Flags = append(s.Flags, results.FlagErrors+": close: "+closeErr.Error())
	}
	s.PeakRSSBytes = peakRSS()
	return s, nil
}

// edge is what is read at either end of the measured interval.
type edge struct {
	at       int64
	used     usage
	heap     heap
	commands int64
	// What the stop itself brings, such as grants for workers that it sent away, does not
	// count: these are read before it.
	orphans, lost, renewals int64
}

func (r *remote) edge() edge {
	return edge{at: clock.Shared(), used: readUsage(), heap: readHeap(), commands: r.meter.Commands.Load(),
		orphans: r.meter.Orphans.Load(), lost: r.meter.Lost.Load(), renewals: r.meter.Renewals.Load()}
}

// until waits for an instant; workers that are all out, a failure or a hang end it
// before.
func (r *remote) until(at int64, out <-chan struct{}, hung <-chan error) error {
	var due <-chan time.Time
	if at != math.MaxInt64 {
		t := time.NewTimer(time.Duration(at - clock.Shared()))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-due:
		return nil
	case <-out:
		return r.failure()
	case err := <-hung:
		return err
	case <-r.c.stop:
		return errStopped
	}
}

// await waits until all workers are out.
func (r *remote) await(out <-chan struct{}, hung <-chan error) error {
	select {
	case <-out:
		return r.failure()
	case err := <-hung:
		return err
	case <-r.c.stop:
		return errStopped
	}
}

func (r *remote) failure() error {
	if p := r.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// fail ends the repetition with a worker's error.
func (r *remote) fail(err error) {
	r.failed.CompareAndSwap(nil, &err)
	r.halt()
}

// halt is the stop: workers that wait leave, but for those that are to see how a
// deadlock ends.
func (r *remote) halt() {
	r.once.Do(func() { close(r.stop) })
	for _, w := range r.workers {
		w.halt()
	}
}

// guard finds out that no worker has progressed for the time-out. One that waits is
// told to leave by the acquire time-out, which must be over as well.
func (r *remote) guard(hung chan<- error, quit <-chan struct{}) {
	limit := time.Duration(max(r.c.spec.TimeoutNS, r.r.AcquireTimeoutNS+r.c.spec.TimeoutNS/2))
	longest := r.c.spec.Load.Think.Max() + r.c.spec.Load.Section.Max()
	limit += time.Duration(longest * r.c.spec.UnitNS)
	tick := time.NewTicker(limit / 20)
	defer tick.Stop()
	last, since := int64(-1), time.Now()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		if n := r.hot.Load(); n != last {
			last, since = n, time.Now()
			r.c.send(Message{Type: MsgStep, Name: "measuring", Ops: n})
			continue
		}
		if time.Since(since) > limit {
			hung <- &hangError{fmt.Sprintf("no worker progressed for %v", limit.Round(time.Millisecond))}
			return
		}
	}
}

// timeouts ends the acquisitions that have waited for the acquire time-out. One
// goroutine looks at all of them some 50 times a time-out: a timer an operation
// would cost as much as everything else that the harness does.
func (r *remote) timeouts(quit <-chan struct{}) {
	limit := time.Duration(r.r.AcquireTimeoutNS)
	if t := time.Duration(r.c.spec.Load.TimedWaitNS); t > 0 && r.c.spec.Load.TimedPct > 0 {
		limit = min(limit, t)
	}
	tick := time.NewTicker(min(20*time.Millisecond, max(time.Millisecond, limit/50)))
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		now := clock.Shared()
		for _, w := range r.workers {
			w.expire(now)
		}
	}
}

// auditWait bounds how long client 0 waits for the others' last sections.
const auditWait = 10 * time.Second

// audit judges the cell when all clients have done their last section.
func (r *remote) audit(s *results.Sample) error {
	deadline := time.Now().Add(auditWait)
	for r.arena.Finished() < r.c.spec.Clients {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d clients did their last section: nothing can be judged", r.arena.Finished(), r.c.spec.Clients)
		}
		time.Sleep(time.Millisecond)
	}
	if r.open {
		s.Outcome, s.Violations, s.Remote.Overlaps = results.OutcomeViolation, 1, 1
		s.Reason = "while one owner held a key, another was granted it"
		return nil
	}
	if r.c.info.Kind == lock.KindLease {
		a := r.arena.Audit()
		s.Remote.Overlaps, s.Remote.LostUpdates, s.Remote.TokenRegressions = a.Overlaps, a.LostUpdates, a.Regressions
		s.Remote.StaleHolders = a.Stale
		s.Violations = a.Violations()
		if s.Violations > 0 {
			s.Outcome = results.OutcomeViolation
			s.Reason = fmt.Sprintf("%d sections began while another holder was inside, %d updates lost, %d fencing tokens did not grow",
				a.Overlaps, a.LostUpdates, a.Regressions)
		}
		return nil
	}
	v, ok := r.client.(lock.Valuer)
	if !ok {
		return fmt.Errorf("lock %s cannot read the values that it protects", r.c.info.Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), auditWait)
	defer cancel()
	for i, key := range r.keys {
		got, err := v.Value(ctx, key)
		if err != nil {
			return fmt.Errorf("read the value of %s: %w", key, err)
		}
		acked, unknown := r.arena.Written(i)
		if d := max(got-acked, acked-got); d > unknown {
			s.Remote.Damage += d - unknown
		}
	}
	if s.Remote.Damage > 0 {
		s.Outcome, s.Violations = results.OutcomeViolation, s.Remote.Damage
		s.Reason = fmt.Sprintf("the values in the service differ by %d from the writes that it acknowledged", s.Remote.Damage)
	}
	return nil
}

// order of the transfers; empty: none.
func (r *remote) order() workloads.Order { return workloads.Order(r.c.spec.Load.Order) }
