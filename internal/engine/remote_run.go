package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"lockbench/internal/cell"
	"lockbench/internal/claims"
	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/results"
)

// Servers are those of a run. The engine does not know where they come from.
type Servers interface {
	// Up brings up the servers of the topologies, side by side, and returns for each
	// that could not be had the reason, which skips its cells.
	Up(ctx context.Context, topologies []Topology) map[Topology]error
	// At returns where they are, with the prefix for all names of the run, and
	// what a record says of them.
	At(t Topology) (lock.Target, results.Remote)
	// MinTTL is the shortest TTL that the servers grant; 0: any.
	MinTTL(t Topology) time.Duration
	// Check reports whether they still answer.
	Check(ctx context.Context, t Topology) error
	// CPU is the processor time that they have used; false if nobody knows.
	CPU(ctx context.Context, t Topology) (time.Duration, bool)
}

// Raise brings up what the plan's cells need and skips those that cannot have it. It
// returns an error if nothing but controls is left.
func (r *Runner) Raise(ctx context.Context, p *Plan) error {
	var need []Topology
	for _, c := range p.Cells {
		if c.Place != nil && c.Skip == "" && !c.Lock.Control && !slices.Contains(need, c.Place.Topology) {
			need = append(need, c.Place.Topology)
		}
	}
	if len(need) == 0 {
		return nil
	}
	if r.Servers == nil {
		return errors.New("this program has no servers for distributed locks")
	}
	bad := r.Servers.Up(ctx, need)
	if ctx.Err() != nil {
		return nil
	}
	var first error
	for _, c := range p.Cells {
		if c.Place == nil || c.Skip != "" || c.Lock.Control {
			continue
		}
		err := bad[c.Place.Topology]
		if least := r.Servers.MinTTL(c.Place.Topology); err == nil && c.Lock.Remote.Expires && p.Spec.Remote.TTL < least {
			err = usage(fmt.Errorf("ttl %v: the server grants no less than %v", p.Spec.Remote.TTL, least), fmt.Sprintf("use --ttl %v or more", least))
		}
		if err != nil {
			c.Skip = err.Error()
			if first == nil {
				first = err
			}
		}
	}
	if first != nil && !slices.ContainsFunc(p.Cells, func(c *Cell) bool { return c.Skip == "" && !c.Lock.Control }) {
		return first
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return s.Cell.Skip != "" })
	return nil
}

// lost skips the rest of a topology's cells when its servers have gone in mid-run.
func (r *Runner) lost(ctx context.Context, c *Cell) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	if err := r.Servers.Check(ctx, c.Place.Topology); err != nil {
		if r.gone == nil {
			r.gone = map[Topology]string{}
		}
		r.gone[c.Place.Topology] = "its servers do not answer any more: " + err.Error()
	}
}

// Gone is by name the topologies whose servers went in mid-run, and why. Ask after Run.
func (r *Runner) Gone() map[string]string {
	out := map[string]string{}
	for t, why := range r.gone {
		out[t.Name] = why
	}
	return out
}

// survey asks the servers of a run at its end whether all of them are still there: a lock on
// several may have gone on without one.
func (r *Runner) survey(ctx context.Context, p *Plan) error {
	seen := map[Topology]bool{}
	for _, c := range p.Cells {
		if c.Place == nil || c.Skip != "" || c.Lock.Control || seen[c.Place.Topology] || r.gone[c.Place.Topology] != "" || ctx.Err() != nil {
			continue
		}
		seen[c.Place.Topology] = true
		r.lost(ctx, c)
		if why := r.gone[c.Place.Topology]; why != "" {
			if err := r.Sink.Event(results.Event{Type: results.TypeEvent, Kind: "server", Cell: c.Name, Text: why}); err != nil {
				return err
			}
		}
	}
	return nil
}

const checkLimit = 3 * time.Second

// remoteStep completes the session of a distributed cell: the target, the claims, and
// what is sampled of the servers meanwhile. done must be called at its end.
func (r *Runner) remoteStep(s *session, spec Spec, step Step) (done func(*results.Sample), err error) {
	c := step.Cell
	var target lock.Target
	facts := results.Remote{Service: lock.ServiceNone, Topology: "none", Network: "none"}
	if !c.Lock.Control {
		target, facts = r.Servers.At(c.Place.Topology)
	}
	// Names of its own for each repetition: what one leaves changes no other.
	r.serial++
	target.Prefix += fmt.Sprintf("%d/", r.serial)
	s.spec.Remote.Target = target
	s.spec.Remote.CheckTTL = !c.Lock.Control && r.Servers.MinTTL(c.Place.Topology) == 0
	lines := s.spec.Load.ReadLines + s.spec.Load.WriteLines
	arena, path, err := claims.Create(r.TempDir, s.spec.Load.Locks, s.spec.Workers*s.spec.Clients, lines)
	if err != nil {
		return nil, err
	}
	s.spec.Remote.Arena = path
	s.hold = r.Hold
	forget := func() {}
	if r.HoldPath != nil {
		if forget, err = r.HoldPath(path); err != nil {
			return nil, errors.Join(err, os.Remove(path))
		}
	}
	var once sync.Once
	remove := func() { once.Do(func() { _ = os.Remove(path); forget() }) } // gone already: nothing to tell
	// All have it open once they are ready: nothing is left if we are killed from then on.
	s.onReady = remove
	cpu := make(chan *float64, 1)
	cpu <- nil
	ctx, cancel := context.WithCancel(context.Background())
	s.onGo = func(at int64) {
		if c.Lock.Control || spec.Ops > 0 {
			return
		}
		<-cpu
		go func() {
			cpu <- r.serverCPU(ctx, c.Place.Topology, at+s.spec.WarmupNS, at+s.spec.WarmupNS+s.spec.DurationNS)
		}()
	}
	return func(m *results.Sample) {
		cancel()
		remove()
		audit := arena.Settled()
		_ = arena.Close() // it is unmapped at the end at the latest
		used := <-cpu
		if m != nil && c.Lock.Kind == lock.KindLease && !c.Lock.Control && rank(m.Outcome) < rank(results.OutcomeHang) && m.Outcome != results.OutcomeOK {
			// A client that failed cannot judge any more; what was proved before stands.
			if a := audit; a.Overlaps+a.Regressions > 0 {
				m.Outcome, m.Violations = results.OutcomeViolation, a.Overlaps+a.Regressions
				m.Reason = fmt.Sprintf("%d sections began while another holder was inside, %d fencing tokens did not grow; then: %s", a.Overlaps, a.Regressions, m.Reason)
			}
		}
		if m == nil || m.Remote == nil {
			return
		}
		x := m.Remote
		x.Service, x.Topology, x.Network = facts.Service, facts.Topology, facts.Network
		x.ServerVersion, x.Persistence, x.Image = facts.ServerVersion, facts.Persistence, facts.Image
		x.Kind = c.Lock.Kind.String()
		x.Peer, x.Note, x.Depth = c.Lock.Remote.Peer, c.Lock.Remote.Note, spec.Remote.Depth
		x.Order, x.Keys, x.Transfer = string(c.Workload.Order), c.Workload.KeysText(), c.Workload.Order != ""
		if used != nil && *used > 0 && m.Ops > 0 { // a counter that stood still was not read in time
			v := *used / float64(m.Ops)
			x.ServerCPUNSPerOp = &v
		}
	}, nil
}

// serverCPU is the processor time, in ns, of a topology's servers between two
// instants on the shared clock; nil if nobody knows.
func (r *Runner) serverCPU(ctx context.Context, topology Topology, from, to int64) *float64 {
	var at [2]time.Duration
	for i, when := range []int64{from, to} {
		select {
		case <-time.After(time.Duration(when - clock.Shared())):
		case <-ctx.Done():
			return nil
		}
		var ok bool
		if at[i], ok = r.Servers.CPU(ctx, topology); !ok {
			return nil
		}
	}
	v := float64(at[1] - at[0])
	return &v
}

// remoteSpec is what the children of a distributed cell get beside the rest.
func remoteSpec(s Spec) *cell.Remote {
	r := s.Remote
	return &cell.Remote{
		TTLNS: int64(r.TTL), Renew: r.Renew, Fence: r.Fence, Wait: lock.WaitPolicy{Min: r.WaitMin, Max: r.WaitMax, Jitter: r.Jitter},
		AcquireTimeoutNS: int64(r.AcquireTimeout), OnTimeout: r.OnTimeout, Depth: r.Depth,
	}
}
