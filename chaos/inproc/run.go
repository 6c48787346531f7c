package inproc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/results"
)

// DefaultPatience is how long what cannot take long may take before it is called a hang: a Lock of a fresh lock,
// a waiter after Unlock. On a machine whose processors are all taken a turn of each spinning waiter costs
// tens of milliseconds, so this is far beyond that.
const DefaultPatience = 10 * time.Second

// DefaultProcs is GOMAXPROCS of a child, whatever the machine has: one for each waiter that spins, and one for
// who is to act. With as many as there are processors, on a machine of two, two spinning waiters had both, and each step
// of the holder and of the observer waited for a preemption, 10 ms at best: of 300 ms stalls of ttas and mcs half passed before
// anybody could look, and the next grant came after 456 to 592 ms. With four the kernel shares the processors out: 312 to 321 ms, and
// all stalls were seen (both with other programs running).
const DefaultProcs = 4

// Options are what Run is given.
type Options struct {
	// Argv is the program that calls Main, and its arguments.
	Argv []string
	// Start starts a child; nil: exec.Cmd's own Start. It is where the child's death with its parent is seen to.
	Start func(*exec.Cmd) error
	// Hold is told of each child right after its start, and forget when it is gone; nil: nobody is told.
	Hold func(pid int) (forget func(), err error)

	Lock   lock.Info
	Fault  string
	Params map[string]float64 // what is not in it has its default; see Params
	Rounds int                // probative ones that are wanted; > 0
	Seed   uint64
	// Procs is GOMAXPROCS of the children; 0: DefaultProcs.
	Procs int
	// Patience is how long something may take before it is called a hang; 0: DefaultPatience.
	Patience time.Duration
	// OnRound is told of rounds as they end: how many, of how many. nil: nobody is told.
	OnRound func(done, of int)
}

// spare is how many rounds more may be run to get as many probative ones as are wanted.
func spare(rounds int) int { return max(2, rounds/2) }

// maxFailures is how many children in a row may end without a round before the cell is given up.
const maxFailures = 2

// Run plays rounds of one fault on one in-process lock, each on a fresh instance, in child processes that
// are gone when it returns. It returns the cell's verdict, without what is expected of it, and an event for each round
// and for each thing that went wrong. A lock that cannot be had here is a skipped cell. The error is the
// harness's or the context's: the options are wrong, or children cannot be started.
func Run(ctx context.Context, o Options) (results.ChaosVerdict, []results.Event, error) {
	began := time.Now()
	p, err := resolve(o.Fault, o.Params)
	if err != nil {
		return results.ChaosVerdict{}, nil, err
	}
	if o.Rounds < 1 {
		return results.ChaosVerdict{}, nil, fmt.Errorf("%d rounds: want at least 1", o.Rounds)
	}
	if len(o.Argv) == 0 {
		return results.ChaosVerdict{}, nil, errors.New("no program to start as a child")
	}
	v := results.ChaosVerdict{
		Type: "verdict", Lock: o.Lock.Name, Kind: lock.KindLock.String(), Topology: "in-process",
		Fault: o.Fault, On: "process", Policy: "plain", Params: p, Seed: o.Seed,
	}
	if why := skip(o.Lock); why != "" {
		v.Verdict, v.Reason = results.VerdictSkipped, why
		return v, nil, nil
	}
	s := session{o: o, setup: o.setup(p)}
	err = s.run(ctx)
	s.judge(&v)
	v.ElapsedMS = float64(time.Since(began)) / 1e6
	if err != nil {
		return v, s.events, fmt.Errorf("%s on lock %s: %w", o.Fault, o.Lock.Name, err)
	}
	return v, s.events, nil
}

// skip says why the faults cannot be had; empty: they can.
func skip(i lock.Info) string {
	switch {
	case i.Unavailable != "":
		return i.Unavailable
	case i.New == nil:
		return "not an in-process lock"
	case i.MaxWorkers == 1:
		return "the lock takes one worker: nobody can wait"
	}
	return ""
}

func (o Options) setup(p map[string]float64) setup {
	s := setup{
		Lock: o.Lock.Name, Fault: o.Fault, Deferred: p[ParamDeferred] == 1, Seed: o.Seed, Procs: o.Procs,
		WindowNS: int64(millis(p[ParamWindow])), LimitNS: int64(patient(o.Fault, p)), PatienceNS: int64(o.Patience),
		StallNS: int64(millis(p[ParamStall])),
	}
	if s.Procs == 0 {
		s.Procs = DefaultProcs
	}
	if s.PatienceNS == 0 {
		s.PatienceNS = int64(DefaultPatience)
	}
	return s
}

// session is one Run: its rounds so far, from however many children.
type session struct {
	o      Options
	setup  setup
	rounds []round
	// failures are children that ended without an answer, each counted as a round that proves nothing.
	failures []string
	events   []results.Event
}

// run goes on until there are enough probative rounds, or no hope for them. A bad round does not end it: how
// many are bad is a figure.
func (s *session) run(ctx context.Context) error {
	inRow := 0
	for {
		probative := 0
		for _, r := range s.rounds {
			if s.probative(r) {
				probative++
			}
		}
		played := len(s.rounds) + len(s.failures)
		room := s.o.Rounds + spare(s.o.Rounds) - played
		if probative >= s.o.Rounds || room <= 0 || inRow >= maxFailures {
			return nil
		}
		todo := s.setup
		todo.First, todo.Rounds = played, min(s.o.Rounds-probative, room)
		before := len(s.rounds)
		err := s.child(ctx, todo)
		var f *failure
		switch {
		case errors.As(err, &f):
			s.failures = append(s.failures, f.Error())
			s.events = append(s.events, results.Event{Type: "event", Kind: f.kind, Cell: s.cell(), Rep: todo.First + len(s.rounds) - before, AtNS: clock.Shared(), Text: f.Error(), Dump: f.stderr})
			inRow++
		case err != nil:
			return err
		}
		if len(s.rounds) > before {
			inRow = 0
		}
	}
}

// cell names the cell in events.
func (s *session) cell() string { return s.o.Lock.Name + "/fault=" + s.o.Fault + "/policy=plain" }

// take keeps a round that a child has sent.
func (s *session) take(r round) {
	s.rounds = append(s.rounds, r)
	s.events = append(s.events, s.eventsOf(r)...)
	if s.o.OnRound != nil {
		s.o.OnRound(len(s.rounds), s.o.Rounds)
	}
}
