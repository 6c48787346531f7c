package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"lockbench/internal/cell"
	"lockbench/results"
)

// Sink gets what a run brings, in order, from one goroutine. An error ends
// the run: results that cannot be kept are not worth measuring.
type Sink interface {
	Sample(*results.Sample) error
	Event(results.Event) error
}

// Progress is told how a run gets on; its methods must return quickly.
type Progress interface {
	Begin(step Step, done, total int)
	End(step Step, s *results.Sample)
}

// Runner runs plans.
type Runner struct {
	Self        []string // this program and the arguments that make it run a cell
	Calibration Calibration
	Servers     Servers // of distributed locks; nil: none can be had
	// Hold and HoldPath are told of each child of a distributed cell and of each file
	// that one shares, and return what to call when it is gone; nil: nobody is told.
	Hold     func(pid int) (forget func(), err error)
	HoldPath func(path string) (forget func(), err error)
	TempDir  string // for what processes share while a repetition runs; empty: the default
	Sink     Sink
	Progress Progress // may be nil

	serial int                 // repetitions of distributed cells so far
	gone   map[Topology]string // topologies whose servers went in mid-run, and why
}

// Summary says how a run ended.
type Summary struct {
	Done, Total int
	Interrupted bool
	Outcomes    map[string]int // repetitions (skipped: cells) by outcome
}

// Worst reports whether a violation or a hang was found.
func (s Summary) Worst() bool {
	return s.Outcomes[results.OutcomeViolation]+s.Outcomes[results.OutcomeHang] > 0
}

// Run runs the plan. When ctx ends, the repetition in flight is stopped and
// dropped, and the result is marked as interrupted.
func (r *Runner) Run(ctx context.Context, p *Plan) (Summary, error) {
	sum := Summary{Total: len(p.Steps), Outcomes: map[string]int{}}
	if err := r.skipped(p, &sum, nil); err != nil {
		return sum, err
	}
	for i, step := range p.Steps {
		if ctx.Err() != nil {
			break
		}
		if err := r.one(ctx, p.Spec, step, i, &sum); err != nil {
			return sum, err
		}
	}
	if err := r.survey(ctx, p); err != nil {
		return sum, err
	}
	return sum, r.close(ctx, &sum)
}

// skipped writes a record for each cell that is not measured.
func (r *Runner) skipped(p *Plan, sum *Summary, program *Program) error {
	for _, c := range p.Cells {
		if c.Skip == "" {
			continue
		}
		s := r.identity(p.Spec, Step{Cell: c, Program: program})
		s.Outcome, s.Reason = results.OutcomeSkipped, c.Skip
		sum.Outcomes[s.Outcome]++
		if err := r.Sink.Sample(s); err != nil {
			return err
		}
	}
	return nil
}

// one runs one step and writes what it brings. When ctx ends meanwhile,
// nothing is written, and the error is nil.
func (r *Runner) one(ctx context.Context, spec Spec, step Step, done int, sum *Summary) error {
	if r.Progress != nil {
		r.Progress.Begin(step, done, sum.Total)
	}
	var s *results.Sample
	var events []results.Event
	var err error
	if why := r.goneFor(step.Cell); why != "" {
		s = r.identity(spec, step)
		s.Outcome, s.Reason = results.OutcomeError, why
	} else {
		s, events, err = r.step(ctx, spec, step)
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if s.Outcome == results.OutcomeError && step.Cell.Place != nil && !step.Cell.Lock.Control {
		r.lost(ctx, step.Cell)
	}
	for _, e := range events {
		if err := r.Sink.Event(e); err != nil {
			return err
		}
	}
	if err := r.Sink.Sample(s); err != nil {
		return err
	}
	sum.Done++
	sum.Outcomes[s.Outcome]++
	if r.Progress != nil {
		r.Progress.End(step, s)
	}
	return nil
}

// goneFor says why a cell's servers are gone; empty: they are not.
func (r *Runner) goneFor(c *Cell) string {
	if c.Place == nil || c.Lock.Control {
		return ""
	}
	return r.gone[c.Place.Topology]
}

// close notes an interrupt.
func (r *Runner) close(ctx context.Context, sum *Summary) error {
	if ctx.Err() == nil {
		return nil
	}
	sum.Interrupted = true
	return r.Sink.Event(results.Event{Type: results.TypeEvent, Kind: results.EventInterrupted,
		Text: fmt.Sprintf("stopped after %d of %d repetitions", sum.Done, sum.Total)})
}

// step runs one repetition and completes its sample with the identity that
// the plan knows: a child cannot change what it was asked to be.
func (r *Runner) step(ctx context.Context, spec Spec, step Step) (*results.Sample, []results.Event, error) {
	var events []results.Event
	s := &session{spec: r.cellSpec(spec, step), onEvent: func(e results.Event) {
		e.Type, e.Cell, e.Rep = results.TypeEvent, step.Cell.Name, step.Rep
		events = append(events, e)
	}}
	finish := func(*results.Sample) {}
	if step.Cell.Place != nil {
		var err error
		if finish, err = r.remoteStep(s, spec, step); err != nil {
			return nil, events, err
		}
	}
	c := command{path: r.Self[0], args: r.Self[1:]}
	switch {
	case step.Program != nil:
		c = command{path: step.Program.Path, args: r.Self[1:]}
	case step.Cell.Runner != "":
		c = command{path: step.Cell.Runner}
	}
	got, err := s.run(ctx, c, step.Cell.CPUs)
	finish(got)
	if err != nil {
		return nil, events, err
	}
	id := r.identity(spec, step)
	got.Type, got.Cell, got.Lock, got.Workload = id.Type, id.Cell, id.Lock, id.Workload
	got.Workers, got.Cores, got.CPUs, got.Pin = id.Workers, id.Cores, id.CPUs, id.Pin
	got.Rep, got.Seed, got.Clients = id.Rep, id.Seed, id.Clients
	got.Dispatch, got.Family, got.Control = id.Dispatch, id.Family, id.Control
	got.Side, got.Program, got.Second = id.Side, id.Program, id.Second
	if got.Threads == "" {
		got.Threads = id.Threads
	}
	if err := got.Validate(); err != nil {
		// Nobody but us wrote the identity; the figures are the child's. A
		// violation or a hang stays one, whatever else is wrong.
		id.Outcome, id.Reason = results.OutcomeError, "the child broke the protocol: its record is wrong: "+err.Error()
		if rank(got.Outcome) >= rank(results.OutcomeHang) {
			id.Outcome, id.Reason, id.Violations = got.Outcome, got.Reason, max(0, got.Violations)
		}
		return id, events, nil
	}
	if step.Cell.Dispatch == cell.DispatchInterface && spec.Dispatch != cell.DispatchInterface && !step.Cell.Lock.Control {
		got.Flags = append(got.Flags, results.FlagInterface+": the lock has no generated loops")
	}
	return got, events, nil
}

// identity is a sample with what the plan knows of it.
func (r *Runner) identity(spec Spec, step Step) *results.Sample {
	c := step.Cell
	threads := "free"
	if c.Lock.ThreadBound || len(c.PinCPUs) > 0 {
		threads = "locked"
	}
	id := &results.Sample{
		Type: results.TypeSample, Cell: c.Name, Lock: c.Lock.Name, Family: c.Lock.Family, Control: c.Lock.Control,
		Workload: c.Workload.Name, Workers: c.Workers * c.clients(), Cores: c.Cores, CPUs: c.CPUs, Pin: spec.Pin,
		Clients: c.clients(), Rep: step.Rep, Seed: step.Seed, Dispatch: c.Dispatch, Threads: threads,
	}
	if step.Program != nil {
		id.Side, id.Program, id.Second = step.Program.Side, step.Program.Index, step.Second
	}
	return id
}

// cellSpec is what the children of a repetition get.
func (r *Runner) cellSpec(s Spec, step Step) *cell.Spec {
	c := step.Cell
	spec := &cell.Spec{
		Cell: c.Name, Lock: c.Lock.Name, Load: c.Workload.Resolve(r.Calibration.UnitNS),
		Workers: c.Workers, Procs: c.Cores, CPUs: c.CPUs, PinCPUs: c.PinCPUs, Pin: s.Pin, Dispatch: c.Dispatch,
		Rep: step.Rep, Seed: step.Seed,
		WarmupNS: int64(s.Warmup), DurationNS: int64(s.Duration), ProbeNS: int64(s.ProbeLength()),
		UnitNS: r.Calibration.UnitNS, Every: s.Every, TimeoutNS: int64(s.Timeout), Clock: r.Calibration.Clock, Clients: c.clients(),
	}
	if spec.Load.Own {
		spec.Load.Locks = c.Workers * c.clients()
	}
	if c.Place != nil {
		spec.Remote = remoteSpec(s)
		spec.WarmupNS, spec.DurationNS, spec.ProbeNS = int64(s.Remote.Warmup), int64(s.Remote.Duration), 0
	}
	if s.Ops > 0 {
		spec.Ops, spec.DurationNS, spec.ProbeNS = s.Ops, 0, 0
		if c.Place != nil { // a child's share
			spec.Ops = max(int64(c.Workers), s.Ops/int64(c.clients()))
		}
	}
	return spec
}

// CountOutcomes formats the outcomes of a run, worst first, as
// "1 hang, 20 ok".
func (s Summary) CountOutcomes() string {
	order := slices.SortedFunc(maps.Keys(s.Outcomes), func(a, b string) int { return rank(b) - rank(a) })
	text := ""
	for _, o := range order {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", s.Outcomes[o], o)
	}
	return text
}
