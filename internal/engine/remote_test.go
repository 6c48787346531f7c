package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/impls/distributed/loopback"
	"lockbench/internal/cell"
	"lockbench/lock"
	"lockbench/results"
	"lockbench/workloads"
)

// plantedLeases are leasers with a bug each, for the children of the tests. All run on
// nothing but their own process.
func plantedLeases() []lock.Info {
	info := func(name string, kind lock.Kind, c lock.Client) lock.Info {
		return lock.Info{Name: name, Family: "test", Doc: "planted", Source: "this test", Kind: kind,
			Remote: &lock.Remote{Services: []string{lock.ServiceLoopback}, Expires: true, Fences: true, Reentrant: true},
			Dial:   func(context.Context, lock.Target) (lock.Client, error) { return c, nil }}
	}
	return []lock.Info{
		info("planted-everybody", lock.KindLease, &leaser{}),
		info("planted-token", lock.KindLease, &leaser{exclusive: true, token: func(uint64) uint64 { return 7 }}),
		info("planted-guarded", lock.KindGuarded, &leaser{exclusive: true, forgets: true}),
		info("planted-version", lock.KindOptimistic, &optimist{}),
		info("planted-local", lock.KindLease, &leaser{exclusive: true}),
		info("planted-inner", lock.KindLease, &leaser{exclusive: true, inner: true}),
		info("planted-error", lock.KindLease, &leaser{err: errors.New("the server said no")}),
		info("planted-wrong-kind", lock.KindOptimistic, &leaser{}),
	}
}

// leaser grants within one process.
type leaser struct {
	exclusive, forgets bool
	inner              bool // reentrant, and the first release frees it
	owner              atomic.Pointer[string]
	token              func(n uint64) uint64
	err                error

	mu    sync.Mutex
	n     atomic.Uint64
	value atomic.Int64
}

type planted struct {
	l    *leaser
	n    uint64
	mine bool // it has the mutex
}

func (l *leaser) Close() error { return nil }

func (l *leaser) Value(context.Context, string) (int64, error) { return l.value.Load(), nil }

func (l *leaser) Acquire(_ context.Context, _ string, o lock.AcquireOptions) (lock.Lease, error) {
	if l.err != nil {
		return nil, l.err
	}
	if p := l.owner.Load(); l.inner && p != nil && *p == o.Owner {
		return &planted{l: l, n: l.n.Add(1)}, nil
	}
	if l.exclusive && o.Try && !l.mu.TryLock() {
		return nil, lock.ErrNotAcquired
	}
	if l.exclusive && !o.Try {
		l.mu.Lock()
	}
	if l.inner {
		l.owner.Store(&o.Owner)
	}
	return &planted{l: l, n: l.n.Add(1), mine: true}, nil
}

func (p *planted) Release(context.Context) error {
	switch {
	case p.l.inner: // whichever comes first
		if p.l.owner.Swap(nil) != nil {
			p.l.mu.Unlock()
		}
	case p.l.exclusive:
		p.l.mu.Unlock()
	}
	return nil
}
func (p *planted) Lost() <-chan struct{}         { return nil }
func (p *planted) ValidUntil() (time.Time, bool) { return time.Time{}, false }
func (p *planted) Token() (uint64, bool) {
	if p.l.token == nil {
		return 0, false
	}
	return p.l.token(p.n), true
}

// Apply forgets one write in a hundred.
func (p *planted) Apply(_ context.Context, delta int64) error {
	if !p.l.forgets || p.n%100 != 0 {
		p.l.value.Add(delta)
	}
	return nil
}

// optimist writes without looking whether the value has changed.
type optimist struct{ value atomic.Int64 }

func (o *optimist) Close() error                                 { return nil }
func (o *optimist) Value(context.Context, string) (int64, error) { return o.value.Load(), nil }
func (o *optimist) Update(_ context.Context, _ string, fn func(int64) int64) (int, error) {
	o.value.Store(fn(o.value.Load()))
	return 1, nil
}

// loopServers are engine.Servers over the harness's own lock server.
type loopServers struct {
	srv *loopback.Server
	err error
	min time.Duration
}

func (s *loopServers) Up(_ context.Context, ts []Topology) map[Topology]error {
	bad := map[Topology]error{}
	for _, t := range ts {
		if s.err != nil {
			bad[t] = s.err
		}
	}
	return bad
}

func (s *loopServers) At(t Topology) (lock.Target, results.Remote) {
	return lock.Target{Service: t.Service, Topology: t.Name, Addrs: []string{s.srv.Addr()}, Prefix: "lockbench/test/"},
		results.Remote{Service: t.Service, Topology: t.Name, Network: "host", ServerVersion: "1"}
}
func (s *loopServers) MinTTL(Topology) time.Duration { return s.min }
func (s *loopServers) Check(context.Context, Topology) error {
	return errors.New("gone")
}
func (s *loopServers) CPU(context.Context, Topology) (time.Duration, bool) {
	return time.Duration(time.Now().UnixNano()), true
}

// runRemote runs distributed locks on a loopback server, with real children.
func runRemote(t *testing.T, change func(*Spec), locks ...string) ([]*results.Sample, Summary) {
	t.Helper()
	srv, err := loopback.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return runOn(t, &loopServers{srv: srv}, change, locks...)
}

func runOn(t *testing.T, servers *loopServers, change func(*Spec), locks ...string) ([]*results.Sample, Summary) {
	t.Helper()
	s := quick(locks...)
	s.Workloads = presets("max-contention")
	s.Remote.Warmup, s.Remote.Duration, s.Timeout = 10*time.Millisecond, 100*time.Millisecond, 5*time.Second
	change(&s)
	m := here(t)
	m.Topologies = []Topology{{Name: "loopback", Service: lock.ServiceLoopback, Nodes: 1}}
	p, err := NewPlan(s, slices.Concat(impls.Catalog(), plantedLeases()), m)
	if err != nil {
		t.Fatal(err)
	}
	var to sink
	r := childRunner("real", &to)
	r.Servers, r.TempDir = servers, t.TempDir()
	if err := r.Raise(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	sum, err := r.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range to.samples {
		if err := x.Validate(); err != nil {
			t.Errorf("%s: %v", x.Cell, err)
		}
	}
	if left := must(filepath.Glob(filepath.Join(r.TempDir, "*"))); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return to.samples, sum
}

func sampleOf(t *testing.T, all []*results.Sample, name string) *results.Sample {
	t.Helper()
	for _, s := range all {
		if s.Lock == name {
			return s
		}
	}
	t.Fatalf("no sample of %s", name)
	return nil
}

// TestRemoteClients: several client processes on one server exclude each other, and
// their figures are there.
func TestRemoteClients(t *testing.T) {
	all, _ := runRemote(t, func(s *Spec) {
		s.Remote.Clients, s.Workers, s.Remote.Fence = []int{3}, []workloads.Count{{N: 2}}, true
	}, "control-perfect", "control-ttl")
	for _, name := range []string{"control-perfect", "control-ttl"} {
		s := sampleOf(t, all, name)
		r := s.Remote
		if s.Outcome != results.OutcomeOK || s.Clients != 3 || s.Workers != 6 || len(s.PerWorkerOps) != 6 || s.Ops == 0 || s.Dispatch != cell.DispatchRemote {
			t.Fatalf("%s: %s (%s), %d clients, %d workers, %d operations", name, s.Outcome, s.Reason, s.Clients, s.Workers, s.Ops)
		}
		if s.Acquire == nil || r.Release == nil || s.Handoff == nil || s.ContendedPct == nil || r.RoundTrips == nil || r.Commands == nil || r.HandoffTrips == nil || r.ServerCPUNSPerOp == nil {
			t.Errorf("%s: figures are missing: %+v", name, r)
			continue
		}
		if *r.RoundTrips < 1 || *r.Commands < *r.RoundTrips || *r.HandoffTrips < 1 {
			t.Errorf("%s: %v round trips and %v commands an acquisition, %v a handoff", name, *r.RoundTrips, *r.Commands, *r.HandoffTrips)
		}
		if r.Topology != "loopback" || r.Network != "host" || r.ServerVersion != "1" || !r.Fence {
			t.Errorf("%s: the record does not say on what it ran: %+v", name, r)
		}
	}
	if n := sampleOf(t, all, "null-lease"); n.Outcome != results.OutcomeOK || !n.Control || n.Ops < 1000 {
		t.Errorf("null-lease: %s (%s), %d operations", n.Outcome, n.Reason, n.Ops)
	}
}

// TestRemoteViolations: each planted bug is a violation, by the check that is for it.
func TestRemoteViolations(t *testing.T) {
	all, sum := runRemote(t, func(s *Spec) { s.Workers, s.Remote.Fence = []workloads.Count{{N: 4}}, true },
		"planted-everybody", "planted-token", "planted-guarded")
	if !sum.Worst() {
		t.Errorf("outcomes %v", sum.Outcomes)
	}
	for name, of := range map[string]func(*results.Remote) int64{
		"planted-everybody": func(r *results.Remote) int64 { return r.Overlaps },
		"planted-token":     func(r *results.Remote) int64 { return r.TokenRegressions },
		"planted-guarded":   func(r *results.Remote) int64 { return r.Damage },
	} {
		s := sampleOf(t, all, name)
		if s.Outcome != results.OutcomeViolation || s.Violations == 0 || of(s.Remote) == 0 {
			t.Errorf("%s: %s (%s): %+v", name, s.Outcome, s.Reason, s.Remote)
		}
	}
	// Exclusion within each process alone is none, though sections are empty.
	all, _ = runRemote(t, func(s *Spec) {
		s.Workers, s.Remote.Clients = []workloads.Count{{N: 2}}, []int{2}
		s.Remote.Warmup = 100 * time.Millisecond
	}, "planted-local")
	if s := sampleOf(t, all, "planted-local"); s.Outcome != results.OutcomeViolation || s.Remote.Overlaps == 0 {
		t.Errorf("planted-local: %s (%s)", s.Outcome, s.Reason)
	}
	// With one worker nobody else comes: a meeting is staged.
	all, _ = runRemote(t, func(s *Spec) { s.Workers = []workloads.Count{{N: 1}} }, "planted-everybody")
	if s := sampleOf(t, all, "planted-everybody"); s.Outcome != results.OutcomeViolation {
		t.Errorf("planted-everybody alone: %s (%s)", s.Outcome, s.Reason)
	}
	// The first of several releases by one owner must not free the lock.
	all, _ = runRemote(t, func(s *Spec) {
		s.Workers, s.Remote.Depth, s.Remote.Warmup = []workloads.Count{{N: 4}}, 3, 100*time.Millisecond
	}, "planted-inner")
	if s := sampleOf(t, all, "planted-inner"); s.Outcome != results.OutcomeViolation {
		t.Errorf("planted-inner: %s (%s)", s.Outcome, s.Reason)
	}
	// Processor time inside of the update lets others in between.
	all, _ = runRemote(t, func(s *Spec) {
		s.Workers = []workloads.Count{{N: 4}}
		if err := s.Workloads[0].Set("section", "60us"); err != nil {
			t.Fatal(err)
		}
	}, "planted-version")
	if s := sampleOf(t, all, "planted-version"); s.Outcome != results.OutcomeViolation || s.Remote.Damage == 0 {
		t.Errorf("planted-version: %s (%s)", s.Outcome, s.Reason)
	}
}

// TestRemoteFailures: a client that is not what its kind says, and a server that
// refuses everything, are errors with their reason.
func TestRemoteFailures(t *testing.T) {
	all, _ := runRemote(t, func(*Spec) {}, "planted-wrong-kind", "planted-error")
	if s := sampleOf(t, all, "planted-wrong-kind"); s.Outcome != results.OutcomeError || !strings.Contains(s.Reason, "not what its kind says") {
		t.Errorf("wrong kind: %s (%s)", s.Outcome, s.Reason)
	}
	// The server is gone after the first: Check says so, and the other is not even tried.
	s := sampleOf(t, all, "planted-error")
	if s.Outcome != results.OutcomeError && s.Outcome != results.OutcomeOK {
		t.Errorf("planted-error: %s (%s)", s.Outcome, s.Reason)
	}
}

// TestRemoteGone: when servers do not answer any more, their other cells say so at
// once.
func TestRemoteGone(t *testing.T) {
	all, _ := runRemote(t, func(s *Spec) { s.Reps = 3 }, "planted-wrong-kind")
	n := 0
	for _, s := range all {
		if s.Lock == "planted-wrong-kind" && s.Outcome == results.OutcomeError && strings.Contains(s.Reason, "do not answer any more: gone") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d repetitions after the first say that the servers are gone, want 2", n)
	}
}

// TestRemoteDeadlock: transfers in the order given deadlock, and each way out is named;
// in sorted order they do not, and no money is lost.
func TestRemoteDeadlock(t *testing.T) {
	transfer := func(order string) func(*Spec) {
		return func(s *Spec) {
			w, err := workloads.Get("transfer")
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Set("order", order); err != nil {
				t.Fatal(err)
			}
			s.Workloads, s.Remote.Duration, s.Remote.AcquireTimeout = []workloads.Spec{w}, 300*time.Millisecond, 150*time.Millisecond
		}
	}
	all, _ := runRemote(t, transfer("as-given"), "control-perfect")
	s := sampleOf(t, all, "control-perfect")
	if s.Outcome != results.OutcomeOK || s.Remote.DeadlockTimeout == 0 || s.Remote.DeadlockTTL != 0 {
		t.Errorf("as given: %s (%s), deadlocks %d by time-out, %d by TTL", s.Outcome, s.Reason, s.Remote.DeadlockTimeout, s.Remote.DeadlockTTL)
	}
	if !slices.ContainsFunc(s.Flags, func(f string) bool { return results.FlagWord(f) == results.FlagDeadlock }) {
		t.Errorf("as given: flags %q", s.Flags)
	}
	all, _ = runRemote(t, func(s *Spec) {
		transfer("as-given")(s)
		s.Remote.AcquireTimeout, s.Remote.TTL, s.Remote.Renew = 5*time.Second, 500*time.Millisecond, false
	}, "control-ttl")
	s = sampleOf(t, all, "control-ttl")
	if s.Outcome != results.OutcomeOK || s.Remote.DeadlockTTL == 0 || s.Remote.DeadlockTimeout != 0 {
		t.Errorf("as given, without renewal: %s (%s), deadlocks %d by time-out, %d by TTL", s.Outcome, s.Reason, s.Remote.DeadlockTimeout, s.Remote.DeadlockTTL)
	}
	all, _ = runRemote(t, transfer("sorted"), "control-perfect", "control-ttl")
	for _, name := range []string{"control-perfect", "control-ttl"} {
		if s := sampleOf(t, all, name); s.Outcome != results.OutcomeOK || s.Remote.Deadlocks() != 0 || s.Ops == 0 {
			t.Errorf("sorted %s: %s (%s), %d deadlocks, %d operations", name, s.Outcome, s.Reason, s.Remote.Deadlocks(), s.Ops)
		}
	}
}

// TestRemotePolicies: what a worker does after a time-out is counted apart from
// acquisitions.
func TestRemotePolicies(t *testing.T) {
	for _, policy := range []string{cell.OnTimeoutFail, cell.OnTimeoutRetry, cell.OnTimeoutFallback} {
		all, _ := runRemote(t, func(s *Spec) {
			s.Workers, s.Remote.OnTimeout, s.Remote.AcquireTimeout = []workloads.Count{{N: 3}}, policy, 5*time.Millisecond
			s.Remote.Duration = 300 * time.Millisecond
			if err := s.Workloads[0].Set("section", "30ms"); err != nil {
				t.Fatal(err)
			}
		}, "control-perfect")
		s := sampleOf(t, all, "control-perfect")
		r := s.Remote
		if s.Outcome != results.OutcomeOK || r.Timeouts == 0 {
			t.Errorf("%s: %s (%s), %d time-outs", policy, s.Outcome, s.Reason, r.Timeouts)
		}
		if (policy == cell.OnTimeoutRetry) != (r.Retries > 0) || (policy == cell.OnTimeoutFallback) != (r.Fallbacks > 0) {
			t.Errorf("%s: %d retries, %d fallbacks", policy, r.Retries, r.Fallbacks)
		}
	}
}

// TestRemoteKnobs: keys, depth, fixed work, tries and an open loop work on distributed
// locks, too.
func TestRemoteKnobs(t *testing.T) {
	set := func(knobs ...string) func(*Spec) {
		return func(s *Spec) {
			s.Workers, s.Remote.Clients = []workloads.Count{{N: 2}}, []int{2}
			for i := 0; i < len(knobs); i += 2 {
				if err := s.Workloads[0].Set(knobs[i], knobs[i+1]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   func(*results.Sample) error
	}{
		{"own keys", set("keys", "own"), func(s *results.Sample) error {
			if s.Remote.Keys != "own" || s.Handoff != nil {
				return fmt.Errorf("keys %q, handoff %+v", s.Remote.Keys, s.Handoff)
			}
			return nil
		}},
		{"zipf", set("keys", "zipf:8:1.1"), func(s *results.Sample) error {
			if s.Remote.Keys != "zipf:8:1.1" {
				return fmt.Errorf("keys %q", s.Remote.Keys)
			}
			return nil
		}},
		{"depth", func(s *Spec) { set()(s); s.Remote.Depth = 3 }, func(s *results.Sample) error {
			if s.Remote.Depth != 3 || s.Remote.Errors > 0 {
				return fmt.Errorf("depth %d, %d errors, flags %q", s.Remote.Depth, s.Remote.Errors, s.Flags)
			}
			return nil
		}},
		{"fixed work", func(s *Spec) { set()(s); s.Ops = 100 }, func(s *results.Sample) error {
			if s.Ops != 100 || len(s.PerWorkerNS) != 4 {
				return fmt.Errorf("%d operations, %d times", s.Ops, len(s.PerWorkerNS))
			}
			return nil
		}},
		{"tries", set("try", "100", "section", "1ms"), func(s *results.Sample) error {
			if s.TryFailed == 0 || s.Remote.Timeouts != 0 {
				return fmt.Errorf("%d tries failed, %d time-outs", s.TryFailed, s.Remote.Timeouts)
			}
			return nil
		}},
		{"open loop", set("arrivals", "poisson:500"), func(s *results.Sample) error {
			if s.OfferedOps != 500 || s.Ops == 0 || s.Lateness == nil {
				return fmt.Errorf("offered %v, %d operations, lateness %v", s.OfferedOps, s.Ops, s.Lateness)
			}
			return nil
		}},
		{"long think time", set("think", "20ms"), func(s *results.Sample) error {
			if s.ThinkMeasuredNS == nil || *s.ThinkMeasuredNS < 19e6 {
				return fmt.Errorf("think time %v", s.ThinkMeasuredNS)
			}
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, _ := runRemote(t, c.change, "control-perfect")
			s := sampleOf(t, all, "control-perfect")
			if s.Outcome != results.OutcomeOK || s.Ops == 0 {
				t.Fatalf("%s (%s), %d operations", s.Outcome, s.Reason, s.Ops)
			}
			if err := c.want(s); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRemoteSkips: what cannot be run is a row with its reason.
func TestRemoteSkips(t *testing.T) {
	srv := &loopServers{err: errors.New("no Docker here")}
	s := quick("mutex", "control-ttl")
	m := here(t)
	m.Topologies = []Topology{{Name: "loopback", Service: lock.ServiceLoopback, Nodes: 1}}
	p, err := NewPlan(s, impls.Catalog(), m)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Servers: srv}
	if err := r.Raise(t.Context(), p); err != nil {
		t.Fatalf("other cells can run: %v", err)
	}
	if i := slices.IndexFunc(p.Cells, func(c *Cell) bool { return c.Lock.Name == "control-ttl" }); p.Cells[i].Skip != "no Docker here" {
		t.Errorf("skipped because %q", p.Cells[i].Skip)
	}
	if slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Cell.Skip != "" }) {
		t.Error("skipped cells have steps")
	}
	if p, err = NewPlan(quick("control-ttl"), impls.Catalog(), m); err != nil {
		t.Fatal(err)
	}
	if err := r.Raise(t.Context(), p); !errors.Is(err, srv.err) {
		t.Errorf("nothing can run: got %v, want %v", err, srv.err)
	}
	srv = &loopServers{min: time.Minute}
	if p, err = NewPlan(quick("control-ttl"), impls.Catalog(), m); err != nil {
		t.Fatal(err)
	}
	var usage *UsageError
	if err := (&Runner{Servers: srv}).Raise(t.Context(), p); !errors.As(err, &usage) || !strings.Contains(err.Error(), "no less than 1m0s") {
		t.Errorf("a TTL below the server's: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		lock   string
		want   string
	}{
		"reads":    {func(s *Spec) { s.Workloads[0].Reads = 50 }, "control-ttl", "read sections"},
		"fence":    {func(s *Spec) { s.Remote.Fence = true }, "control-naive", "no fencing token"},
		"depth":    {func(s *Spec) { s.Remote.Depth = 2 }, "redsync", "not reentrant"},
		"transfer": {func(s *Spec) { s.Workloads = presets("transfer") }, "mutex", "transfers are for distributed locks"},
	} {
		s := quick(c.lock, "control-perfect")
		c.change(&s)
		p, err := NewPlan(s, impls.Catalog(), m)
		if err != nil && !errors.Is(err, ErrNothing) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		i := slices.IndexFunc(p.Cells, func(x *Cell) bool { return x.Lock.Name == c.lock })
		if i < 0 || !strings.Contains(p.Cells[i].Skip, c.want) {
			t.Errorf("%s: skipped because %q, want %q", name, p.Cells[i].Skip, c.want)
		}
	}
}
