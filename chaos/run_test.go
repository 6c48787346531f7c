package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/impls"
	"lockbench/results"
)

// TestControlsHold: with real processes, proxies and stores, what must be caught is caught, and what must not be is not.
func TestControlsHold(t *testing.T) {
	t.Parallel()
	r := newRig(t, cellOf(t, "control-ttl", faultNone, Careful))
	r.o.Controls = Controls(impls.Catalog())
	for _, c := range r.o.Controls {
		c.Rounds = 1
	}
	all, err := r.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.o.Controls {
		v := r.of(all, c)
		if v.Verdict != c.Want || !v.Agrees || !v.Control {
			t.Errorf("%s: got %s (%s), want %s\n%s", c.Name(), v.Verdict, v.Reason, c.Want, v.Counterexample)
		}
		if v.Felt == 0 || v.Felt > v.Rounds || v.Probative == 0 || v.TTLMS == 0 {
			t.Errorf("%s: %d rounds, %d felt, %d count, TTL %g", c.Name(), v.Rounds, v.Felt, v.Probative, v.TTLMS)
		}
		if c.Want != results.VerdictSafe && !strings.Contains(v.Counterexample, "STALE WRITE") {
			t.Errorf("%s: its counterexample shows no damage:\n%s", c.Name(), v.Counterexample)
		}
	}
	if len(all) != len(r.o.Controls)+1 || len(r.verdicts) != len(all) {
		t.Errorf("%d verdicts returned, %d told, of %d cells", len(all), len(r.verdicts), len(r.o.Controls)+1)
	}
	if sum := Conclude(all); len(sum.FailedControls) > 0 || sum.Ran != 1 {
		t.Errorf("got %+v", sum)
	}
	if r.clusters != 1 {
		t.Errorf("%d clusters: all faults on clients share one", r.clusters)
	}
	for _, e := range r.events {
		if e.Type != results.TypeEvent || e.Kind != "fault" || !strings.Contains(e.Text, ", felt: ") || e.AtNS == 0 || e.EndNS < e.AtNS {
			t.Errorf("event: got %+v", e)
		}
	}
	if len(r.events) < len(all) {
		t.Errorf("%d events of %d cells", len(r.events), len(all))
	}
}

// TestPlantedLocksAreFound: a fence whose tokens do not grow, and locks that grant twice.
func TestPlantedLocksAreFound(t *testing.T) {
	t.Parallel()
	same := cellOf(t, "planted-same-token", faultHolderPause, Careful)
	falling := cellOf(t, "planted-falling-tokens", faultHolderPause, Careful)
	twice := cellOf(t, "planted-twice", faultNone, Careful)
	fenced := cellOf(t, "planted-twice-fenced", faultNone, Careful)
	null := cellOf(t, "null-lease", faultNone, Careless)
	r := newRig(t, same, falling, twice, fenced, null)
	all, err := r.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.o.Cells {
		if v := r.of(all, c); v.Verdict != results.VerdictUnsafe || v.Bad == 0 || v.Counterexample == "" || v.AtMost != nil {
			t.Errorf("%s: got %s (%s), %d bad rounds\n%s", c.Name(), v.Verdict, v.Reason, v.Bad, v.Counterexample)
		}
	}
	if v := r.of(all, same); v.StaleUnfenced == 0 || v.StaleFenced == nil || *v.StaleFenced == 0 || *v.CurrentRejected != 0 {
		t.Errorf("equal tokens: the fenced store must take the late write, too: got %d, %v, %v", v.StaleUnfenced, v.StaleFenced, v.CurrentRejected)
	}
	if v := r.of(all, falling); v.CurrentRejected == nil || *v.CurrentRejected == 0 || !strings.Contains(v.Reason, "refused the rightful holder") {
		t.Errorf("falling tokens: the successor must be refused: got %v (%s)", v.CurrentRejected, v.Reason)
	}
	for _, c := range []*Cell{twice, fenced, null} {
		if v := r.of(all, c); v.DoubleGrants == 0 || v.OverlapMaxMS <= 0 || !strings.Contains(v.Counterexample, "DOUBLE GRANT") {
			t.Errorf("%s: got %d double grants, %g ms of overlap", c.Name(), v.DoubleGrants, v.OverlapMaxMS)
		}
	}
	if v := r.of(all, twice); v.StaleFenced != nil || v.CurrentRejected != nil {
		t.Errorf("no tokens: got figures of the fenced store, %v, %v", v.StaleFenced, v.CurrentRejected)
	}
	if v := r.of(all, fenced); v.Linearizable != "no" {
		t.Errorf("granted twice: linearizable: got %q", v.Linearizable)
	}
}

// failing is a fault that stops the holder, and whose steps fail at one of them after they have done their work.
func failing(fail string, setups, cleanups *atomic.Int32) Fault {
	f := faultHolderPause
	f.Name = "planted-" + fail
	steps := f.Steps
	f.Params = nil
	f.Steps = func(s *Stage) Steps {
		real := steps(s)
		then := func(name string, do func(context.Context) error) func(context.Context) error {
			return func(ctx context.Context) error {
				if do != nil {
					if err := do(ctx); err != nil {
						return err
					}
				}
				if name == fail {
					return errPlanted
				}
				return nil
			}
		}
		return Steps{
			Setup:  then("setup", func(context.Context) error { setups.Add(1); return nil }),
			Inject: then("inject", real.Inject),
			Felt: func(ctx context.Context) (string, error) {
				said, err := real.Felt(ctx)
				return said, errors.Join(err, then("felt", nil)(ctx))
			},
			Recover:   then("recover", real.Recover),
			Recovered: then("recovered", real.Recovered),
			Cleanup: func(ctx context.Context) error {
				cleanups.Add(1)
				if err := real.Cleanup(ctx); err != nil {
					return err
				}
				if st, err := processState(s.Play().Holder.PID()); err != nil || st == 'T' {
					return fmt.Errorf("after the cleanup the holder is in state %c: %w", st, err)
				}
				return nil
			},
		}
	}
	return f
}

// TestInjectorThatFails: however far it came, it cleans up once, and the round does not count.
func TestInjectorThatFails(t *testing.T) {
	t.Parallel()
	type planted struct {
		cell             *Cell
		setups, cleanups *atomic.Int32
		felt             bool
	}
	var all []planted
	var cells []*Cell
	for _, fail := range []string{"setup", "inject", "felt", "recover", "recovered"} {
		p := planted{setups: &atomic.Int32{}, cleanups: &atomic.Int32{}, felt: strings.HasPrefix(fail, "recover")}
		p.cell = cellOf(t, "control-perfect", failing(fail, p.setups, p.cleanups), Careless)
		p.cell.Fault.Watch = nil
		all, cells = append(all, p), append(cells, p.cell)
	}
	r := newRig(t, cells...)
	verdicts, err := r.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		v := r.of(verdicts, p.cell)
		if v.Verdict != results.VerdictUnknown || v.Probative != 0 || v.AtMost != nil || !strings.Contains(v.Reason, errPlanted.Error()) {
			t.Errorf("%s: got %s (%s), %d rounds count", p.cell.Fault.Name, v.Verdict, v.Reason, v.Probative)
		}
		if v.Rounds != most(1) || v.Felt != 0 != p.felt {
			t.Errorf("%s: %d rounds, %d felt; want %d rounds, felt: %v", p.cell.Fault.Name, v.Rounds, v.Felt, most(1), p.felt)
		}
		if s, c := p.setups.Load(), p.cleanups.Load(); int(s) != v.Rounds || c != s {
			t.Errorf("%s: %d rounds, %d set up, %d cleaned up", p.cell.Fault.Name, v.Rounds, s, c)
		}
		n := 0
		for _, e := range r.events {
			if e.Cell == p.cell.Name() && strings.Contains(e.Text, errPlanted.Error()) {
				n++
			}
		}
		if n != v.Rounds {
			t.Errorf("%s: %d events say why the round does not count, of %d rounds", p.cell.Fault.Name, n, v.Rounds)
		}
	}
	// What was said of a cleanup that found the holder stopped would be there.
	if i := slices.IndexFunc(r.said, func(s string) bool { return strings.Contains(s, "state T") }); i >= 0 {
		t.Error(r.said[i])
	}
}

// TestInterrupted: a run ends soon wherever it is, takes back what it did, and gives no verdict on what it has not seen.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name string
		arm  func(r *rig, cancel func())
	}{
		{"before the first child", func(r *rig, cancel func()) { cancel() }},
		{"with the first child", func(r *rig, cancel func()) {
			r.onStart = func(n int) {
				if n == 1 {
					cancel()
				}
			}
		}},
		{"with the third child", func(r *rig, cancel func()) {
			r.onStart = func(n int) {
				if n >= 3 { // several start at a time
					cancel()
				}
			}
		}},
		{"with the servers", func(r *rig, cancel func()) {
			open := r.o.Open
			r.o.Open = func(ctx context.Context, topology string, clock bool) (*backends.Cluster, error) {
				c, err := open(ctx, topology, clock)
				cancel()
				return c, err
			}
		}},
		{"while the holder is stopped", func(r *rig, cancel func()) {
			for _, c := range r.o.Cells {
				steps := c.Fault.Steps
				c.Fault.Steps = func(s *Stage) Steps {
					st := steps(s)
					felt := st.Felt
					st.Felt = func(ctx context.Context) (string, error) {
						said, err := felt(ctx)
						cancel()
						return said, err
					}
					return st
				}
			}
		}},
		{"while the fault lasts", func(r *rig, cancel func()) {
			for _, c := range r.o.Cells {
				watch := c.Fault.Watch
				c.Fault.Watch = func(s *Stage) time.Duration { cancel(); return watch(s) }
			}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, cellOf(t, "control-ttl", faultHolderPause, Careful), cellOf(t, "control-ttl", faultHolderCutoff, Careless), cellOf(t, "control-perfect", faultWaiterPause, Careful))
			r.o.Rounds = 50
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			x.arm(r, func() { cancel(errPlanted) })
			all, err := r.run(ctx)
			if !errors.Is(err, errPlanted) {
				t.Errorf("got %v, want %v", err, errPlanted)
			}
			if len(all) != 0 || len(r.verdicts) != 0 {
				t.Errorf("verdicts of cells that were not run to their end: %+v", all)
			}
		})
	}
}

// TestServersThatDoNotCome: cells whose servers cannot be had on this machine are skipped with the reason, those whose
// servers failed are unknown, and the others run.
func TestServersThatDoNotCome(t *testing.T) {
	t.Parallel()
	redis, err := backends.TopologyNamed("redis")
	if err != nil {
		t.Fatal(err)
	}
	away := cellOf(t, "redis", faultHolderKill, Careful)
	away.Topology = redis
	onServers := cellOf(t, "redis", faultClockBack, Careful)
	onServers.Topology = redis
	here := cellOf(t, "control-ttl", faultHolderKill, Careful)
	never := cellOf(t, "control-ttl", faultServerPause, Careful)
	never.Skip = "the server is in this process"
	fails := cellOf(t, "etcd", faultHolderKill, Careful)
	if fails.Topology, err = backends.TopologyNamed("etcd-1"); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, away, onServers, never, here, fails)
	open := r.o.Open
	missing := fmt.Errorf("no Docker: %w", backends.ErrMissing)
	r.o.Open = func(ctx context.Context, topology string, clock bool) (*backends.Cluster, error) {
		switch topology {
		case "redis":
			return nil, missing
		case "etcd-1":
			return nil, errPlanted
		}
		return open(ctx, topology, clock)
	}
	all, err := r.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Cell{away, onServers} {
		if v := r.of(all, c); v.Verdict != results.VerdictSkipped || v.Reason != missing.Error() || v.Rounds != 0 {
			t.Errorf("%s: got %s (%s), %d rounds", c.Name(), v.Verdict, v.Reason, v.Rounds)
		}
	}
	if v := r.of(all, never); v.Verdict != results.VerdictSkipped || v.Reason != never.Skip {
		t.Errorf("%s: got %s (%s)", never.Name(), v.Verdict, v.Reason)
	}
	v := r.of(all, here)
	if v.Verdict != results.VerdictSafe || v.Recovery == nil || v.Recovery.Count != 1 || v.Recovery.P50 <= 0 || v.AtMost == nil || v.Orphans != 0 {
		t.Errorf("%s: got %s (%s), recovery %+v, %d orphans", here.Name(), v.Verdict, v.Reason, v.Recovery, v.Orphans)
	}
	if v := r.of(all, fails); v.Verdict != results.VerdictUnknown || !strings.Contains(v.Reason, errPlanted.Error()) || v.Rounds != 0 {
		t.Errorf("%s: got %s (%s), %d rounds", fails.Name(), v.Verdict, v.Reason, v.Rounds)
	}
	if len(all) != 5 || all[0].Fault != HolderKill || all[0].Topology != "redis" || all[3].Lock != "control-ttl" {
		t.Errorf("verdicts are not in the order of the cells: %+v", all)
	}
}

// TestInProcess: locks without servers need none, and no controls either.
func TestInProcess(t *testing.T) {
	t.Parallel()
	c := &Cell{Lock: lockNamed(t, "mutex"), Topology: backends.Topology{Name: InProcess}, Fault: faultGoroutineExit, Policy: Plain}
	r := newRig(t, c)
	r.o.Controls = Controls(impls.Catalog())
	all, err := r.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v := r.of(all, c); len(all) != 1 || v.Verdict == results.VerdictSkipped || v.Rounds != 1 || v.Policy != Plain {
		t.Errorf("got %d verdicts, %+v", len(all), v)
	}
	if r.clusters != 0 {
		t.Errorf("%d clusters were opened", r.clusters)
	}
}
